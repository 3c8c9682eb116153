package endpoint

import (
	"context"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// How old a count of a queue may be: while it tells of room, and while it tells of none.
const (
	countEvery = 200 * time.Millisecond
	countFull  = 20 * time.Millisecond
)

// gauge knows about how many tasks wait in a queue: what the store counted a moment ago, and what was accepted here since.
type gauge struct {
	k     *kernel.Kernel
	queue string
	limit int

	counting sync.Mutex // held by the one that asks the store

	mu      sync.Mutex
	at      time.Time
	waiting int64 // when it was counted
	added   int64 // accepted here since
}

// full reports whether the queue takes no more. A store that cannot count does not make it full: the submit will tell.
func (g *gauge) full(ctx context.Context) bool {
	if g.limit <= 0 {
		return false
	}
	switch full, old := g.look(); {
	case !old:
		return full
	case full: // what was accepted here since may be done by now: nobody is sent away for an old count
		g.counting.Lock()
		if _, old := g.look(); old {
			g.count(ctx)
		}
		g.counting.Unlock()
	case g.counting.TryLock():
		g.count(ctx)
		g.counting.Unlock()
	}
	full, _ := g.look()
	return full
}

// look tells whether the queue seems full, and whether it must be counted anew to say so.
func (g *gauge) look() (full, old bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	age, limit := time.Since(g.at), int64(g.limit)
	if g.waiting >= limit {
		return true, age > countFull
	}
	full = g.waiting+g.added >= limit
	return full, full || age > countEvery
}

// took counts what was accepted here.
func (g *gauge) took() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.added++
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
	g.at, g.waiting, g.added = time.Now(), waiting, 0
}
