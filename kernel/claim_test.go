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

// heldClaims is a store in which others hold what there is, until a time.
type heldClaims struct {
	store.Store
	until  time.Time
	claims atomic.Int64
}

func (s *heldClaims) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	s.claims.Add(1)
	if time.Now().Before(s.until) {
		return store.ClaimResult{Again: true}, nil
	}
	return s.Store.Claim(ctx, req)
}

// A worker that finds what others are about to take gives way to them, and is there soon if they did not.
func TestAClaimThatFindsWhatOthersHoldGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &heldClaims{Store: memory.New(memory.Config{}), until: time.Now().Add(900 * time.Millisecond)}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{
			"once": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil },
		})
		begin := time.Now()
		id, err := k.Submit(t.Context(), kernel.Spec{Kind: "once"})
		if err != nil {
			t.Fatal(err)
		}
		kerneltest.Wait(t, k, id.ID, store.Done)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the task ended after %v, want less than 100 ms after others let it go", took)
		}
		if n := st.claims.Load(); n > 100 {
			t.Errorf("%d claims were made in 900 ms, want a few dozen", n)
		}
	})
}
