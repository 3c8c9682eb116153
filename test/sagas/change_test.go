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

var goOn = saga.NewSignal[int]("go-on")

// version is a definition that is changed while a saga waits in the middle of it.
func version(w *World, wire func(b *saga.Builder[string], a *saga.Node[string], after *saga.Node[int]) *saga.Node[string]) *saga.Def[string, string] {
	return saga.Define("versions", func(b *saga.Builder[string]) *saga.Node[string] {
		a := w.node(b, "a", b.In())
		return wire(b, a, saga.Wait(b, goOn).After(a))
	})
}

// A compatible change goes on: other policies, steps that are new, or that are gone and were not run. RR-050
func TestACompatibleDefinitionGoesOn(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		old := version(w, func(b *saga.Builder[string], a *saga.Node[string], ok *saga.Node[int]) *saga.Node[string] {
			return w.node(b, "gone", a).After(ok)
		})
		changed := version(w, func(b *saga.Builder[string], a *saga.Node[string], ok *saga.Node[int]) *saga.Node[string] {
			n := w.node(b, "new", a.Retry(7, saga.Exp(w.Of(time.Hour))).Timeout(w.Of(time.Hour))).After(ok)
			return w.node(b, "newer", n)
		})
		w.fresh(t)
		k, stop := w.worker(t, old)
		h := start(t, w, old, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting go-on")
		_ = stop()
		k = w.fleet(t, changed)
		if err := goOn.Send(t.Context(), k, h.ID(), 1); err != nil {
			t.Fatal(err)
		}
		h = changed.Handle(k, h.ID())
		sagatest.Completed(t, h, "anewnewer")
		if old.Hash() == changed.Hash() {
			t.Error("the definitions have one hash")
		}
	})
}

// An incompatible change holds the saga and says what is missing; a worker that has the definition goes on with it, and one
// that has not changes nothing. FT-32, RR-050
func TestAnIncompatibleDefinitionHoldsTheSaga(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		newer := version(w, func(b *saga.Builder[string], a *saga.Node[string], ok *saga.Node[int]) *saga.Node[string] {
			return w.node(b, "z", a).After(ok)
		})
		// An older program does not have the step "a" that is on record.
		older := saga.Define("versions", func(b *saga.Builder[string]) *saga.Node[string] {
			x := w.node(b, "x", b.In())
			saga.Wait(b, goOn).After(x)
			return x
		})
		w.fresh(t)
		k, stop := w.worker(t, newer)
		h := start(t, w, newer, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting go-on")
		_ = stop()
		_, stop = w.worker(t, older)
		client := w.client(t)
		if err := goOn.Send(t.Context(), client, h.ID(), 1); err != nil {
			t.Fatal(err)
		}
		h = newer.Handle(client, h.ID())
		await(t, w, h, saga.Held, "")
		w.Pass(t, 10*time.Minute)
		st, err := h.Status(t.Context())
		if err != nil || st.State != saga.Held || !slices.Equal(st.Lacks, []string{"there is no step a"}) || st.Since.IsZero() {
			t.Errorf("Status = %s, lacks %q since %v, %v; want held for want of step a", st.State, st.Lacks, st.Since, err)
		}
		effects(t, w, "a")
		_ = stop()
		w.worker(t, newer)
		sagatest.Completed(t, h, "az")
		sagatest.Sequence(t, h, "done a", "waiting go-on", "done go-on", "done z", "completed")
	})
}

// A result whose shape has changed is not taken for one that was never there.
func TestAResultOfAnotherShapeHoldsTheSaga(t *testing.T) {
	t.Parallel()
	type before struct{ Total int }
	type after struct{ Total string }
	On(t, func(t *testing.T, w *World) {
		old := saga.Define("shapes", func(b *saga.Builder[string]) *saga.Node[before] {
			a := saga.Step1(b, "a", func(ctx context.Context, _ string) (before, error) { return before{1}, w.call(ctx, "a") }, b.In())
			saga.Wait(b, goOn).After(a)
			return a
		})
		changed := saga.Define("shapes", func(b *saga.Builder[string]) *saga.Node[after] {
			a := saga.Step1(b, "a", func(ctx context.Context, _ string) (after, error) { return after{"1"}, w.call(ctx, "a") }, b.In())
			saga.Wait(b, goOn).After(a)
			return a
		})
		w.fresh(t)
		k, stop := w.worker(t, old)
		h := start(t, w, old, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting go-on")
		_ = stop()
		k = w.fleet(t, changed)
		if err := goOn.Send(t.Context(), k, h.ID(), 1); err != nil {
			t.Fatal(err)
		}
		h = old.Handle(k, h.ID())
		await(t, w, h, saga.Held, "")
		if st, err := h.Status(t.Context()); err != nil || !slices.Equal(st.Lacks, []string{"the result of step a has another shape"}) {
			t.Errorf("lacks %q, %v", st.Lacks, err)
		}
		effects(t, w, "a")
	})
}

// One saga at a time under a name, whatever saga it is; waiting costs no attempt; what a saga leaves locked when it dies is let go. RR-109, RR-120
func TestLocks(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		fences := map[string]string{}
		def := saga.Define("locks", func(b *saga.Builder[string]) *saga.Node[string] {
			b.Lock(func(string) string { return "account-7" })
			a := saga.Step1(b, "a", func(ctx context.Context, s string) (string, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				fences[s] = saga.From(ctx).LockFence("account-7")
				w.effects = append(w.effects, "begin "+s)
				return s, nil
			}, b.In())
			nap := saga.Sleep(b, "nap", w.Of(5*time.Minute)).After(a)
			return saga.Step1(b, "z", func(ctx context.Context, s string) (string, error) { return s, w.call(ctx, "end "+s) }, a).After(nap)
		})
		k := w.fleet(t, def)
		first := start(t, w, def, k, "1", saga.Options{})
		await(t, w, first, saga.Waiting, "waiting nap")
		second, err := def.Start(t.Context(), k, "2", saga.Options{})
		if err != nil {
			t.Fatal(err)
		}
		until(t, w, second, "it waits for the lock", func(st saga.Status) bool { return st.Lock == "account-7" && st.State == saga.Waiting })
		sagatest.Completed(t, second, "2")
		sagatest.Completed(t, def.Handle(k, first.ID()), "1")
		effects(t, w, "begin 1", "end 1", "begin 2", "end 2")
		if fences["1"] == "" || fences["1"] == fences["2"] {
			t.Errorf("fences %q, want two different ones", fences)
		}
	})
}

// A key keeps a second start out, and gives its handle what became of the first. RR-130, RR-131, RR-133
func TestKeys(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("keys", func(b *saga.Builder[string]) *saga.Node[string] {
			b.Validate(func(s string) error {
				if s == "" {
					return saga.Invalid("text", "is missing")
				}
				return nil
			})
			return w.node(b, "a", b.In())
		})
		k := w.fleet(t, def)
		h := start(t, w, def, k, "x", saga.Options{Key: "k"})
		sagatest.Completed(t, h, "xa")
		again := start(t, w, def, k, "y", saga.Options{Key: "k"})
		sagatest.Completed(t, again, "xa")
		if again.ID() != h.ID() || !again.Existed() || h.Existed() {
			t.Errorf("the second start is %v (existed %v), want the first", again.ID(), again.Existed())
		}
		effects(t, w, "a")
		if _, err := def.Run(t.Context(), k, "", saga.Options{Key: "other"}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("Run with a bad input = %v, want ErrInvalid", err)
		}
		if _, err := def.ByKey(t.Context(), k, "other"); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("a refused input has taken its key: %v", err)
		}
	})
}

// Bad input fails in the caller, or in the worker, with all that is wrong at once, and is not tried again. D-6, RR-003, RR-007, RR-048
func TestInputsAreValidated(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("rules", func(b *saga.Builder[string]) *saga.Node[string] {
			b.Validate(func(string) error {
				return errors.Join(saga.Invalid("name", "is empty"), saga.Invalid("age", "is below 18"))
			})
			b.Validate(func(string) error { return saga.Invalid("mail", "has no @") })
			return w.node(b, "a", b.In())
		})
		k := w.fleet(t, def)
		var e *saga.Error
		if w.Here {
			h, err := def.Run(t.Context(), k, "", saga.Options{})
			if h != nil || !errors.As(err, &e) {
				t.Fatalf("Run = %v, %v; want an error and no handle", h, err)
			}
		} else {
			h := start(t, w, def, k, "", saga.Options{})
			e = sagatest.Failed(t, h, saga.Failed, "")
			sagatest.Sequence(t, h, "unwinding", "failed")
		}
		fields := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			fields[i] = f.Field
		}
		if e.Type != "invalid" || strings.Join(fields, " ") != "name age mail" {
			t.Errorf("error %+v, want all three fields", e)
		}
		effects(t, w)
	})
}
