package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
)

// running makes n tasks run.
func running(t *testing.T, s *postgres.Store, n int) []store.Task {
	t.Helper()
	joinAs(t, s, "w")
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(n)}); err != nil {
		t.Fatal(err)
	}
	res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: n}}})
	if err != nil || len(res.Tasks) != n {
		t.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, n)
	}
	return res.Tasks
}

// Saves that come together are answered each by itself: a fence that is lost, a save that was overtaken.
func TestSavesThatGoTogetherAreAnsweredEachByItself(t *testing.T) {
	t.Parallel()
	s, _ := room(t, store.Timing{})
	const n = 60
	tasks := running(t, s, n)
	var g sync.WaitGroup
	for i, task := range tasks {
		g.Go(func() {
			f := task.Fence()
			if i%3 == 1 {
				f.Epoch++
			}
			for seq := int64(2); seq > 0; seq-- { // the second of them comes too late
				_, err := s.Save(t.Context(), store.SaveRequest{Fence: f, Seq: seq, Entries: map[string][]byte{"a": fmt.Append(nil, i, seq), "b": nil}})
				switch {
				case i%3 == 1 && !errors.Is(err, store.ErrFenced), i%3 != 1 && seq == 2 && err != nil, i%3 != 1 && seq == 1 && !errors.Is(err, store.ErrChanged):
					t.Errorf("save %d of task %d = %v", seq, i, err)
				}
			}
		})
	}
	g.Wait()
	for i, task := range tasks {
		got, err := s.Load(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{"a": fmt.Append(nil, i, 2)}
		if i%3 == 1 {
			want = nil
		}
		if len(got) != len(want) || string(got["a"]) != string(want["a"]) {
			t.Errorf("task %d has %q, want %q", i, got, want)
		}
	}
}

// A save whose task another has locked holds up no other, and who gives it up is let go at once.
func TestASaveThatMustWaitHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, name := room(t, store.Timing{})
	tasks := running(t, s, 20)
	release := lock(t, s, "select 1 from "+name+".task where id = $1::text::uuid for update", tasks[0].ID.String())
	save := func(ctx context.Context, task store.Task) error {
		_, err := s.Save(ctx, store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"a": []byte("1")}})
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow, given := make(chan error, 1), make(chan error, 1)
	var g sync.WaitGroup
	g.Go(func() { slow <- save(t.Context(), tasks[0]) })
	g.Go(func() { given <- save(ctx, tasks[0]) })
	for range 20 {
		var others sync.WaitGroup
		for _, task := range tasks[1:] {
			others.Go(func() {
				within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := save(within, task); err != nil {
					t.Errorf("Save of a task that nobody has locked = %v", err)
				}
			})
		}
		others.Wait()
	}
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("Save that was given up = %v, want %v", err, context.Canceled)
	}
	select {
	case err := <-slow:
		t.Errorf("Save of a task that is locked = %v before the lock was let go", err)
	default:
	}
	release()
	if err := <-slow; err != nil {
		t.Errorf("Save after the lock was let go = %v", err)
	}
	g.Wait()
}
