package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

// slow makes each Complete of a store take a while.
func slow(st store.Store, d time.Duration) store.Store {
	return storetest.Wrap(st, func(_ context.Context, op string, do func() error) error {
		if op == "Complete" {
			<-time.After(d)
		}
		return do()
	})
}

// A store that is slower than the handlers is given no more than the slots and a call: what is claimed does not pile up in the process.
func TestOutcomesThatWaitKeepTheirSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots, tasks = 1000, 5000
		var begun, most atomic.Int64
		mem := memory.New(memory.Config{})
		var k *kernel.Kernel
		k, _ = kerneltest.StartOn(t, slow(mem, 20*time.Millisecond), kernel.Config{Slots: map[string]int{"default": slots}}, handlers{
			"x": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
				if begun.Add(1)%500 == 0 {
					workers, err := mem.Workers(ctx)
					if err != nil {
						return kernel.Outcome{}, err
					}
					held, err := mem.Holds(ctx, workers[0].ID)
					if err != nil {
						return kernel.Outcome{}, err
					}
					most.Store(max(most.Load(), int64(len(held))))
				}
				return kernel.Done(nil), nil
			},
		})
		submitAll(t, k, tasks, kernel.Spec{Kind: "x"})
		kerneltest.Drain(t, k)
		if n := most.Load(); begun.Load() != tasks || n > slots+2*256 {
			t.Errorf("%d of %d tasks ran, and up to %d were held at a time; there are %d slots", begun.Load(), tasks, n, slots)
		}
	})
}

// The outcome of a queue of which few wait goes with the next call, however many of another one came before it.
func TestFewOutcomesDoNotWaitForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many, call = 4000, 10 * time.Millisecond
		open := make(chan struct{})
		var begun atomic.Int64
		k, _ := kerneltest.StartOn(t, slow(memory.New(memory.Config{}), call), kernel.Config{Slots: map[string]int{"many": many, "few": 1}}, handlers{
			"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				begun.Add(1)
				<-open
				return kernel.Done(nil), nil
			},
			"late": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				<-open
				<-time.After(time.Millisecond)
				return kernel.Done(nil), nil
			},
		})
		submitAll(t, k, many, kernel.Spec{Kind: "x", Queue: "many"})
		few := submitAll(t, k, 1, kernel.Spec{Kind: "late", Queue: "few"})
		for begun.Load() < many {
			<-time.After(time.Millisecond)
		}
		at := time.Now()
		close(open)
		kerneltest.Wait(t, k, few, store.Done)
		if took := time.Since(at); took > 4*call {
			t.Errorf("the outcome was written after %v, want with the second call of %v", took, call)
		}
		kerneltest.Drain(t, k)
		if took := time.Since(at); took < 6*call {
			t.Errorf("all were written after %v: too soon to tell", took)
		}
	})
}
