package kernel_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

// Callers who are a round trip away come back later than those in the process: they make up one batch all the same, not two that take turns.
func TestCallersFromElsewhereAreGatheredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
			if op == "Submit" {
				calls.Add(1)
				<-time.After(8 * time.Millisecond)
			}
			return do()
		})
		k := kerneltest.New(t, st, kernel.Config{})
		const callers, turns = 16, 50
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				<-time.After(time.Duration(i) * 100 * time.Microsecond) // those who come first would be a batch of their own for ever
				for range turns {
					submit(t, k, kernel.Spec{Kind: "x"})
					<-time.After(time.Millisecond)
				}
			})
		}
		group.Wait()
		if n := calls.Load(); n > turns+5 {
			t.Errorf("%d tasks of %d callers went in %d calls, want about %d", callers*turns, callers, n, turns)
		}
		// Who is alone waits for nobody.
		<-time.After(time.Second)
		submit(t, k, kernel.Spec{Kind: "x"})
		begun := time.Now()
		submit(t, k, kernel.Spec{Kind: "x"})
		if took := time.Since(begun); took != 8*time.Millisecond {
			t.Errorf("a lone submit took %v, want no more than the store takes", took)
		}
	})
}
