package endpoint

import (
	"context"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// countEvery is how old a count of a queue may be.
const countEvery = 200 * time.Millisecond

// gauge knows about how many tasks wait in a queue: what the store counted a moment ago, and what was accepted here since.
type gauge struct {
	k     *kernel.Kernel
	queue string
	limit int

	counting sync.Mutex // held by the one that asks the store

	mu      sync.Mutex
	at      time.Time
	waiting int64
}

// full reports whether the queue takes no more. A store that cannot count does not make it full: the submit will tell.
func (g *gauge) full(ctx context.Context) bool {
	if g.limit <= 0 {
		return false
	}
	g.mu.Lock()
	old := time.Since(g.at) > countEvery
	g.mu.Unlock()
	if old && g.counting.TryLock() {
		g.count(ctx)
		g.counting.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting >= int64(g.limit)
}

// took counts what was accepted here.
func (g *gauge) took() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
}

func (g *gauge) count(ctx context.Context) {
	queues, err := g.k.Queues(ctx)
	if err != nil {
		return
	}
	var waiting int64
	for _, q := range queues {
		if q.Queue == g.queue {
			waiting = q.Ready + q.Scheduled
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.waiting = time.Now(), waiting
}
