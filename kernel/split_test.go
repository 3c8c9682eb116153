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

// Where many outcomes wait they go in two calls side by side, each with a claim of its own; never more, each task is run once, and both claims
// together fill no more than the slots.
func TestManyOutcomesGoInTwoCallsSideBySide(t *testing.T) {
	t.Parallel()
	for split, most := range map[int]int64{0: 2, -1: 1} {
		synctest.Test(t, func(t *testing.T) {
			var now, seen, ran, active, busiest atomic.Int64
			enter := func(count, most *atomic.Int64) {
				n := count.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
			}
			st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
				if op != "Complete" {
					return do()
				}
				enter(&now, &seen)
				defer now.Add(-1)
				<-time.After(5 * time.Millisecond) // the store takes its time
				return do()
			})
			const tasks, slots = 1000, 100
			k, _ := kerneltest.StartOn(t, st, kernel.Config{SplitFrom: split}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				enter(&active, &busiest)
				defer active.Add(-1)
				<-time.After(time.Duration(1+ran.Add(1)%3) * time.Millisecond)
				return kernel.Done(nil), nil
			}})
			specs := make([]kernel.Spec, tasks)
			for i := range specs {
				specs[i] = kernel.Spec{Kind: "x"}
			}
			list, err := k.SubmitMany(t.Context(), specs)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range list {
				kerneltest.Wait(t, k, one.ID, store.Done)
			}
			if seen.Load() != most || ran.Load() != tasks || busiest.Load() > slots {
				t.Errorf("%d calls were under way at once, %d runs, up to %d of them at a time; want %d, %d, %d", seen.Load(), ran.Load(), busiest.Load(), most, tasks, slots)
			}
		})
	}
}
