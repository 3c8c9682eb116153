package sagas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// chain is the steps of a string, one after the other; those in capitals have a queue of their own.
func chain(w *World, steps string) *saga.Def[string, string] {
	return saga.Define("chain", func(b *saga.Builder[string]) *saga.Node[string] {
		var last *saga.Node[string]
		from := b.In()
		for _, r := range steps {
			last = w.node(b, string(r), from).Retry(2, saga.Fixed(w.Of(time.Second))).UndoRetry(3, saga.Fixed(w.Of(time.Minute)))
			if r < 'a' {
				last.Async("queue-" + string(r))
			}
			from = last
		}
		return last
	})
}

// All well: steps before the hand-off run in the caller, the worker runs the step of the hand-off. D-4, D-7, RR-002, RR-042, RR-043, RR-044
func TestAChainEndsWithTheRightResult(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "aBcD")
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Completed(t, h, "aBcD")
		sagatest.Sequence(t, h, "done a", "sent B", "done B", "done c", "sent D", "done D", "completed")
		effects(t, w, "a", "B", "c", "D")
	})
}

// Story 1: a step fails before any hand-off. No task of a step is ever written. R004-7, RR-020, RR-035, D-5
func TestStory1AStepFailsBeforeTheHandOff(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "abC")
		w.Fail("b", -1, errNo)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		e := sagatest.Failed(t, h, saga.Failed, "b")
		if e.Message != "b: says no" || len(e.Rollback) != 0 || !errors.Is(e, saga.ErrFailed) {
			t.Errorf("error %+v; want the step's own, and nothing left", e)
		}
		sagatest.Sequence(t, h, "done a", "failed b", "failed b", "unwinding", "compensated b", "undone a", "failed")
		effects(t, w, "a", "b", "b", "compensate b", "undo a")
		page, err := k.List(t.Context(), kernel.Filter{Kinds: []string{def.Kind() + "/step"}}, kernel.PageRequest{})
		if err != nil || len(page.Items) != 0 {
			t.Errorf("%d tasks of steps, %v; want none", len(page.Items), err)
		}
	})
}

// Story 2: a step in a worker fails: what was done in the caller is undone. R004-3, RR-028, RR-035
func TestStory2AStepInAWorkerFails(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "abC")
		w.Fail("C", -1, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "C")
		sagatest.Sequence(t, h, "done a", "done b", "sent C", "failed C", "failed C", "unwinding",
			"undo sent C", "compensated C", "undone b", "undone a", "failed")
		effects(t, w, "a", "b", "C", "C", "compensate C", "undo b", "undo a")
	})
}

// Story 3: two hand-offs, the second fails: the first is undone, in its own queue. RR-035
func TestStory3TheSecondOfTwoHandOffsFails(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "AB")
		w.Fail("B", -1, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "B")
		sagatest.Sequence(t, h, "sent A", "done A", "sent B", "failed B", "failed B", "unwinding",
			"undo sent B", "compensated B", "undo sent A", "undone A", "failed")
		effects(t, w, "A", "B", "B", "compensate B", "undo A")
	})
}

// Story 4: a long chain fails at its end. RR-035
func TestStory4ALongChainIsUndoneBackwards(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "aBcDeF")
		w.Fail("F", -1, saga.Permanent(errNo))
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "F")
		sagatest.Sequence(t, h, "done a", "sent B", "done B", "done c", "sent D", "done D", "done e", "sent F", "failed F", "unwinding",
			"undo sent F", "compensated F", "undone e", "undo sent D", "undone D", "undone c", "undo sent B", "undone B", "undone a", "failed")
		effects(t, w, "a", "B", "c", "D", "e", "F", "compensate F", "undo e", "undo D", "undo c", "undo B", "undo a")
	})
}

// Story 4, the other end: an undo fails for good. What it was built on stays, an operator is told, and goes on from there. R004-4, RR-023
func TestStory4AnUndoThatFailsHoldsWhatItWasBuiltOn(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "abCd")
		w.Fail("d", -1, saga.Permanent(errNo))
		w.Fail("undo b", -1, errNo)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		e := sagatest.Failed(t, h, saga.Stuck, "d")
		want := []saga.RollbackFailure{{Step: "b", Kind: "undo", Message: "says no"}, {Step: "a", Kind: "undo"}}
		if e.Message != "d: says no" || !slices.Equal(e.Rollback, want) || !errors.Is(e, saga.ErrStuck) {
			t.Errorf("error %+v; want the business error and %+v", e, want)
		}
		events := []string{
			"done a", "done b", "sent C", "done C", "failed d", "unwinding", "compensated d",
			"undo sent C", "undone C", "undo failed b", "undo failed b", "undo failed b", "stuck",
		}
		sagatest.Sequence(t, h, events...)

		if err := saga.RetryUndo(t.Context(), k, h.ID(), "", "try once more"); err != nil {
			t.Fatal(err)
		}
		h = def.Handle(k, h.ID())
		await(t, w, h, saga.Stuck, "undo again b")
		events = append(events, "undo again b", "undo failed b", "undo failed b", "undo failed b", "stuck")
		sagatest.Sequence(t, h, events...)

		if err := saga.Resolve(t.Context(), k, h.ID(), "b", "refunded by hand"); err != nil {
			t.Fatal(err)
		}
		sagatest.Failed(t, h, saga.Failed, "d")
		sagatest.Sequence(t, h, append(events, "resolved b", "undone a", "failed")...)
		if err := saga.Resolve(t.Context(), k, h.ID(), "b", ""); !errors.Is(err, kernel.ErrState) {
			t.Errorf("Resolve of an ended saga = %v, want ErrState", err)
		}
	})
}

// await waits until a saga is in a state, after an event.
func await[Out any](t *testing.T, w *World, h *saga.Handle[Out], state saga.State, event string) {
	t.Helper()
	until(t, w, h, fmt.Sprintf("it is %s after %q", state, event), func(st saga.Status) bool {
		return st.State == state && slices.ContainsFunc(st.Timeline, func(ev saga.Event) bool { return event == "" || ev.String() == event })
	})
}

// until waits until something can be said of a saga.
func until[Out any](t *testing.T, w *World, h *saga.Handle[Out], what string, said func(saga.Status) bool) {
	t.Helper()
	look := 100 * time.Millisecond
	if !w.engine.bubble {
		look = 10 * time.Millisecond
	}
	var last saga.Status
	for range 5000 {
		st, err := h.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if said(st) {
			return
		}
		last = st
		sagatest.Pass(t, look)
	}
	t.Fatalf("it is not so that %s: %s, %+v", what, last.State, last.Timeline)
}

// Story 5: a step fails and is tried again: the worker is free meanwhile, the key is the same, nothing is compensated. R004-5, RR-045
func TestStory5ARetryKeepsWhatWasSaved(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("retries", func(b *saga.Builder[string]) *saga.Node[string] {
			a := w.node(b, "a", b.In())
			return w.node(b, "B", a).Async("slow").Retry(4, saga.Exp(w.Of(2*time.Minute)))
		})
		w.Fail("B", 2, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		begin := time.Now()
		until(t, w, h, "one attempt has failed, and the next has a time", func(st saga.Status) bool {
			b := st.Steps[1]
			return st.State == saga.Waiting && b.Attempts == 1 && b.Error == "B: says no" && !b.NextAt.IsZero()
		})
		sagatest.Completed(t, h, "aB")
		if took := time.Since(begin); took < w.Of(6*time.Minute) {
			t.Errorf("two retries took %v, want two minutes and four", took)
		}
		sagatest.Sequence(t, h, "done a", "sent B", "failed B", "failed B", "done B", "completed")
		if keys := w.Keys("B"); len(keys) != 3 || keys[0] != h.ID().String()+"/B" || keys[1] != keys[0] || keys[2] != keys[0] {
			t.Errorf("keys %q, want three times the same", keys)
		}
	})
}

// Story 6: a step of the run fails after one in a worker was done: one way out. RR-035
func TestStory6AStepOfTheRunFailsAfterAHandOff(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := chain(w, "aBc")
		w.Fail("c", -1, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "c")
		sagatest.Sequence(t, h, "done a", "sent B", "done B", "failed c", "failed c", "unwinding",
			"compensated c", "undo sent B", "undone B", "undone a", "failed")
	})
}

// Retries of the run's own steps wait without a slot in a worker, and in the caller where it runs them. RR-045, RR-046, RR-047
func TestDelaysOfRetries(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		w.fresh(t)
		k := w.client(t)
		for i, c := range []struct {
			wait saga.Backoff
			want time.Duration
		}{{saga.Exp(w.Of(time.Second)), w.Of(7 * time.Second)}, {saga.Linear(w.Of(time.Second)), w.Of(6 * time.Second)}, {saga.Fixed(w.Of(time.Second)), w.Of(3 * time.Second)}} {
			w.Fail("a", 3, errNo)
			def := saga.Define(fmt.Sprint("delays-", i), func(b *saga.Builder[string]) *saga.Node[string] { return w.node(b, "a", b.In()).Retry(4, c.wait) })
			_, stop := w.worker(t, def)
			begin := time.Now()
			sagatest.Completed(t, start(t, w, def, k, "", saga.Options{}), "a")
			if took := time.Since(begin); took < c.want || w.engine.bubble && took > c.want+3*time.Second {
				t.Errorf("%+v: took %v, want %v", c.wait, took, c.want)
			}
			_ = stop()
		}
		def := saga.Define("after", func(b *saga.Builder[string]) *saga.Node[string] {
			return saga.Step1(b, "x", func(ctx context.Context, _ string) (string, error) {
				if saga.From(ctx).Attempt() == 1 {
					return "", saga.RetryAfter(w.Of(2*time.Minute), errNo)
				}
				return "x", nil
			}, b.In()).Retry(2, saga.Fixed(w.Of(time.Second)))
		})
		w.worker(t, def)
		begin := time.Now()
		sagatest.Completed(t, start(t, w, def, k, "", saga.Options{}), "x")
		if took := time.Since(begin); took < w.Of(2*time.Minute) {
			t.Errorf("RetryAfter two minutes took %v", took)
		}
	})
}

// One at a time, in the order they are written: while one waits for its next attempt, the next one does not begin; those with a queue go last. R004-1
func TestOneStepAtATimeInTheirOrder(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("order", func(b *saga.Builder[string]) *saga.Node[string] {
			w.node(b, "Q", b.In()).Async("q")
			w.node(b, "a", b.In()).Retry(3, saga.Fixed(w.Of(time.Minute)))
			return w.node(b, "b", b.In())
		})
		w.Fail("a", 2, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Completed(t, h, "b")
		var own []string
		for _, ev := range sagatest.Events(t, h) {
			if ev != "sent Q" && ev != "done Q" {
				own = append(own, ev)
			}
		}
		if want := []string{"failed a", "failed a", "done a", "done b", "completed"}; !slices.Equal(own, want) {
			t.Errorf("events %q, want %q", own, want)
		}
	})
}
