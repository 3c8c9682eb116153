package sagas

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

type money struct {
	Cents    int
	Currency string
}

// A definition that says how to read what an older one has stored goes on with its sagas, forward and backward. RR-050
func TestAMigrationReadsWhatWasStored(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		old := saga.Define("priced", func(b *saga.Builder[string]) *saga.Node[int] {
			total := saga.Step1(b, "total", func(ctx context.Context, _ string) (int, error) { return 995, w.call(ctx, "total") }, b.In())
			return saga.Step1(b, "last", func(_ context.Context, n int) (int, error) { return n, nil }, total).After(saga.Wait(b, goOn).After(total))
		})
		undone := make(chan money, 9)
		changed := saga.Define("priced", func(b *saga.Builder[[]string]) *saga.Node[string] {
			saga.MigrateIn(b, func(s string) ([]string, error) { return strings.Split(s, ","), nil })
			total := saga.Step1(b, "total", func(context.Context, []string) (money, error) { return money{}, errNo }, b.In()).
				Undo(func(_ context.Context, m money) error { undone <- m; return nil })
			saga.Migrate(total, func(cents int) (money, error) { return money{cents, "EUR"}, nil })
			return saga.Step2(b, "last", func(ctx context.Context, m money, in []string) (string, error) {
				return fmt.Sprintf("%d %s for %d", m.Cents, m.Currency, len(in)), w.call(ctx, "last")
			}, total, b.In()).After(saga.Wait(b, goOn).After(total))
		})
		w.fresh(t)
		k, stop := w.worker(t, old)
		good, bad := start(t, w, old, k, "a,b", saga.Options{}), start(t, w, old, k, "c", saga.Options{})
		await(t, w, good, saga.Waiting, "waiting go-on")
		await(t, w, bad, saga.Waiting, "waiting go-on")
		_ = stop()
		k = w.fleet(t, changed)
		if err := goOn.Send(t.Context(), k, good.ID(), 1); err != nil {
			t.Fatal(err)
		}
		h := changed.Handle(k, good.ID())
		sagatest.Completed(t, h, "995 EUR for 2")
		sagatest.Sequence(t, h, "done total", "waiting go-on", "done go-on", "done last", "completed")
		w.Fail("last", -1, errNo)
		if err := goOn.Send(t.Context(), k, bad.ID(), 1); err != nil {
			t.Fatal(err)
		}
		h = changed.Handle(k, bad.ID())
		sagatest.Failed(t, h, saga.Failed, "last")
		if len(undone) != 1 || <-undone != (money{995, "EUR"}) {
			t.Error("the undo did not get the migrated result, once")
		}
	})
}

// A migration from what looks the same is refused, as nobody could tell them apart; so is none at all.
func TestAMigrationThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	_, err := saga.TryDefine("wrong", func(b *saga.Builder[string]) *saga.Node[int] {
		saga.MigrateIn[int](b, nil)
		saga.MigrateIn(b, func(s string) (string, error) { return s, nil })
		n := saga.Step1(b, "n", func(context.Context, string) (int, error) { return 1, nil }, b.In())
		saga.Migrate[string](n, nil)
		return saga.Migrate(n, func(i int64) (int, error) { return int(i), nil })
	})
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("TryDefine = %v, want four faults", err)
	}
}

type six struct{ A, B, C, D, E, F string }

// A step that takes more than four values takes a struct, and comes after all of them.
func TestAStepTakesAsManyValuesAsItNeeds(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		def := saga.Define("six", func(b *saga.Builder[string]) *saga.Node[string] {
			a, bb := w.node(b, "a", b.In()), w.node(b, "b", b.In())
			c, d := w.node(b, "c", b.In()).Async("q"), w.node(b, "d", b.In())
			return saga.StepWith(b, "all", func(_ context.Context, s six) (string, error) { return s.A + s.B + s.C + s.D + s.E + s.F, nil },
				saga.Set(a, func(s *six, v string) { s.A = v }), saga.Set(bb, func(s *six, v string) { s.B = v }),
				saga.Set(c, func(s *six, v string) { s.C = v }), saga.Set(d, func(s *six, v string) { s.D = v }),
				saga.Set(b.In(), func(s *six, v string) { s.E = v }), saga.Set(saga.Const(7), func(s *six, v int) { s.F = fmt.Sprint(v) }))
		})
		h := start(t, w, def, w.fleet(t, def), "-", saga.Options{})
		sagatest.Completed(t, h, "-a-b-c-d-7")
	})
}
