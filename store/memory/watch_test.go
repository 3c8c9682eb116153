package memory_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// A reader that is busy while a thousand tasks come is told of each when it looks again.
func TestAReaderThatFallsBehindMissesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		busy, told := make(chan struct{}), map[store.ID]bool{}
		var group sync.WaitGroup
		group.Go(func() {
			_ = s.Watch(ctx, "", nil, func(n store.Notice) {
				<-busy
				told[n.Task] = true
			})
		})
		synctest.Wait()
		const tasks = 1000
		for i := range tasks {
			spec := store.Spec{ID: store.ID{1, byte(i), byte(i >> 8)}, Kind: "x", Queue: "q"}
			s.Follow(spec.ID)
			if _, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
				t.Fatal(err)
			}
		}
		close(busy)
		synctest.Wait()
		cancel()
		group.Wait()
		if n := len(told) - 1; n != tasks { // the start is of no task
			t.Errorf("told of %d tasks, want %d", n, tasks)
		}
	})
}
