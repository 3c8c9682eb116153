package sim

import (
	"context"
	"time"
)

// simContext is a context whose end is an event of the scheduler. It ends its descendants, and wakes whoever waits under it,
// in the order in which they came: the standard library's would walk a map.
//
// Its inner context is one of the standard library's that is cancelled with it: it supplies Done, and context.Cause finds it. It is made
// when somebody asks for either.
type simContext struct {
	proc     *process
	parent   context.Context //nolint:containedctx // it is a context
	inner    context.Context //nolint:containedctx // as above
	cancel   context.CancelCauseFunc
	err      error
	cause    error
	children []*simContext
	waiters  []waiter
	deadline time.Time // by the local clock; zero: none
}

type waiter struct {
	co  *coro
	gen uint64
}

type simKey struct{}

func newContext(parent context.Context, p *process) *simContext {
	c := &simContext{proc: p, parent: parent}
	if above := find(parent); above != nil {
		c.deadline = above.deadline
		if above.err != nil {
			c.end(above.err, above.cause)
			return c
		}
		above.children = append(above.children, c)
	} else if err := parent.Err(); err != nil {
		c.end(err, context.Cause(parent))
	}
	return c
}

// find returns the nearest simContext at or above ctx whose end is also that of ctx: one that was detached by the standard library
// (context.WithoutCancel) lasts longer.
func find(ctx context.Context) *simContext {
	if c, ok := ctx.(*simContext); ok {
		return c
	}
	c, _ := ctx.Value(simKey{}).(*simContext)
	if c == nil || ctx.Done() == nil || c.err != nil && ctx.Err() == nil {
		return nil
	}
	return c
}

func (c *simContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }
func (c *simContext) Done() <-chan struct{}       { return c.standard().Done() }
func (c *simContext) Err() error                  { return c.err }

func (c *simContext) Value(key any) any {
	if key == (simKey{}) {
		return c
	}
	if v := c.standard().Value(key); v != nil {
		return v
	}
	return c.parent.Value(key)
}

// standard returns the inner context.
func (c *simContext) standard() context.Context {
	if c.inner == nil {
		c.inner, c.cancel = context.WithCancelCause(context.Background())
		if c.err != nil {
			c.cancel(c.cause)
		}
	}
	return c.inner
}

// end ends the context and all below it. The first end counts.
func (c *simContext) end(err, cause error) {
	if c.err != nil {
		return
	}
	if cause == nil {
		cause = err
	}
	c.err, c.cause = err, cause
	if c.inner != nil {
		c.cancel(cause)
	}
	for _, w := range c.waiters {
		c.proc.sim.wake(w.co, w.gen, 0)
	}
	c.waiters = nil
	for _, child := range c.children {
		child.end(err, cause)
	}
	c.children = nil
}

// leave takes an ended context out of the one above, so that a long-lived one does not collect the dead.
func (c *simContext) leave() {
	above := find(c.parent)
	if above == nil {
		return
	}
	for i := len(above.children) - 1; i >= 0; i-- {
		if above.children[i] == c {
			above.children = append(above.children[:i], above.children[i+1:]...)
			return
		}
	}
}

// watch wakes the coroutine when ctx ends, until unwatch.
func watch(ctx context.Context, co *coro) *simContext {
	c := find(ctx)
	if c == nil {
		return nil
	}
	if c.err != nil {
		co.proc.sim.wake(co, co.gen, 0)
		return nil
	}
	c.waiters = append(c.waiters, waiter{co, co.gen})
	return c
}

func (c *simContext) unwatch(co *coro) {
	if c == nil {
		return
	}
	for i := len(c.waiters) - 1; i >= 0; i-- {
		if c.waiters[i].co == co {
			c.waiters = append(c.waiters[:i], c.waiters[i+1:]...)
			return
		}
	}
}

// detached is a context that ends with its process alone.
type detached struct {
	context.Context //nolint:containedctx // it is a context
}

func (d detached) Value(key any) any {
	if key == (simKey{}) {
		return nil
	}
	return d.Context.Value(key)
}
