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

// Where many outcomes wait they go in two calls side by side, each with a claim of its own; never more, and each task is run once.
func TestManyOutcomesGoInTwoCallsSideBySide(t *testing.T) {
	t.Parallel()
	for split, most := range map[int]int64{0: 2, -1: 1} {
		synctest.Test(t, func(t *testing.T) {
			var now, seen, ran atomic.Int64
			st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
				if op != "Complete" {
					return do()
				}
				n := now.Add(1)
				for old := seen.Load(); n > old && !seen.CompareAndSwap(old, n); old = seen.Load() {
				}
				<-time.After(5 * time.Millisecond) // the store takes its time
				defer now.Add(-1)
				return do()
			})
			const tasks = 1000
			k, _ := kerneltest.StartOn(t, st, kernel.Config{SplitFrom: split}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				ran.Add(1)
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
			if seen.Load() != most || ran.Load() != tasks {
				t.Errorf("%d calls were under way at once, %d runs; want %d, %d", seen.Load(), ran.Load(), most, tasks)
			}
		})
	}
}
