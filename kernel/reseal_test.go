package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

// plantOld fills a store with everything that can be sealed, in tasks of all states, under the keys of a ring.
func plantOld(t *testing.T, mem *memory.Store, ring *seal.Ring) {
	t.Helper()
	k, stop := kerneltest.StartOn(t, mem.Process(), kernel.Config{Sealer: ring}, handlers{
		"x": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			r.Progress(1, 2, "note")
			if err := r.Save(ctx, map[string][]byte{"a": []byte("entry"), "b": []byte("other")}); err != nil {
				return kernel.Outcome{}, err
			}
			switch string(r.Task().Args) {
			case "fail":
				return kernel.Outcome{}, kernel.Permanent(errors.New("text"))
			case "park":
				return r.Park(0), nil
			}
			return kernel.Done([]byte("result")), nil
		},
		"end": ok,
	})
	end := &kernel.Spec{Kind: "end", Args: []byte("end")}
	var parked kernel.ID
	for _, args := range []string{"done", "fail", "park"} {
		parked = submit(t, k, kernel.Spec{Kind: "x", Args: []byte(args), OnEnd: end})
	}
	submit(t, k, kernel.Spec{Kind: "x", Args: []byte("forget"), OnEnd: end, Retention: kernel.Forget})
	for range 300 { // more than a page
		submit(t, k, kernel.Spec{Kind: "x", Args: []byte("waits"), OnEnd: end, Queue: "nobody"})
	}
	_, _, err1 := k.SubmitGroup(t.Context(), kernel.NewGroup{OnClose: &kernel.Spec{Kind: "x", Args: []byte("close"), OnEnd: end}}, nil)
	_, err2 := k.PutSchedule(t.Context(), kernel.Schedule{Name: "s", Rule: "every 10m", Task: kernel.Spec{Kind: "x", Args: []byte("tick"), OnEnd: end}})
	wait(t.Context(), 10*time.Second)
	_, err3 := k.Send(t.Context(), kernel.Message{Task: parked, Name: "m", Body: []byte("message")})
	wait(t.Context(), 10*time.Second)
	if err := errors.Join(err1, err2, err3, stop()); err != nil {
		t.Fatal(err)
	}
}

// openAll opens everything that is stored, as Get, Load and Messages show it, and returns the texts.
func openAll(t *testing.T, mem *memory.Store, ring *seal.Ring) (texts []string, err error) {
	t.Helper()
	open := func(id store.ID, field string, sealed []byte) {
		if sealed == nil {
			return
		}
		plain, failed := ring.Open(id.String()+"/"+field, sealed)
		err = errors.Join(err, failed)
		texts = append(texts, field+"="+string(plain))
	}
	spec := func(s *store.Spec) {
		open(s.Sealed, "args", s.Args)
		if s.OnEnd != nil {
			open(s.OnEnd.Sealed, "args", s.OnEnd.Args)
		}
	}
	var tasks []store.ID
	exported := mem.Export(t.Context(), func(e store.Entry) error {
		switch {
		case e.Task != nil:
			tasks = append(tasks, e.Task.ID)
			spec(&e.Task.Spec)
			open(e.Task.ID, "result", e.Task.Result)
			if e.Task.Error != nil {
				open(e.Task.ID, "error", e.Task.Error.Detail)
			}
		case e.Group != nil:
			spec(e.Group.OnClose)
		case e.Schedule != nil:
			spec(&e.Schedule.Task)
		case e.Message != nil:
			open(e.Message.Task, "message/"+e.Message.ID.String(), e.Message.Body)
		}
		return nil
	})
	k := kerneltest.New(t, mem.Process(), kernel.Config{Sealer: ring})
	for _, id := range tasks {
		task, failed := k.Get(t.Context(), id)
		err = errors.Join(err, failed)
		texts = append(texts, "note="+task.Progress.Note)
		entries, failed := mem.Load(t.Context(), id)
		if !task.Stripped {
			err = errors.Join(err, failed)
		}
		for name, value := range entries {
			open(id, "entry/"+name, value)
		}
	}
	return texts, errors.Join(err, exported)
}

func count(texts []string) map[string]int {
	n := map[string]int{}
	for _, text := range texts {
		n[text]++
	}
	return n
}

func TestResealLeavesNothingThatTheOldKeyOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, first, second := memory.New(memory.Config{}), seal.NewKey(), seal.NewKey()
		plantOld(t, mem, newRing(t, first))
		before, err := openAll(t, mem, newRing(t, first))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openAll(t, mem, newRing(t, second)); !errors.Is(err, seal.ErrUnknownKey) {
			t.Fatalf("before it the new key opens everything: %v", err)
		}
		k := kerneltest.New(t, mem.Process(), kernel.Config{Sealer: newRing(t, second, first)})
		var told []kernel.ResealReport
		report, err := k.Reseal(t.Context(), func(r kernel.ResealReport) { told = append(told, r) })
		if err != nil || report.Left != 0 || report.Resealed < 300 || report.Seen < report.Resealed {
			t.Errorf("Reseal = %+v, %v, want all of it", report, err)
		}
		if n := len(told); n < 4 || told[n-1] != report || told[n-2].Seen > report.Seen {
			t.Errorf("who watched was told %+v, want more and more, up to %+v", told, report)
		}
		after, err := openAll(t, mem, newRing(t, second))
		if err != nil || fmt.Sprint(count(after)) != fmt.Sprint(count(before)) {
			t.Errorf("after it there is %v, %v, want what there was: %v", count(after), err, count(before))
		}
		for _, want := range []string{"args=done", "args=end", "args=close", "args=tick", "result=result", "note=note", "entry/a=entry", "entry/b=other", "message/"} {
			if !strings.Contains(strings.Join(after, "\n"), want) {
				t.Errorf("%s is not among what was resealed", want)
			}
		}
		if again, err := k.Reseal(t.Context()); err != nil || again.Resealed != 0 || again.Left != 0 {
			t.Errorf("Reseal again = %+v, %v, want nothing to do", again, err)
		}
	})
}

// A rotation that is disturbed at every step does what one that is not does.
func TestResealGoesOnAfterLostAnswersAndWritesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, first, second := memory.New(memory.Config{}), seal.NewKey(), seal.NewKey()
		plantOld(t, mem, newRing(t, first))
		before, err := openAll(t, mem, newRing(t, first))
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int64
		st := storetest.Wrap(mem.Process(), func(_ context.Context, op string, do func() error) error {
			n := calls.Add(1)
			if op == "Reseal" && n%3 == 0 {
				_ = do()
				return errAway // it was applied, and the answer lost
			}
			if n%7 == 0 {
				return errAway
			}
			return do()
		})
		k := kerneltest.New(t, st, kernel.Config{Sealer: newRing(t, second, first)})
		if report, err := k.Reseal(t.Context()); err != nil || report.Left != 0 {
			t.Errorf("Reseal = %+v, %v, want no error and nothing left", report, err)
		}
		after, err := openAll(t, mem, newRing(t, second))
		if err != nil || fmt.Sprint(count(after)) != fmt.Sprint(count(before)) {
			t.Errorf("after it there is %v, %v, want what there was: %v", count(after), err, count(before))
		}
	})
}

func TestARecordThatDoesNotOpenIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, lost, first, second := memory.New(memory.Config{}), seal.NewKey(), seal.NewKey(), seal.NewKey()
		var ids []kernel.ID
		for _, key := range []string{lost, first} {
			k := kerneltest.New(t, mem.Process(), kernel.Config{Sealer: newRing(t, key)})
			ids = append(ids, submit(t, k, kernel.Spec{Kind: "x", Args: []byte("a")}))
		}
		k := kerneltest.New(t, mem.Process(), kernel.Config{Sealer: newRing(t, second, first)})
		report, err := k.Reseal(t.Context())
		if err != nil || report.Resealed != 1 || report.Left != 1 || !errors.Is(report.Err, seal.ErrUnknownKey) || !strings.Contains(report.Err.Error(), ids[0].String()) {
			t.Errorf("Reseal = %+v, %v, want one resealed, and one left that is named", report, err)
		}
		plain := kerneltest.New(t, mem.Process(), kernel.Config{})
		if _, err := plain.Reseal(t.Context()); err == nil {
			t.Error("Reseal without a sealer = nil, want an error that says so")
		}
	})
}

// A sealer of the user's need not tell what is old: then one walk seals all of it anew.
type silentSealer struct{ ring *seal.Ring }

func (s silentSealer) Seal(about string, plain []byte) ([]byte, error) {
	return s.ring.Seal(about, plain)
}

func (s silentSealer) Open(about string, sealed []byte) ([]byte, error) {
	return s.ring.Open(about, sealed)
}

func TestResealWithASealerThatTellsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{Sealer: silentSealer{newRing(t)}})
		submit(t, k, kernel.Spec{Kind: "x", Args: []byte("a")})
		submit(t, k, kernel.Spec{Kind: "x"})
		for range 2 {
			if report, err := k.Reseal(t.Context()); err != nil || report.Resealed != 1 || report.Left != 0 {
				t.Errorf("Reseal = %+v, %v, want the one that has something", report, err)
			}
		}
	})
}
