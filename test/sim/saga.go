package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// order is what the sagas of the simulation are asked for.
type order struct{ Fails bool }

var errSoldOut = errors.New("sold out")

// approval is the signal that one of the sagas waits for.
var approval = saga.NewSignal[string]("approval")

func take(context.Context, order) (string, error)        { return "taken", nil }
func putBack(context.Context, string) error              { return nil }
func payFor(_ context.Context, took string) (int, error) { return len(took), nil }
func refund(context.Context, int) error                  { return nil }
func ship(_ context.Context, o order) (string, error) {
	if o.Fails {
		return "", saga.Permanent(errSoldOut)
	}
	return "shipped", nil
}

var (
	orders = saga.Define("order", func(b *saga.Builder[order]) *saga.Node[string] {
		took := saga.Step1(b, "take", take, b.In()).Undo(putBack)
		paid := saga.Step1(b, "pay", payFor, took).Undo(refund)
		return saga.Step1(b, "ship", ship, b.In()).After(paid)
	})
	handed = saga.Define("handed", func(b *saga.Builder[order]) *saga.Node[string] {
		took := saga.Step1(b, "take", take, b.In()).Undo(putBack)
		paid := saga.Step1(b, "pay", payFor, took).Async(kernel.DefaultQueue).Undo(refund)
		return saga.Step1(b, "ship", ship, b.In()).After(paid)
	})
	awaited = saga.Define("awaited", func(b *saga.Builder[order]) *saga.Node[string] {
		took := saga.Step1(b, "take", take, b.In()).Undo(putBack)
		rest := saga.Sleep(b, "rest", 50*time.Millisecond).After(took)
		ok := saga.Wait(b, approval).After(rest)
		return saga.Step1(b, "ship", ship, b.In()).After(ok)
	})
)

// sagas are those scenarios that package saga drives.
var sagas = []scenario{
	{"saga", orderIs(orders, order{}, "done take, done pay, done ship, completed")},
	{"saga, undone", orderIs(orders, order{Fails: true}, "done take, done pay, failed ship, unwinding, undone pay, undone take, failed")},
	{"saga, handed on", orderIs(handed, order{}, "done take, sent pay, done pay, done ship, completed")},
	{"saga, handed on, undone", orderIs(handed, order{Fails: true},
		"done take, sent pay, done pay, failed ship, unwinding, undo sent pay, undone pay, undone take, failed")},
	{"saga, signalled", orderIs(awaited, order{}, "done take, waiting rest, done rest, waiting approval, done approval, done ship, completed")},
}

// serveSagas lets a worker run them.
func serveSagas(k *kernel.Kernel) {
	orders.Serve(k)
	handed.Serve(k)
	awaited.Serve(k)
}

// orderIs starts a saga, waits for its end, and compares what is on record of it, event by event.
func orderIs(def *saga.Def[order, string], in order, want string) func(w *workload) {
	return func(w *workload) {
		id := w.id()
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			_, err := def.Start(ctx, k, in, saga.Options{ID: id})
			return err
		})
		if def == awaited {
			w.then(200*ms, func(ctx context.Context, k *kernel.Kernel) error {
				if err := approval.Send(ctx, k, id, "yes"); !errors.Is(err, saga.ErrNotWaiting) { // it was sent before
					return err
				}
				return nil
			})
		}
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			h := def.Handle(k, id)
			if _, err := h.Wait(ctx); err != nil && !errors.Is(err, saga.ErrFailed) {
				return err
			}
			s, err := h.Status(ctx)
			if err != nil {
				return err
			}
			if got := told(s); got != want {
				w.s.fail("S1", "the saga went %q, want %q", got, want)
			}
			return nil
		})
	}
}

// told is what a saga has on record, in its order.
func told(s saga.Status) string {
	var events []string
	for _, e := range s.Timeline {
		events = append(events, strings.TrimSpace(e.Kind+" "+e.Step))
	}
	return strings.Join(slices.Compact(events), ", ")
}
