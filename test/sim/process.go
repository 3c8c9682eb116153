package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// process is one simulated process: coroutines, a clock, a handle on the store, a way to it that may be cut.
type process struct {
	sim     *Sim
	id      int
	name    string
	role    role
	chance  *rand.Rand
	handle  *memory.Store // the process's own; Crash takes its evidence away
	store   store.Store   // the handle behind witness and faults
	witness *witness
	kernel  *kernel.Kernel

	coros  []*coro
	dead   bool
	paused bool
	putOff []event // what fell due while it was paused

	skew    time.Duration
	drift   float64
	born    time.Duration
	stepped bool // its clock has jumped: elapsed times mean nothing

	cutUntil    time.Duration
	cutHangs    bool          // calls hang while it is cut; otherwise they fail at once
	hindered    time.Duration // until when it was last paused, cut off, or had a beat of its own go wrong
	sessionLost bool          // its own, by itself, and it has not beaten since
	sessionAt   time.Duration // when it last lost one
	woken       time.Duration // when it last went on after a pause

	worker   string // the incarnation that it joined last
	told     string // the one of which it was told that it has joined
	holding  int    // tasks that its workers hold
	stop     context.CancelCauseFunc
	draining bool
	quiet    bool // was asked to claim no more
	drainAt  time.Duration
	returned bool  // Run has: it works no more, and need not have been able to leave
	ended    bool  // its main function has returned
	late     bool  // a claim of it was carried out when it was dead
	killer   *task // what killed it; nil: chance
	client   *client
	sent     int // Saves
}

type role uint8

const (
	roleWorker role = iota
	roleClient
	roleOperator
)

func (s *Sim) newProcess(r role, name string) *process {
	p := &process{
		sim: s, id: len(s.procs) + 1, name: fmt.Sprintf("%s%d", name, len(s.procs)+1), role: r,
		chance: rand.New(rand.NewPCG(s.seed, uint64(len(s.procs)+1)<<8|3)), born: s.now,
		handle: s.memory.Process(),
	}
	if s.plan.skew > 0 {
		p.skew = time.Duration(p.chance.Int64N(int64(2*s.plan.skew))) - s.plan.skew
		p.drift = (p.chance.Float64()*2 - 1) * s.plan.drift
	}
	p.witness = &witness{Store: p.handle, p: p}
	p.store = wrap(p.witness, p)
	s.procs = append(s.procs, p)
	return p
}

// alive lets a killed process go no further.
func (p *process) alive() {
	if p.dead {
		panic(processExit{})
	}
}

func (p *process) forget(co *coro) {
	if i := slices.Index(p.coros, co); i >= 0 {
		p.coros = slices.Delete(p.coros, i, i+1)
	}
}

func (p *process) localNow() time.Time {
	run := p.sim.now - p.born
	return p.sim.epoch.Add(p.sim.now + p.skew + time.Duration(float64(run)*p.drift))
}

// localDuration is how long d of the process's clock takes in the world. It rounds up: a timer never fires early.
func (p *process) localDuration(d time.Duration) time.Duration {
	if p.drift == 0 || d <= 0 {
		return d
	}
	return time.Duration(float64(d)/(1+p.drift)) + 2
}

// hinder records that the process may be silent through no fault of its own until now + d.
func (p *process) hinder(d time.Duration) { p.hindered = max(p.hindered, p.sim.now+d) }

// kill is SIGKILL: nothing of the process runs any more, and what only its life held is let go.
func (p *process) kill(why string) {
	if p.dead {
		return
	}
	s := p.sim
	s.stats.Crashes++
	if s.tracing {
		s.tracef(p, "killed: %s", why)
	}
	p.vanish()
	s.bereaved(p)
}

// vanish ends the process in the simulation's books and in the store's.
func (p *process) vanish() {
	p.dead = true
	p.putOff = nil
	p.handle.Crash()
	p.witness.Store = p.sim.memory // what is still on its way arrives all the same
	for _, co := range p.coros {
		if co != p.sim.current {
			p.sim.doomed = append(p.sim.doomed, co)
		}
	}
}

// die is kill from inside: the running coroutine unwinds too.
func (p *process) die(why string) {
	p.kill(why)
	panic(processExit{})
}

// pause is SIGSTOP and, after d, SIGCONT.
func (p *process) pause(d time.Duration) {
	if p.dead || p.paused {
		return
	}
	s := p.sim
	s.stats.Pauses++
	p.paused = true
	p.hinder(d)
	if s.tracing {
		s.tracef(p, "paused for %v", d)
	}
	s.after(d, nil, p.goOn)
}

// goOn lets everything that fell due meanwhile happen at once, in an order of the seed's.
func (p *process) goOn() {
	if p.dead || !p.paused {
		return
	}
	s := p.sim
	p.paused = false
	p.woken = s.now
	p.hinder(0)
	if s.tracing {
		s.tracef(p, "goes on")
	}
	late := p.putOff
	p.putOff = nil
	for _, e := range late {
		e.at = s.now
		s.push(e)
	}
}

// cut takes the process's way to the store for d. Its session is noticed as gone at some moment of it, or not at all.
func (p *process) cut(d time.Duration) {
	s := p.sim
	s.stats.Cuts++
	p.cutUntil = max(p.cutUntil, s.now+d)
	p.cutHangs = p.chance.IntN(2) == 0
	p.hinder(d)
	if s.tracing {
		s.tracef(p, "cut off for %v, hanging=%v", d, p.cutHangs)
	}
	if p.chance.IntN(4) > 0 {
		s.after(time.Duration(p.chance.Int64N(int64(d))), nil, p.loseSession)
	}
}

// loseSession takes the evidence of the process's present worker.
func (p *process) loseSession() {
	if p.dead || p.worker == "" {
		return
	}
	p.sim.stats.Sessions++
	p.sessionLost, p.sessionAt = true, p.sim.now
	if p.sim.tracing {
		p.sim.tracef(p, "session lost")
	}
	p.handle.CutSession(p.worker)
}

// step moves the local clock ahead, as it is after a suspended machine goes on. It never moves back: the kernel measures
// with a monotonic clock, which a simulated time.Time cannot carry beside the other.
func (p *process) step(d time.Duration) {
	p.sim.stats.ClockSteps++
	p.stepped = true
	p.skew += d
	if p.sim.tracing {
		p.sim.tracef(p, "clock steps by %v", d)
	}
}

// drain is SIGTERM.
func (p *process) drain() {
	if p.dead || p.draining || p.stop == nil {
		return
	}
	p.sim.stats.Drains++
	p.draining, p.drainAt = true, p.sim.now
	if p.sim.tracing {
		p.sim.tracef(p, "asked to stop")
	}
	p.stop(errTerminated)
}

// main runs fn as the main function of the process.
func (p *process) main(fn func(ctx context.Context)) {
	ctx, stop := env{p}.WithCancel(p.sim.root())
	p.stop = stop
	p.sim.start(p, func() {
		fn(ctx)
		p.ended = true
		p.sim.left(p)
	})
}
