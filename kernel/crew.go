package kernel

import (
	"context"
	"sync"
	"time"
)

// crew is the goroutines that a kernel has started. Who starts one through it can wait for all of them.
type crew struct {
	env  Env
	idle Signal

	mu    sync.Mutex
	count int
}

func newCrew(env Env) *crew { return &crew{env: env, idle: env.NewSignal()} }

// Go runs fn as a member of the crew.
func (c *crew) Go(fn func()) {
	c.enter()
	c.env.Go(func() {
		defer c.leave()
		fn()
	})
}

func (c *crew) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
}

func (c *crew) leave() {
	c.mu.Lock()
	c.count--
	c.mu.Unlock()
	c.idle.Notify()
}

func (c *crew) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Wait blocks until nobody is left (true), or ctx has ended or d has passed (false). A negative d means no time limit.
func (c *crew) Wait(ctx context.Context, d time.Duration) bool {
	end := c.env.Now().Add(d)
	for c.size() > 0 {
		rest := time.Duration(-1)
		if d >= 0 {
			if rest = end.Sub(c.env.Now()); rest <= 0 {
				return false
			}
		}
		if !c.idle.Wait(ctx, rest) && ctx.Err() != nil {
			return false
		}
	}
	return true
}
