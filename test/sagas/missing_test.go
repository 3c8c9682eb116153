package sagas

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// cancelled is a saga that waits for a signal between its steps, and whose last step runs until it is told.
func cancelled(w *World, began chan<- struct{}) *saga.Def[string, string] {
	return saga.Define("cancel", func(b *saga.Builder[string]) *saga.Node[string] {
		a := w.node(b, "a", b.In())
		ok := saga.Wait(b, approve).After(a)
		bb := w.node(b, "B", a).After(ok).Async("q")
		return saga.Step1(b, "c", func(ctx context.Context, _ string) (string, error) {
			close(began)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, bb).Compensate(w.Compensate("c"))
	})
}

// Cancelled with rollback while it waits: what was done is undone. RR-104, RR-105
func TestCancelOfASagaThatWaits(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := cancelled(w, nil)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting approve")
		if err := h.Cancel(t.Context(), saga.Rollback, "changed my mind"); err != nil {
			t.Fatal(err)
		}
		e := sagatest.Failed(t, def.Handle(k, h.ID()), saga.Cancelled, "")
		if e.Reason != "changed my mind" || !errors.Is(e, saga.ErrCancelled) {
			t.Errorf("error %+v, want the reason", e)
		}
		sagatest.Sequence(t, h, "done a", "waiting approve", "unwinding", "undone a", "cancelled")
		if err := approve.Send(t.Context(), k, h.ID(), decision{"late"}); !errors.Is(err, saga.ErrNotWaiting) {
			t.Errorf("a signal to a cancelled saga = %v, want ErrNotWaiting", err)
		}
	})
}

// Cancelled with rollback while it runs: the step under way is told, and compensated. FT-19
func TestCancelOfASagaThatRuns(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		began := make(chan struct{})
		def := cancelled(w, began)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		if err := approve.Send(t.Context(), k, h.ID(), decision{"me"}); err != nil {
			t.Fatal(err)
		}
		<-began
		if err := h.Cancel(t.Context(), saga.Rollback, ""); err != nil {
			t.Fatal(err)
		}
		sagatest.Failed(t, def.Handle(k, h.ID()), saga.Cancelled, "")
		got := sagatest.Events(t, h)
		if i := slices.Index(got, "stopped c"); i < 0 || !slices.Equal(got[i:], []string{"stopped c", "unwinding", "compensated c", "undo sent B", "undone B", "undone a", "cancelled"}) {
			t.Errorf("events %q", got)
		}
	})
}

// Cancelled before it began: nothing was done, nothing is.
func TestCancelOfASagaThatIsQueued(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := cancelled(w, nil)
		w.fresh(t)
		k, stop := w.worker(t, def)
		_ = stop()
		h, err := def.Start(t.Context(), k, "", saga.Options{Delay: w.Of(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Cancel(t.Context(), saga.Rollback, "never mind"); err != nil {
			t.Fatal(err)
		}
		k = w.fleet(t, def)
		sagatest.Failed(t, def.Handle(k, h.ID()), saga.Cancelled, "")
		sagatest.Sequence(t, def.Handle(k, h.ID()), "unwinding", "cancelled")
		effects(t, w)
	})
}

// Abandoned: what was done stays. While it is rolled back a saga cannot be cancelled.
func TestAbandon(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := cancelled(w, nil)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting approve")
		if err := h.Cancel(t.Context(), "perhaps", ""); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("Cancel in no mode = %v, want ErrInvalid", err)
		}
		if err := h.Cancel(t.Context(), saga.Abandon, "left as it is"); err != nil {
			t.Fatal(err)
		}
		sagatest.Failed(t, def.Handle(k, h.ID()), saga.Cancelled, "")
		sagatest.Sequence(t, h, "done a", "waiting approve", "unwinding", "cancelled")
		effects(t, w, "a")
		w.Fail("undo a", -1, errNo)
		h = start(t, w, def, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting approve")
		if err := h.Cancel(t.Context(), saga.Rollback, ""); err != nil {
			t.Fatal(err)
		}
		await(t, w, h, saga.RollingBack, "undo failed a")
		if err := h.Cancel(t.Context(), saga.Abandon, ""); !errors.Is(err, kernel.ErrState) {
			t.Errorf("Cancel during the rollback = %v, want ErrState", err)
		}
	})
}

// A step that runs elsewhere while another fails is told, waited for, and undone or compensated. RR-… of F-09: no effect after the rollback.
func TestWhatStillRunsIsSettledBeforeAnythingIsUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		finish bool
		want   []string
	}{
		{"it finishes", true, []string{"done slow", "undo sent slow", "undone slow"}},
		{"it heeds", false, []string{"stopped slow", "undo sent slow", "compensated slow"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			On(t, func(t *testing.T, w *World) {
				began, cause := make(chan struct{}), make(chan error, 1)
				def := saga.Define("settle", func(b *saga.Builder[string]) *saga.Node[string] {
					a := w.node(b, "a", b.In())
					saga.Step1(b, "slow", func(ctx context.Context, s string) (string, error) {
						close(began)
						<-ctx.Done()
						cause <- context.Cause(ctx)
						if c.finish {
							return s + "slow", nil
						}
						return "", ctx.Err()
					}, a).Async("q").Undo(w.Undo("slow")).Compensate(w.Compensate("slow"))
					return saga.Step1(b, "bad", func(context.Context, string) (string, error) {
						<-began
						return "", errNo
					}, a).Async("q")
				})
				k := w.fleet(t, def)
				h := start(t, w, def, k, "", saga.Options{})
				sagatest.Failed(t, h, saga.Failed, "bad")
				<-cause
				got := sagatest.Events(t, h)
				undo := slices.Index(got, "undone a")
				for _, ev := range c.want {
					if i := slices.Index(got, ev); i < 0 || i > undo {
						t.Errorf("events %q; want %q before what was done first is undone", got, ev)
					}
				}
			})
		})
	}
}

// Pure, skipped and best-effort steps are not undone; halt keeps the work. RR-029, RR-030
func TestWhatIsNotUndone(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("kinds", func(b *saga.Builder[string]) *saga.Node[string] {
			p := saga.Step1(b, "pure", w.Step("pure"), b.In()).Pure()
			s := saga.Step1(b, "skip", func(_ context.Context, s string) (string, error) { return saga.Skip(s + "skip") }, p).Undo(w.Undo("skip"))
			saga.Step1(b, "best", w.Step("best"), s).BestEffort().Compensate(w.Compensate("best"))
			a := w.node(b, "a", s)
			return w.node(b, "bad", a)
		})
		w.Fail("best", -1, errNo)
		w.Fail("bad", -1, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "bad")
		sagatest.Sequence(t, h, "done pure", "skipped skip", "failed best", "ignored best", "done a", "failed bad", "unwinding", "compensated bad", "undone a", "failed")
	})
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("halts", func(b *saga.Builder[string]) *saga.Node[string] {
			a := w.node(b, "a", b.In())
			h := saga.Step1(b, "halt", func(context.Context, string) (string, error) { return "", saga.Halt("nothing to do") }, a)
			return w.node(b, "never", h)
		})
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		if e := sagatest.Failed(t, h, saga.Halted, "halt"); e.Reason != "nothing to do" || !errors.Is(e, saga.ErrHalted) {
			t.Errorf("error %+v", e)
		}
		sagatest.Failed(t, def.Handle(k, h.ID()), saga.Halted, "halt") // as another process sees it
		sagatest.Sequence(t, h, "done a", "halted halt", "halted")
		effects(t, w, "a")
	})
}

// After the point of no return nothing is rolled back: what comes later is tried until it succeeds, and somebody is told.
func TestAfterThePivotItGoesForward(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		alerts := make(chan saga.Alert, 99)
		def := saga.Define("pivot", func(b *saga.Builder[string]) *saga.Node[string] {
			b.OnAlert(func(_ context.Context, a saga.Alert) { alerts <- a })
			a := w.node(b, "a", b.In())
			p := saga.Step1(b, "p", w.Step("p"), a).Pivot()
			return saga.Step1(b, "z", w.Step("z"), p).Retry(2, saga.Fixed(w.Of(time.Second)))
		})
		w.Fail("z", 3, errNo)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		sagatest.Completed(t, h, "apz")
		sagatest.Sequence(t, h, "done a", "done p", "failed z", "failed z", "failed z", "done z", "completed")
		if len(alerts) != 2 {
			t.Errorf("%d alerts, want one for each failure past the last attempt", len(alerts))
		}
	})
	On(t, func(t *testing.T, w *World) {
		never := saga.NewSignal[int]("never")
		def := saga.Define("pivoted", func(b *saga.Builder[string]) *saga.Node[string] {
			p := saga.Step1(b, "p", w.Step("p"), b.In()).Pivot()
			saga.Wait(b, never).After(p)
			return p
		})
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "done p")
		if err := h.Cancel(t.Context(), saga.Rollback, ""); !errors.Is(err, saga.ErrPivot) {
			t.Errorf("Cancel after the pivot = %v, want ErrPivot", err)
		}
		if err := never.Send(t.Context(), k, h.ID(), 1); err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, def.Handle(k, h.ID()), "p")
	})
}

// A result that is too large is a permanent failure; its undo is called with the value that is still there.
func TestAResultThatIsTooLargeIsUndoneAtOnce(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		got := make(chan int, 9)
		def := saga.Define("large", func(b *saga.Builder[string]) *saga.Node[string] {
			a := w.node(b, "a", b.In())
			return saga.Step1(b, "large", func(context.Context, string) (string, error) { return strings.Repeat("x", 2<<20), nil }, a).
				Retry(9, saga.Fixed(w.Of(time.Second))).Undo(func(_ context.Context, s string) error { got <- len(s); return nil })
		})
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		e := sagatest.Failed(t, h, saga.Failed, "large")
		if !strings.Contains(e.Message, "2097154 bytes") || e.Outcome != saga.OutcomeFailed || len(got) != 1 || <-got != 2<<20 {
			t.Errorf("error %v, outcome %s; want the bound, and the effect undone", e, e.Outcome)
		}
		sagatest.Sequence(t, h, "done a", "failed large", "unwinding", "undone a", "failed")
	})
}

// Nobody knows whether a step that took too long, panicked or says so took effect: its compensation, or an undo that can bear it, is told. RR-031
func TestUnknownIsNotFailed(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		w.fresh(t)
		k := w.client(t)
		for _, c := range []struct {
			name string
			body func(ctx context.Context, s string) (string, error)
		}{
			{"timeout", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) }},
			{"panic", func(context.Context, string) (string, error) { panic("oh") }},
			{"unknown", func(context.Context, string) (string, error) { return "", saga.Unknown(errNo) }},
		} {
			var got saga.Failure
			nulls := 0
			def := saga.Define(c.name, func(b *saga.Builder[string]) *saga.Node[string] {
				saga.Step1(b, "x", c.body, b.In()).Timeout(w.Of(time.Second)).Compensate(func(_ context.Context, f saga.Failure) error { got = f; return nil })
				return saga.Step1(b, "y", w.Step("y"), b.In())
			})
			null := saga.Define(c.name+"-null", func(b *saga.Builder[string]) *saga.Node[string] {
				return saga.Step1(b, "x", c.body, b.In()).Timeout(w.Of(time.Second)).Undo(func(context.Context, string) error { nulls++; return nil }).NullSafe()
			})
			_, stop := w.worker(t, def, null)
			sagatest.Failed(t, start(t, w, def, k, "", saga.Options{}), saga.Failed, "x")
			if got.Outcome != saga.OutcomeUnknown || got.Attempt != 1 || got.Err == nil {
				t.Errorf("%s: compensated with %+v, want an unknown outcome", c.name, got)
			}
			sagatest.Failed(t, start(t, w, null, k, "", saga.Options{}), saga.Failed, "x")
			if nulls != 1 {
				t.Errorf("%s: %d undos of what may never have come, want 1", c.name, nulls)
			}
			_ = stop()
		}
	})
}

// The deadline of a saga begins the rollback, and does not bound it.
func TestTheDeadlineOfASagaRollsItBack(t *testing.T) {
	t.Parallel()
	never := saga.NewSignal[int]("never")
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("late", func(b *saga.Builder[string]) *saga.Node[string] {
			b.Deadline(w.Of(5 * time.Minute))
			a := w.node(b, "a", b.In()).UndoRetry(5, saga.Fixed(w.Of(time.Minute)))
			ok := saga.Wait(b, never).After(a)
			return w.node(b, "z", a).After(ok)
		})
		w.Fail("undo a", 2, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		if e := sagatest.Failed(t, h, saga.Failed, ""); !strings.Contains(e.Message, "deadline") {
			t.Errorf("error %v, want the deadline", e)
		}
		sagatest.Sequence(t, h, "done a", "waiting never", "unwinding", "undo failed a", "undo failed a", "undone a", "failed")
	})
}

// A saga that passes its pivot while a failure is being settled is not rolled back: what failed is tried until it succeeds.
func TestThePivotWinsOverAFailureBesideIt(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		began := make(chan struct{})
		def := saga.Define("beside", func(b *saga.Builder[string]) *saga.Node[string] {
			a := w.node(b, "a", b.In())
			saga.Step1(b, "p", func(ctx context.Context, s string) (string, error) {
				close(began)
				<-ctx.Done() // told that another has failed, and completes all the same
				return s + "p", nil
			}, a).Async("q").Pivot()
			return saga.Step1(b, "bad", func(ctx context.Context, s string) (string, error) {
				if saga.From(ctx).Attempt() == 1 {
					<-began
				}
				return s + "bad", w.call(ctx, "bad")
			}, a).Async("q")
		})
		w.Fail("bad", 2, errNo)
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Completed(t, h, "abad")
		got := sagatest.Events(t, h)
		if !slices.Contains(got, "done p") || slices.Contains(got, "undone a") || got[len(got)-1] != "completed" || got[len(got)-2] != "done bad" {
			t.Errorf("events %q; want the pivot done, nothing undone, and the rest done later", got)
		}
	})
}
