package kernel

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// gather lets calls that arrive together go to the store together. A lone call does not wait for company: it is under way
// at once, and what arrives meanwhile makes up the next batch. Each caller returns when its own item is answered.
type gather[I, O any] struct {
	env   Env
	crew  *crew
	limit int
	// flush answers each item in its place. It blocks until the answer is known, or will never be.
	flush func(items []I) []O

	mu      sync.Mutex
	busy    bool
	company bool // the last batch had more than one item
	queue   []*ticket[I, O]
}

type ticket[I, O any] struct {
	item   I
	answer O
	done   bool
	taken  bool
	signal Signal
}

// do hands an item over and waits for its answer. If ctx ends before the item was taken, it never will be; after that the
// error says that the write is in doubt.
func (g *gather[I, O]) do(ctx context.Context, item I) (O, error) {
	t := &ticket[I, O]{item: item, signal: g.env.NewSignal()}
	g.mu.Lock()
	g.queue = append(g.queue, t)
	if !g.busy {
		g.busy = true
		g.crew.Go(g.drain)
	}
	g.mu.Unlock()
	for {
		t.signal.Wait(ctx, -1)
		g.mu.Lock()
		if t.done {
			g.mu.Unlock()
			return t.answer, nil
		}
		if ctx.Err() != nil {
			taken := t.taken
			g.drop(t)
			g.mu.Unlock()
			var none O
			if taken {
				return none, errors.Join(ErrInDoubt, context.Cause(ctx))
			}
			return none, context.Cause(ctx)
		}
		g.mu.Unlock()
	}
}

// drop takes a ticket out of the queue, if it still waits there.
func (g *gather[I, O]) drop(t *ticket[I, O]) {
	for i, q := range g.queue {
		if q == t {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			return
		}
	}
}

// drain flushes batch after batch until nothing waits. Those who were answered together come back together: they are let go
// first, so that they make up one batch and not two, of the quickest and of all others. A lone caller waits for nobody.
func (g *gather[I, O]) drain() {
	for {
		g.mu.Lock()
		if g.company {
			g.mu.Unlock()
			runtime.Gosched()
			g.mu.Lock()
		}
		if len(g.queue) == 0 {
			g.busy = false
			g.mu.Unlock()
			return
		}
		n := min(len(g.queue), g.limit)
		g.company = n > 1
		batch := g.queue[:n:n]
		g.queue = g.queue[n:]
		items := make([]I, n)
		for i, t := range batch {
			t.taken = true
			items[i] = t.item
		}
		g.mu.Unlock()
		answers := g.flush(items)
		g.mu.Lock()
		for i, t := range batch {
			t.answer, t.done = answers[i], true
		}
		g.mu.Unlock()
		for _, t := range batch {
			t.signal.Notify()
		}
	}
}
