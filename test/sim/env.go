package sim

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// env is the world as one simulated process sees it: its own clock, its own coroutines, its own chance.
type env struct{ p *process }

var _ kernel.Env = env{}

// Now is the local clock: skewed, drifting, stepping at times.
func (e env) Now() time.Time { return e.p.localNow() }

func (e env) Go(fn func()) {
	if !e.p.dead {
		e.p.sim.start(e.p, fn)
	}
}

func (e env) NewSignal() kernel.Signal { return &signal{p: e.p} }

func (e env) WithCancel(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	c := newContext(ctx, e.p)
	return c, func(cause error) {
		c.end(context.Canceled, cause)
		c.leave()
	}
}

func (e env) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	c := newContext(ctx, e.p)
	if at := e.Now().Add(d); c.deadline.IsZero() || at.Before(c.deadline) {
		c.deadline = at
	}
	if c.err == nil {
		e.p.sim.after(e.p.localDuration(d), e.p, func() { c.end(context.DeadlineExceeded, cause) })
	}
	return c, func() {
		c.end(context.Canceled, nil)
		c.leave()
	}
}

func (e env) Detach(ctx context.Context) context.Context {
	return detached{context.WithoutCancel(ctx)}
}

func (e env) Random() [16]byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], e.p.chance.Uint64())
	binary.BigEndian.PutUint64(b[8:], e.p.chance.Uint64())
	return b
}

// signal is a kernel.Signal whose waiter is a coroutine.
type signal struct {
	p      *process
	set    bool
	waiter *coro
	gen    uint64
}

func (s *signal) Notify() {
	if s.p.dead {
		return
	}
	s.set = true
	if s.waiter != nil {
		s.p.sim.wake(s.waiter, s.gen, 0)
		s.waiter = nil
	}
}

// Wait lets chance decide when a notification and the end of ctx meet, as a select does.
func (s *signal) Wait(ctx context.Context, d time.Duration) bool {
	s.p.alive()
	ended := ctx.Err() != nil
	if s.set && (!ended || s.p.chance.IntN(2) == 0) {
		s.set = false
		return true
	}
	if ended {
		return false
	}
	sim := s.p.sim
	co := sim.begin()
	if s.waiter != nil {
		sim.fail("SIM", "two coroutines of %s wait for one signal", s.p.name)
	}
	s.waiter, s.gen = co, co.gen
	if d >= 0 {
		sim.wake(co, co.gen, s.p.localDuration(d))
	}
	c := watch(ctx, co)
	sim.suspend(co)
	c.unwatch(co)
	if s.waiter == co {
		s.waiter = nil
	}
	if s.set {
		s.set = false
		return true
	}
	return false
}
