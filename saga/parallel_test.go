package saga_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// Steps of one run go side by side if they may; the saga ends as if they had not. RR-009
func TestParallel(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		slow := func(_ context.Context, n int) (int, error) {
			<-time.After(time.Minute)
			return n + 1, nil
		}
		sum := func(_ context.Context, a, b, c int) (int, error) { return a + b + c, nil }
		define := func(n int) *saga.Def[int, int] {
			return saga.Define("side", func(b *saga.Builder[int]) *saga.Node[int] {
				b.Parallel(n)
				x, y, z := saga.Step1(b, "x", slow, b.In()), saga.Step1(b, "y", slow, b.In()), saga.Step1(b, "z", slow, b.In())
				return saga.Step3(b, "sum", sum, x, y, z)
			})
		}
		for n, want := range map[int]time.Duration{0: 3 * time.Minute, 2: 2 * time.Minute, 3: time.Minute} {
			def := define(n)
			k := fleet(t, def)
			begin := time.Now()
			sagatest.Completed(t, start(t, here, def, k, 1), 6)
			if took := time.Since(begin); took < want || took > want+10*time.Second {
				t.Errorf("%d at a time took %v, want %v", n, took, want)
			}
		}
	})
}

// If one of several fails the others are told, and waited for, before anything is undone.
func TestParallelSettlesBeforeItUnwinds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		w := &world{}
		cause := make(chan error, 1)
		def := saga.Define("side", func(b *saga.Builder[int]) *saga.Node[int] {
			b.Parallel(3)
			saga.Step1(b, "done", w.add("done"), b.In()).Undo(w.undo("done"))
			saga.Step1(b, "slow", func(ctx context.Context, n int) (int, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return n, nil // it completes all the same
			}, b.In()).Undo(w.undo("slow"))
			return saga.Step1(b, "bad", func(context.Context, int) (int, error) {
				<-time.After(time.Second)
				return 0, errNo
			}, b.In()).Compensate(w.compensate("bad"))
		})
		h := start(t, here, def, fleet(t, def), 1)
		sagatest.Failed(t, h, saga.Failed, "bad")
		sagatest.Sequence(t, h, "done done", "failed bad", "unwinding", "done slow", "compensated bad", "undone slow", "undone done", "failed")
		if err := <-cause; !errors.Is(err, saga.ErrUnwinding) {
			t.Errorf("the cause is %v, want ErrUnwinding", err)
		}
	})
}

// branches is two independent branches that end in a step that fails; the undo of l2 fails for good.
func branches(w *world, p saga.Policy) *saga.Def[int, int] {
	def := saga.Define("branches", func(b *saga.Builder[int]) *saga.Node[int] {
		b.OnUndoFailure(p)
		l1 := saga.Step1(b, "l1", w.add("l1"), b.In()).Undo(w.undo("l1"))
		r1 := saga.Step1(b, "r1", w.add("r1"), b.In()).Undo(w.undo("r1"))
		l2 := saga.Step1(b, "l2", w.add("l2"), l1).Undo(w.undo("l2")).UndoRetry(2, saga.Fixed(time.Second))
		r2 := saga.Step1(b, "r2", w.add("r2"), r1).Undo(w.undo("r2"))
		return saga.Step2(b, "bad", func(context.Context, int, int) (int, error) { return 0, errNo }, l2, r2)
	})
	return sagatest.FailUndo(def, "l2", -1, errNo)
}

// An undo that fails holds what it was built on, or nothing, or everything, as the policy says. RR-021, RR-022, RR-023
func TestPoliciesOfUndo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		for p, c := range map[saga.Policy]struct{ undone, waits []string }{
			saga.Ancestors: {[]string{"undo r2", "undo r1"}, []string{"l2", "l1"}},
			saga.Continue:  {[]string{"undo r2", "undo r1", "undo l1"}, []string{"l2"}},
			saga.Stop:      {[]string{"undo r2"}, []string{"l2", "r1", "l1"}},
		} {
			w := &world{}
			def := branches(w, p)
			k := fleet(t, def)
			h := start(t, here, def, k, 1)
			e := sagatest.Failed(t, h, saga.Stuck, "bad")
			var left []string
			for _, f := range e.Rollback {
				left = append(left, f.Step)
			}
			if got := w.list()[4:]; !slices.Equal(got, c.undone) || !slices.Equal(left, c.waits) {
				t.Errorf("policy %q: %q, left %q; want %q, left %q", p, got, left, c.undone, c.waits)
			}
			if err := saga.Resolve(t.Context(), k, h.ID(), "l2", "by hand"); err != nil {
				t.Fatal(err)
			}
			sagatest.Failed(t, def.Handle(k, h.ID()), saga.Failed, "bad")
		}
	})
}

// Two workers on one saga: who has lost it records nothing, and rolls nothing back. RR-066
func TestWhoHasLostTheSagaChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		began, goOn := make(chan struct{}, 2), make(chan struct{})
		first := true
		def := saga.Define("zombie", func(b *saga.Builder[int]) *saga.Node[int] {
			a := saga.Step1(b, "a", w.add("a"), b.In()).Undo(w.undo("a"))
			return saga.Step1(b, "b", func(ctx context.Context, n int) (int, error) {
				w.mu.Lock()
				mine := first
				first = false
				w.mu.Unlock()
				if !mine {
					return n + 1, nil
				}
				began <- struct{}{}
				<-goOn // paused, as a process can be
				return 0, saga.Permanent(errNo)
			}, a)
		})
		f := sagatest.Start(t, sagatest.Config{Workers: 2}, def)
		h := start(t, false, def, f.Kernel, 0)
		<-began
		sagatest.Pass(t, time.Second) // the other one has joined, too
		workers, err := f.Kernel.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		task, err := f.Kernel.Get(t.Context(), h.ID())
		if err != nil || len(workers) != 2 {
			t.Fatal(err)
		}
		// The store is told that the worker has left: its task goes to the other.
		if _, err := f.Store.Leave(t.Context(), task.Worker); err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, h, 2)
		close(goOn)
		sagatest.Pass(t, time.Minute)
		sagatest.Sequence(t, h, "done a", "done b", "completed")
		if got := w.list(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("effects %q, want nothing undone", got)
		}
	})
}
