package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

const (
	beat      = 12 * time.Millisecond
	deadAfter = 60 * time.Millisecond
	delay     = 2 * time.Millisecond
)

// client is one process as the store sees it: a handle, a worker, and what it believes to hold.
type client struct {
	*log
	name   string
	rand   *rand.Rand
	faults *faults
	open   func(ctx context.Context) (store.Store, error)
	cells  []*cell

	raw    store.Store     // the handle itself
	st     store.Store     // the same, with faults between
	peers  []*atomic.Value // the ids of all clients' workers
	worker string
	fallen bool // it was told that its worker is dead
	lives  int
	values int
	held   []held
	lost   []claim // whose answers never came
}

// held is a claim that the client was given, and may believe in for too long.
type held struct {
	cell  *cell
	task  int
	fence store.Fence
	wakes int64
	seq   int64
	inbox []int
}

type claim struct {
	cell  *cell
	nonce store.ID
}

// use takes a handle, and puts faults before it.
func (c *client) use(raw store.Store) { c.raw, c.st = raw, storetest.Wrap(raw, c.faults.around) }

// crash ends the handle as the end of its process would, and comes back with another one and as another worker. It remembers its
// fences: they come late now.
func (c *client) crash(ctx context.Context) error {
	c.faults.arrive() // what is under way arrives before the end
	if err := c.raw.Close(); err != nil {
		return fmt.Errorf("close a handle: %w", err)
	}
	raw, err := c.open(ctx)
	if err != nil {
		return fmt.Errorf("open a handle: %w", err)
	}
	c.use(raw)
	c.join(ctx)
	return nil
}

// id makes an id that nobody else has.
func (c *client) id() store.ID {
	var random [16]byte
	for i := range random {
		random[i] = byte(c.rand.Uint32())
	}
	return store.MakeID(time.Now(), random)
}

// value is a text that nobody else writes.
func (c *client) value() string {
	c.values++
	return fmt.Sprintf("%s.%d", c.name, c.values)
}

func (c *client) chance(n int) bool { return c.rand.IntN(n) == 0 }

// run makes calls by chance, until it has made enough.
func (c *client) run(ctx context.Context, calls int) error {
	for c.calls < calls && ctx.Err() == nil {
		if err := c.act(ctx); err != nil {
			return err
		}
	}
	c.faults.arrive()
	return ctx.Err()
}

// act is one thing that a client does.
func (c *client) act(ctx context.Context) error {
	if c.fallen && !c.chance(4) {
		c.fallen = false
		c.join(ctx)
	}
	at := c.cells[c.rand.IntN(len(c.cells))]
	task := 1 + c.rand.IntN(at.tasks)
	switch n := c.rand.IntN(100); {
	case n < 16:
		c.submit(ctx, at, task)
	case n < 38:
		c.claim(ctx, at, 1)
	case n < 58:
		c.complete(ctx)
	case n < 66:
		c.save(ctx)
	case n < 70:
		c.one(ctx, opCancel, at, task)
	case n < 76:
		c.one(ctx, opRetry, at, task)
	case n < 77:
		c.one(ctx, opFree, at, task)
	case n < 78:
		c.remove(ctx, at, task)
	case n < 83:
		c.send(ctx, at, task)
	case n < 89:
		c.one(ctx, opGet, at, task)
	case n < 91:
		c.one(ctx, opLoad, at, task)
	case n < 93:
		c.one(ctx, opMessages, at, task)
	case n < 95:
		c.beat(ctx)
	case n < 97:
		c.again(ctx)
	default:
		return c.misfortune(ctx)
	}
	return nil
}

// misfortune is what ends the life of a worker, or nearly.
func (c *client) misfortune(ctx context.Context) error {
	switch c.rand.IntN(8) {
	case 0:
		return c.crash(ctx)
	case 1:
		c.leave(ctx, c.worker)
		c.join(ctx)
	case 2: // it stands still for so long that others believe it dead, and goes on as if nothing had been
		pause(deadAfter * 2)
	case 3:
		c.recover(ctx)
	default: // somebody says for another that it has left, and what it held goes on elsewhere while it calls
		if name, ok := c.peers[c.rand.IntN(len(c.peers))].Load().(string); ok {
			c.leave(ctx, name)
		}
	}
	return nil
}

// fence is mostly one that was given lately, sometimes an old one.
func (c *client) fence() *held {
	if len(c.held) == 0 {
		return nil
	}
	last := len(c.held) - 1
	h := &c.held[last]
	if c.chance(3) {
		h = &c.held[c.rand.IntN(last+1)]
	}
	return h
}

// forget drops a fence once it was used, most of the time.
func (c *client) forget(h *held) {
	if c.chance(3) {
		return
	}
	for i := range c.held {
		if &c.held[i] == h {
			c.held = append(c.held[:i], c.held[i+1:]...)
			return
		}
	}
}

func (c *client) remember(h held) {
	if c.held = append(c.held, h); len(c.held) > 8 {
		c.held = c.held[1:]
	}
}
