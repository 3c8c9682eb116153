package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// seesEnded hands on what the run that follows an ending finds of the task that ended.
func seesEnded(found chan<- kernel.Task, errs chan<- error) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		task, err := r.Ended(ctx)
		found <- *task
		errs <- err
		return kernel.Outcome{}, nil
	}
}

func TestARunThatFollowsAnEndingReadsTheTaskThatEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, errs := make(chan kernel.Task, 9), make(chan error, 9)
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"fails": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				out := kernel.Failed("", errors.New("no"), []byte("result"))
				out.Entries = map[string][]byte{"body": []byte("entry")}
				return out, nil
			},
			"after": seesEnded(found, errs),
		})
		id := submit(t, k, kernel.Spec{Kind: "fails", OnEnd: &kernel.Spec{Kind: "after"}})
		task := <-found
		if err := <-errs; err != nil || task.ID != id || task.State != store.Failed || task.Reason != "permanent" {
			t.Errorf("Ended = %s %s (%s), %v; want %s failed (permanent)", task.ID, task.State, task.Reason, err, id)
		}
		if string(task.Result) != "result" || task.Error.Message != "no" {
			t.Errorf("Result %q, Error %+v; want both that Failed was given", task.Result, task.Error)
		}
		entries, err := k.Load(t.Context(), task)
		if err != nil || string(entries["body"]) != "entry" {
			t.Errorf("Load = %q, %v; want the entry of the outcome", entries, err)
		}
		kerneltest.Wait(t, k, kernel.OnEndID(task), store.Done)
		submit(t, k, kernel.Spec{Kind: "after"})
		if <-found; !errors.Is(<-errs, kernel.ErrNotFound) {
			t.Error("Ended of a task that follows no ending is not ErrNotFound")
		}
	})
}

// readless is a store that counts how often tasks are read from it.
type readless struct {
	store.Store
	reads atomic.Int64
}

func (s *readless) Get(ctx context.Context, id store.ID) (store.Task, error) {
	s.reads.Add(1)
	return s.Store.Get(ctx, id)
}

// Stage is the store's own.
func (s *readless) Stage(ctx context.Context, c store.Completion) error {
	return s.Store.(store.Stager).Stage(ctx, c)
}

// What this process has just ended well is not read again by what follows here; what it staged, or may have forgotten, is.
func TestWhatHasJustEndedHereNeedNotBeRead(t *testing.T) {
	t.Parallel()
	st := &readless{Store: memory.New(memory.Config{})}
	found, errs := make(chan kernel.Task, 9), make(chan error, 9)
	large := bytes.Repeat([]byte("x"), 100<<10)
	k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{
		"done": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) { return kernel.Done(r.Task().Args), nil },
		"staged": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			done, err := r.Completion(kernel.Done(r.Task().Args))
			return kernel.Done([]byte("what does not count")), errors.Join(err, st.Stage(ctx, done))
		},
		"after": seesEnded(found, errs),
	})
	for _, c := range []struct {
		kind  string
		args  []byte
		reads int64
	}{{"done", []byte("a"), 0}, {"done", nil, 0}, {"done", large, 1}, {"staged", []byte("b"), 1}} {
		before := st.reads.Load()
		id := submit(t, k, kernel.Spec{Kind: c.kind, Args: c.args, OnEnd: &kernel.Spec{Kind: "after"}})
		task := <-found
		if err := <-errs; err != nil || task.ID != id || task.State != store.Done || !bytes.Equal(task.Result, c.args) {
			t.Errorf("Ended = %s %s with %d bytes, %v; want %s done with %d", task.ID, task.State, len(task.Result), err, id, len(c.args))
		}
		if reads := st.reads.Load() - before; reads != c.reads {
			t.Errorf("%s: %d reads, want %d", c.kind, reads, c.reads)
		}
	}
}

func TestTheFollowerOfAnEarlierRoundIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found, errs := make(chan kernel.Task, 9), make(chan error, 9)
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"fails": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Failed("x", errors.New("no"), nil), nil
			},
			"after": seesEnded(found, errs),
		})
		id := submit(t, k, kernel.Spec{Kind: "fails", OnEnd: &kernel.Spec{Kind: "after", Delay: time.Hour}})
		kerneltest.Wait(t, k, id, store.Failed)
		if err := k.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		kerneltest.Drain(t, k)
		told := 0
		for range 2 {
			<-found
			if err := <-errs; errors.Is(err, kernel.ErrState) {
				told++
			} else if err != nil {
				t.Errorf("Ended = %v", err)
			}
		}
		if told != 1 {
			t.Errorf("%d of two followers were told that theirs is an earlier round, want 1", told)
		}
	})
}

func TestAKernelTellsItsSlotsItsBoundAndThePauses(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"q": 3}, MaxPayload: 77})
	if k.Slots("q") != 3 || k.Slots("other") != 0 || k.MaxPayload() != 77 {
		t.Errorf("Slots = %d, %d, MaxPayload = %d; want 3, 0, 77", k.Slots("q"), k.Slots("other"), k.MaxPayload())
	}
	scope := kernel.Scope{Queue: "q", Lane: "l"}
	if err := k.Pause(t.Context(), scope, time.Hour, "why"); err != nil {
		t.Fatal(err)
	}
	ps, err := k.Pauses(t.Context())
	if err != nil || len(ps) != 1 || ps[0].Scope != scope || ps[0].Reason != "why" {
		t.Errorf("Pauses = %+v, %v; want the one", ps, err)
	}
}
