package kernel

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// gather lets calls that arrive together go to the store together. A lone call does not wait for company: it is under way
// at once, and what arrives meanwhile makes up the next batch. Where many arrive they go in two batches at once, if that is allowed: while
// the store works on one, this process works on what the other has brought. Each caller returns when its own item is answered.
type gather[I, O any] struct {
	env   Env
	crew  *crew
	limit int
	// split is how many items go in two batches side by side. 0: one batch at a time.
	split int
	// flush answers each item in its place. It blocks until the answer is known, or will never be.
	flush func(items []I) []O
	// of tells what an item is of. Where more wait than a batch takes, those of which there are few do not wait for those of which
	// there are many. Nil: they go in the order they came.
	of func(item I) string
	// full is notified when all are there that may come back from the last batch. Nil: none waits for them.
	full Signal

	mu     sync.Mutex
	flying int // how many batches are under way, or about to be
	last   int // how many items the last batch had
	want   int // how many there are if those of it come back
	queue  queue[*ticket[I, O]]
}

type ticket[I, O any] struct {
	item   I
	of     string
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
	t.of = g.name(item)
	g.queue.push(t.of, t)
	if g.flying == 0 || g.splits() {
		g.flying++
		g.crew.Go(g.drain)
	}
	full := g.full != nil && g.queue.len() == g.want
	g.mu.Unlock()
	if full {
		g.full.Notify()
	}
	for {
		t.signal.Wait(ctx, -1)
		g.mu.Lock()
		if t.done {
			g.mu.Unlock()
			return t.answer, nil
		}
		if ctx.Err() != nil {
			taken := t.taken
			g.queue.drop(t.of, t)
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

func (g *gather[I, O]) name(item I) string {
	if g.of == nil {
		return ""
	}
	return g.of(item)
}

// splits reports whether a second batch should go now. g.mu is held.
func (g *gather[I, O]) splits() bool { return g.split > 0 && g.flying == 1 && g.queue.len() >= g.split }

// waits reports whether items are there that were not taken: a flush of them follows, by itself.
func (g *gather[I, O]) waits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.len() > 0
}

// crowded reports whether more wait than the next batch takes.
func (g *gather[I, O]) crowded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.len() >= g.limit
}

// drain flushes batch after batch until nothing waits. Those who were answered together come back together: they are let go
// first, so that they make up one batch and not two, of the quickest and of all others. A lone caller waits for nobody.
func (g *gather[I, O]) drain() {
	for took := time.Duration(0); ; {
		g.rejoin(took)
		g.mu.Lock()
		if g.queue.len() == 0 {
			g.flying--
			g.mu.Unlock()
			return
		}
		n := min(g.queue.len(), g.limit)
		if g.splits() {
			n = (n + 1) / 2
			g.flying++
			g.crew.Go(g.drain)
		}
		g.last = n
		batch := g.queue.take(n)
		items := make([]I, n)
		for i, t := range batch {
			t.taken = true
			items[i] = t.item
		}
		g.mu.Unlock()
		begun := g.env.Now()
		answers := g.flush(items)
		took = g.env.Now().Sub(begun)
		g.mu.Lock()
		for i, t := range batch {
			t.answer, t.done = answers[i], true
		}
		g.want = g.queue.len() + n
		g.mu.Unlock()
		for _, t := range batch {
			t.signal.Notify()
		}
	}
}

// rejoin lets those who were answered together come back, if there were several. Where full is set it waits for them: until all are there, until no more
// come, or for half of the time that their batch took, as a second batch would cost all of it.
func (g *gather[I, O]) rejoin(took time.Duration) {
	g.mu.Lock()
	lone := g.last <= 1
	g.mu.Unlock()
	if lone {
		return
	}
	runtime.Gosched()
	if g.full == nil || took < rejoinLeast {
		return
	}
	rest := min(took/2, rejoinMost)
	before := -1 // how many there were at the last look, once one has come back
	for part := rest / rejoinParts; rest > 0; rest -= part {
		g.mu.Lock()
		n, want, last := g.queue.len(), g.want, g.last
		g.mu.Unlock()
		if n >= want || n == before {
			return
		}
		if n > want-last {
			before = n
		}
		g.full.Wait(context.Background(), part)
	}
}

// A batch waits for those of the last one if that took rejoinLeast, for at most rejoinMost, and looks in so many parts of its time whether more come.
const (
	rejoinLeast = time.Millisecond
	rejoinMost  = 2 * time.Millisecond
	rejoinParts = 4
)
