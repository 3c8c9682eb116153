package sagas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

type decision struct{ By string }

var approve = saga.NewSignal[decision]("approve").Validate(func(d decision) error {
	if d.By == "" {
		return errors.New("nobody has decided")
	}
	return nil
})

func waits(w *World, with func(*saga.Node[decision])) *saga.Def[string, decision] {
	return saga.Define("waits", func(b *saga.Builder[string]) *saga.Node[decision] {
		a := w.node(b, "a", b.In())
		ok := saga.Wait(b, approve).After(a)
		if with != nil {
			with(ok)
		}
		return ok
	})
}

// A signal may come early, twice, late, refused: the first one wins, the others are told. FT-22, RR-100, RR-101, RR-103, RR-106
func TestSignals(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := waits(w, nil)
		k := w.fleet(t, def)
		h, err := def.Start(t.Context(), k, "", saga.Options{Delay: w.Of(5 * time.Minute), Key: "order-42"})
		if err != nil {
			t.Fatal(err)
		}
		if err := approve.Send(t.Context(), k, h.ID(), decision{}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("a refused value = %v, want ErrInvalid", err)
		}
		if err := saga.NewSignal[int]("other").Send(t.Context(), k, h.ID(), 1); err != nil {
			t.Errorf("a signal for nobody = %v, want it kept", err)
		}
		if err := saga.SendByKey(t.Context(), k, def, "order-42", approve, decision{"early"}); err != nil {
			t.Errorf("an early signal = %v, want nil", err)
		}
		if err := approve.Send(t.Context(), k, h.ID(), decision{"second"}); !errors.Is(err, saga.ErrNotWaiting) {
			t.Errorf("a second signal = %v, want ErrNotWaiting", err)
		}
		sagatest.Completed(t, h, decision{"early"})
		if err := approve.Send(t.Context(), k, h.ID(), decision{"late"}); !errors.Is(err, saga.ErrNotWaiting) {
			t.Errorf("a late signal = %v, want ErrNotWaiting", err)
		}
		sagatest.Sequence(t, h, "done a", "waiting approve", "done approve", "completed")
		if err := saga.SendByKey(t.Context(), k, def, "no such", approve, decision{"x"}); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("a signal to an unknown key = %v, want ErrNotFound", err)
		}
	})
}

// Many senders at once: one is told that it has won, and its value is the one that is seen. RR-106
func TestOneOfManySendersWins(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := waits(w, nil)
		k := w.fleet(t, def)
		h := start(t, w, def, k, "", saga.Options{})
		var mu sync.Mutex
		var winners []string
		var senders sync.WaitGroup
		for i := range 10 {
			senders.Go(func() {
				by := fmt.Sprint(i)
				err := approve.Send(t.Context(), k, h.ID(), decision{by})
				if err != nil && !errors.Is(err, saga.ErrNotWaiting) {
					t.Errorf("Send = %v", err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					winners = append(winners, by)
				}
			})
		}
		senders.Wait()
		v, err := def.Handle(k, h.ID()).Wait(t.Context())
		if err != nil || len(winners) != 1 || winners[0] != v.By {
			t.Errorf("Wait = %+v, %v; told that they won: %q", v, err, winners)
		}
	})
}

// Waiting ends in time: as a failure, or with a value. RR-110
func TestAWaitEndsInTime(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := waits(w, func(n *saga.Node[decision]) { n.Timeout(w.Of(2 * time.Minute)) })
		h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
		if e := sagatest.Failed(t, h, saga.Failed, "approve"); e.Type != "timeout" {
			t.Errorf("error %+v, want the type timeout", e)
		}
		sagatest.Sequence(t, h, "done a", "waiting approve", "failed approve", "unwinding", "undone a", "failed")
		w.store = nil
		def = waits(w, func(n *saga.Node[decision]) { n.Timeout(w.Of(2 * time.Minute)).OnTimeout(decision{"nobody"}) })
		h = start(t, w, def, w.fleet(t, def), "", saga.Options{})
		sagatest.Completed(t, h, decision{"nobody"})
	})
}

// A saga sleeps without a slot, and two waits at once end each by itself. RR-108
func TestSleepAndSeveralWaits(t *testing.T) {
	t.Parallel()
	first, second := saga.NewSignal[string]("first"), saga.NewSignal[string]("second")
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("several", func(b *saga.Builder[string]) *saga.Node[string] {
			one, two := saga.Wait(b, first), saga.Wait(b, second)
			nap := saga.Sleep(b, "nap", w.Of(10*time.Minute))
			return saga.Step2(b, "both", func(_ context.Context, x, y string) (string, error) { return x + y, nil }, one, two).After(nap)
		})
		k := w.fleet(t, def)
		begin := time.Now()
		h := start(t, w, def, k, "", saga.Options{})
		await(t, w, h, saga.Waiting, "waiting nap")
		if err := second.Send(t.Context(), k, h.ID(), "2"); err != nil {
			t.Fatal(err)
		}
		await(t, w, h, saga.Waiting, "done second")
		if err := first.Send(t.Context(), k, h.ID(), "1"); err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, def.Handle(k, h.ID()), "12")
		if took := time.Since(begin); took < w.Of(10*time.Minute) {
			t.Errorf("took %v, want ten minutes", took)
		}
		sagatest.Sequence(t, h, "waiting first", "waiting second", "waiting nap", "done second", "done first", "done nap", "done both", "completed")
	})
}

// packs is a saga of two steps, for maps and calls.
func packs(w *World, name string) *saga.Def[string, string] {
	return saga.Define(name, func(b *saga.Builder[string]) *saga.Node[string] {
		take := saga.Step1(b, "take", func(ctx context.Context, s string) (string, error) {
			return s, w.call(ctx, "take "+s)
		}, b.In()).Undo(func(ctx context.Context, s string) error { return w.call(ctx, "undo take "+s) })
		return saga.Step1(b, "wrap", func(ctx context.Context, s string) (string, error) {
			return "<" + s + ">", w.call(ctx, "wrap "+s)
		}, take).Undo(func(ctx context.Context, s string) error { return w.call(ctx, "undo wrap "+s[1:len(s)-1]) })
	})
}

func maps(w *World, async bool, portion int) *saga.Def[[]string, []string] {
	return saga.Define("maps", func(b *saga.Builder[[]string]) *saga.Node[[]string] {
		m := saga.Map(b, "pack", b.In(), packs(w, "packs"))
		if async {
			m.Async("packers")
			if portion > 0 {
				m.Portions(portion)
			}
		}
		return saga.Step1(b, "last", func(ctx context.Context, l []string) ([]string, error) { return l, w.call(ctx, "last") }, m)
	})
}

// A map keeps order and values; rolled back, its elements are undone from the last to the first. RR-080, RR-081, RR-085, RR-091, RR-092, RR-093
func TestMapInsideTheRun(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := maps(w, false, 0)
		k := w.fleet(t, def)
		sagatest.Completed(t, start(t, w, def, k, []string{"x", "y", "z"}, saga.Options{}), []string{"<x>", "<y>", "<z>"})
		sagatest.Completed(t, start(t, w, def, k, []string{}, saga.Options{}), []string{})
		w.effects = nil
		w.Fail("last", -1, errNo)
		h := start(t, w, def, k, []string{"x", "y"}, saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "last")
		sagatest.Sequence(t, h, "done pack/0/take", "done pack/0/wrap", "done pack/1/take", "done pack/1/wrap", "failed last", "unwinding",
			"undone pack/1/wrap", "undone pack/1/take", "undone pack/0/wrap", "undone pack/0/take", "failed")
		w.effects = nil
		w.Fail("wrap y", -1, errNo)
		h = start(t, w, def, k, []string{"x", "y", "z"}, saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "pack/1/wrap")
		effects(t, w, "take x", "wrap x", "take y", "wrap y", "undo take y", "undo wrap x", "undo take x")
	})
}

// A map spread over workers: in portions, failing fast, undone from the last to the first. RR-083, RR-084, RR-087
func TestMapOverWorkers(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := maps(w, true, 2)
		k := w.fleet(t, def)
		sagatest.Completed(t, start(t, w, def, k, []string{"v", "w", "x", "y", "z"}, saga.Options{}), []string{"<v>", "<w>", "<x>", "<y>", "<z>"})
		sagatest.Completed(t, start(t, w, def, k, []string{}, saga.Options{}), []string{})
		w.effects = nil
		w.Fail("last", 1, errNo)
		h := start(t, w, def, k, []string{"x", "y", "z"}, saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "last")
		sagatest.Sequence(t, h, "sent pack", "sent pack", "done pack", "failed last", "unwinding",
			"undo sent pack/2", "undone pack/2", "undo sent pack/1", "undone pack/1", "undo sent pack/0", "undone pack/0", "failed")
		if got := w.Effects(); !slices.Equal(got[len(got)-6:], []string{"undo wrap z", "undo take z", "undo wrap y", "undo take y", "undo wrap x", "undo take x"}) {
			t.Errorf("undone in the order %q", got)
		}
		w.effects = nil
		w.Fail("wrap x", 1, errNo)
		h = start(t, w, def, k, []string{"x", "y", "z"}, saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "pack")
		got := w.Effects()
		if slices.Contains(got, "take z") || slices.Contains(got, "last") || !slices.Contains(got, "undo take x") ||
			slices.Contains(got, "wrap y") != slices.Contains(got, "undo wrap y") {
			t.Errorf("calls %q; want no third element, and what was done undone", got)
		}
	})
}

// A map that goes on when elements fail tells what became of each. RR-082
func TestMapEach(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		each := func(async bool) *saga.Def[[]string, []saga.Result[string]] {
			return saga.Define(fmt.Sprintf("each-%v", async), func(b *saga.Builder[[]string]) *saga.Node[[]saga.Result[string]] {
				if async {
					return saga.MapEach(b, "m", b.In(), packs(w, "packs")).Async("packers")
				}
				return saga.MapEach(b, "m", b.In(), saga.Each("one", func(ctx context.Context, s string) (string, error) {
					return "<" + s + ">", w.call(ctx, "wrap "+s)
				}))
			})
		}
		for _, async := range []bool{false, true} {
			w.store = nil
			def := each(async)
			k := w.fleet(t, def)
			w.Fail("wrap y", 1, errNo)
			v, err := start(t, w, def, k, []string{"x", "y", "z"}, saga.Options{}).Wait(t.Context())
			if err != nil || len(v) != 3 || v[0].Value != "<x>" || v[1].Err != "says no" || v[1].Value != "" || v[2].Value != "<z>" {
				t.Errorf("async %v: %+v, %v; want two values and an error", async, v, err)
			}
		}
		if got := w.Effects(); !slices.Contains(got, "undo take y") {
			t.Errorf("calls %q; want the failed element undone by itself", got)
		}
	})
}

// A saga inside a saga: saved with it, undone by its own undos, waiting inside it. RR-064, RR-071, RR-111, RR-140
func TestCall(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		inner := saga.Define("inner", func(b *saga.Builder[string]) *saga.Node[string] {
			x := w.node(b, "x", b.In()).Async("q")
			ok := saga.Wait(b, approve).After(x)
			return w.node(b, "y", x).After(ok).Retry(2, saga.Fixed(w.Of(time.Second)))
		})
		def := saga.Define("outer", func(b *saga.Builder[string]) *saga.Node[string] {
			a := w.node(b, "a", b.In())
			c := saga.Call(b, "call", inner, a)
			return w.node(b, "z", c)
		})
		k := w.fleet(t, def)
		run := func() *saga.Handle[string] {
			h := start(t, w, def, k, "", saga.Options{})
			await(t, w, h, saga.Waiting, "waiting call/approve")
			if err := approve.Send(t.Context(), k, h.ID(), decision{"me"}); err != nil {
				t.Fatal(err)
			}
			return def.Handle(k, h.ID())
		}
		w.Fail("y", 1, errNo)
		h := run()
		sagatest.Completed(t, h, "axyz")
		events := []string{"done a", "sent call/x", "done call/x", "waiting call/approve", "done call/approve"}
		sagatest.Sequence(t, h, slices.Concat(events, []string{"failed call/y", "done call/y", "done z", "completed"})...)
		w.Fail("z", 1, errNo)
		h = run()
		sagatest.Failed(t, h, saga.Failed, "z")
		sagatest.Sequence(t, h, slices.Concat(events, []string{
			"done call/y", "failed z", "unwinding", "compensated z",
			"undone call/y", "undo sent call/x", "undone call/x", "undone a", "failed",
		})...)
	})
}

// The rules of a saga inside another are asked before its first step, and its errors keep their shape. RR-140
func TestTheRulesOfACalledSaga(t *testing.T) {
	t.Parallel()
	for _, async := range []bool{false, true} {
		On(t, func(t *testing.T, w *World) {
			inner := saga.Define("inner", func(b *saga.Builder[string]) *saga.Node[string] {
				b.Validate(func(s string) error {
					if s == "bad" {
						return saga.Invalid("text", "is bad")
					}
					return nil
				})
				return w.node(b, "x", b.In())
			})
			def := saga.Define("outer", func(b *saga.Builder[string]) *saga.Node[[]string] {
				a := saga.Step1(b, "a", func(context.Context, string) ([]string, error) { return []string{"bad"}, nil }, b.In()).
					Undo(func(ctx context.Context, _ []string) error { return w.call(ctx, "undo a") })
				m := saga.Map(b, "m", a, inner)
				if async {
					m.Async("q")
				}
				return m
			})
			h := start(t, w, def, w.fleet(t, def), "", saga.Options{})
			e := sagatest.Failed(t, h, saga.Failed, "m")
			if !strings.Contains(e.Message, "text: is bad") || !async && (e.Type != "invalid" || len(e.Fields) != 1) {
				t.Errorf("error %+v, want the field", e)
			}
			effects(t, w, "undo a")
		})
	}
}
