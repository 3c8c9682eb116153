package endpoints_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// broken is a store whose Recover fails as long as it is told to.
type broken struct {
	store.Store
	left *atomic.Int64
}

func (b *broken) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	if b.left.Add(-1) >= 0 {
		return store.RecoverResult{}, errors.New("no answer")
	}
	return b.Store.Recover(ctx, req)
}

// AE-059: recovery that meets errors of the store goes on, and puts back what it finds once the store answers.
func TestRecoverySurvivesErrorsOfTheStore(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		var left atomic.Int64
		open := p.open
		p.open = func() store.Store { return &broken{open(), &left} }
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/orders", `{"item":"tea","count":1}`).Header.Get("Location")
		left.Store(5) // before the first pass: one that is under way could find the death
		p.watch(kernel.Config{RecoverEvery: 50 * time.Millisecond})
		p.die()
		p.work(Orders.Serve, kernel.Config{RecoverEvery: -1})
		if d := p.ended(location, endpoint.Completed); d.Attempt != 1 {
			t.Errorf("it was completed at attempt %d, want 1", d.Attempt)
		}
		if n := left.Load(); n >= 0 {
			t.Errorf("%d passes were still to fail, want that all have", n)
		}
	})
}

// AE-101: a worker claims what it can start; what it cannot start stays queued, for others to take.
func TestNothingIsClaimedThatCannotStart(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		var locations []string
		for range 5 {
			locations = append(locations, p.accepted("/gate", `{}`).Header.Get("Location"))
		}
		count := func() map[endpoint.State]int {
			n := map[endpoint.State]int{}
			for _, location := range locations {
				n[p.send("GET", location, "").doc.Status]++
			}
			return n
		}
		one := kernel.Config{Slots: map[string]int{"default": 1}}
		p.work(g.Serve, one)
		g.arrive(p)
		p.want(p.send("GET", locations[4]+"?wait=1s", ""), 200, "a moment later")
		if n := count(); n[endpoint.InProgress] != 1 || n[endpoint.Queued] != 4 {
			t.Errorf("with one slot it is %v, want one in progress and the rest queued", n)
		}
		p.work(g.Serve, one)
		g.arrive(p)
		if n := count(); n[endpoint.InProgress] != 2 || n[endpoint.Queued] != 3 {
			t.Errorf("with another worker it is %v, want one each in progress", n)
		}
		close(g.open)
		for _, location := range locations {
			p.ended(location, endpoint.Completed)
		}
	})
}
