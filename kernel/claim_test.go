package kernel_test

import (
	"context"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// slowClaims is a store whose claims are never answered in time if they ask for many tasks.
type slowClaims struct {
	store.Store
	most int
}

func (s slowClaims) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	for _, q := range req.Queues {
		if q.Slots > s.most {
			return store.ClaimResult{}, context.DeadlineExceeded
		}
	}
	return s.Store.Claim(ctx, req)
}

// A process with thousands of slots fills all of them, by claims that are small enough to be answered.
func TestManySlotsAreFilledByBoundedClaims(t *testing.T) {
	t.Parallel()
	const slots = 3000
	var group sync.WaitGroup
	group.Add(slots)
	all := make(chan struct{})
	k, _ := kerneltest.StartOn(t, slowClaims{memory.New(memory.Config{}), 500}, kernel.Config{Slots: map[string]int{"default": slots}}, handlers{
		"wait": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
			group.Done()
			select {
			case <-all: // they are under way at the same time
			case <-ctx.Done():
			}
			return kernel.Outcome{}, context.Cause(ctx)
		},
	})
	specs := make([]kernel.Spec, slots)
	for i := range specs {
		specs[i] = kernel.Spec{Kind: "wait"}
	}
	started, err := k.SubmitMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	group.Wait()
	close(all)
	for _, s := range started {
		kerneltest.Wait(t, k, s.ID, store.Done)
	}
}
