package sim

import (
	"context"
	"errors"
	"math"
	"time"
)

var (
	errTerminated = errors.New("terminated")
	errNetwork    = errors.New("connection reset by peer")
	errAway       = errors.New("connection refused")
)

// call is the way of one call from a process to the store and back: the one place where latency, loss and death in the
// middle of a call happen. do applies it.
func (p *process) call(ctx context.Context, op string, do func() error) error {
	s := p.sim
	p.alive()
	s.stats.Calls++
	s.checkDeadline(ctx, p, op)
	if err := ctx.Err(); err != nil {
		return err
	}
	f := s.draw(p)
	s.cover(p, op, f)
	if s.tracing {
		s.tracef(p, "→ %s %s", op, faultNames[f])
	}
	if f == faultNone {
		return p.deliver(ctx, s.delay(), s.delay(), do)
	}
	if f == faultStopBefore || f == faultStopAfter {
		return p.stopAround(ctx, f, do)
	}
	s.stats.Faults[f]++
	if op != "Beat" && op != "Join" || f == faultOutage || f == faultRestart {
		return p.mangle(ctx, op, f, do)
	}
	// Who alone could not beat may be taken for dead; an outage that hit everybody is no excuse.
	p.hinder(0)
	err := p.mangle(ctx, op, f, do)
	p.hinder(0)
	return err
}

// mangle is a call that goes wrong.
func (p *process) mangle(ctx context.Context, op string, f fault, do func() error) error {
	s := p.sim
	switch f {
	case faultCut, faultOutage, faultRestart:
		return p.unreachable(ctx, do)
	case faultDieBefore:
		s.travel(ctx, s.delay())
		p.die("before " + op)
	case faultDieAfter:
		_ = p.deliver(ctx, s.delay(), 1, do)
		p.die("after " + op)
	case faultRefused:
		s.travel(ctx, s.delay())
		return errNetwork
	case faultLostAnswer:
		if err := p.deliver(ctx, s.delay(), s.delay(), do); ctx.Err() != nil {
			return err
		}
		return errNetwork
	case faultLatePacket:
		return p.deliver(ctx, s.stall(), s.delay(), do)
	}
	return p.deliver(ctx, s.delay(), s.delay()+s.stall(), do)
}

// stopAround is a call of a process that is stopped for longer than it takes to be declared dead: before the call is sent, or
// while its answer is on the way.
func (p *process) stopAround(ctx context.Context, f fault, do func() error) error {
	s := p.sim
	if f == faultStopAfter {
		s.after(s.plan.latency, nil, func() { p.pause(s.plan.deadAfter * 2) })
		return p.deliver(ctx, s.plan.latency/2, s.plan.latency, do)
	}
	p.pause(s.plan.deadAfter * 2)
	if !s.travel(ctx, 1) {
		return ctx.Err()
	}
	return p.deliver(ctx, s.delay(), s.delay(), do)
}

// deliver applies the call after there, whatever has become of the caller by then: paused, dead, or tired of waiting. The answer
// takes back to return.
func (p *process) deliver(ctx context.Context, there, back time.Duration, do func() error) error {
	var answer error
	p.sim.inFlight = max(p.sim.inFlight, p.sim.now+there, p.sim.now+min(there+back, p.patience(ctx)))
	p.sim.after(there, nil, func() { answer = do() })
	if !p.sim.travel(ctx, there+back) {
		return ctx.Err()
	}
	return answer
}

// patience is how long the caller still waits for an answer.
func (p *process) patience(ctx context.Context) time.Duration {
	until, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return p.localDuration(until.Sub(p.localNow()))
}

// unreachable is a call while the way to the store is cut, or nobody answers at its end.
func (p *process) unreachable(ctx context.Context, do func() error) error {
	s := p.sim
	rest := max(p.cutUntil, s.awayUntil) - s.now
	hangs := p.cutHangs
	if s.awayUntil > s.now {
		hangs = s.awayHangs
	}
	if !hangs {
		s.travel(ctx, s.delay())
		return errAway
	}
	arrived := s.travel(ctx, rest)
	// What was sent into the cut may still come through when it ends, long after the caller gave up.
	if !arrived {
		if s.chance.IntN(3) == 0 && s.now < max(p.cutUntil, s.awayUntil) {
			s.after(max(p.cutUntil, s.awayUntil)-s.now, nil, func() { _ = do() })
		}
		return ctx.Err()
	}
	if s.chance.IntN(2) == 0 {
		return errNetwork
	}
	return do()
}

// travel lets d pass for the running coroutine, and reports whether ctx lasted.
func (s *Sim) travel(ctx context.Context, d time.Duration) bool {
	co := s.begin()
	s.wake(co, co.gen, d)
	c := watch(ctx, co)
	s.suspend(co)
	c.unwatch(co)
	return ctx.Err() == nil
}

// delay is one way over the network.
func (s *Sim) delay() time.Duration {
	return s.plan.latency/2 + time.Duration(s.chance.Int64N(int64(s.plan.latency)))
}

// stall is how long a packet may be stuck: longer than it takes to be declared dead, at times.
func (s *Sim) stall() time.Duration {
	return time.Duration(between(s.chance, 0.05, 3) * float64(s.plan.deadAfter))
}

// draw decides what befalls a call.
func (s *Sim) draw(p *process) fault {
	switch {
	case s.healing:
		return faultNone
	case s.exact != nil:
		return s.exact.next(s, p)
	case s.awayUntil > s.now && s.restarting:
		return faultRestart
	case s.awayUntil > s.now:
		return faultOutage
	case p.cutUntil > s.now:
		return faultCut
	}
	x := s.chance.Float64()
	for f := faultDieBefore; f <= faultLateAnswer; f++ {
		if x -= s.plan.call[f]; x < 0 {
			if (f == faultDieBefore || f == faultDieAfter) && !s.mayKill(p) {
				return faultNone
			}
			return f
		}
	}
	return faultNone
}
