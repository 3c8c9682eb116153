package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/memory"
)

// Sim is one run: one seed, one store, some processes, one thread.
type Sim struct {
	*scheduler
	seed   uint64
	plan   plan
	chance *rand.Rand // faults and latency
	epoch  time.Time  // the store's clock when the run began
	memory *memory.Store
	procs  []*process

	awayUntil  time.Duration // the store answers nobody until then
	awayHangs  bool
	restarting bool
	healing    bool
	healedAt   time.Duration
	inFlight   time.Duration // when the last packet on its way has arrived, and the last answer that somebody waits for

	kills   int // of processes
	applied int // calls that may have changed something
	scans   int
	owed    []owed
	eye     eye
	root    func() context.Context // what processes are born with

	bereaved func(p *process) // told of each process that was killed
	left     func(p *process) // told of each process that ended by itself

	work    *workload
	exact   *schedule // the faults, where they are not drawn
	shadow  *shadow
	stats   *Totals
	tracing bool
	trace   func(line string)
	broken  *Violation
}

// Violation is a sentence that did not hold.
type Violation struct {
	Seed uint64
	ID   string // of the invariant
	At   time.Duration
	Text string
}

// String writes the violation on one line.
func (v *Violation) String() string {
	return fmt.Sprintf("seed %d: %s at %v: %s", v.Seed, v.ID, v.At, v.Text)
}

// Result is what a run came to.
type Result struct {
	Hash      uint64
	Steps     int
	Violation *Violation // nil: everything held
}

// maxSteps bounds a run: one that takes more goes round in circles.
const maxSteps = 400_000

// Run simulates one seed. It adds to totals, and hands each line of the trace to trace if that is not nil.
func Run(seed uint64, totals *Totals, trace func(line string)) Result {
	loom := &loom{}
	defer loom.end()
	s := newSim(seed, loom, totals)
	s.tracing, s.trace = trace != nil, trace
	s.run()
	s.bury()
	totals.Seeds++
	totals.Steps += int64(s.steps)
	totals.Virtual += s.now
	totals.Tasks += int64(len(s.shadow.tasks))
	return Result{Hash: s.hash, Steps: s.steps, Violation: s.broken}
}

func newSim(seed uint64, loom *loom, totals *Totals) *Sim {
	s := newWorld(seed, makePlan(seed, rand.New(rand.NewPCG(seed, 4))), loom, totals)
	s.work.fill()
	return s
}

// newWorld is a world by a plan, in which nobody wants anything yet.
func newWorld(seed uint64, p plan, loom *loom, totals *Totals) *Sim {
	s := &Sim{
		scheduler: newScheduler(seed, loom),
		seed:      seed,
		chance:    rand.New(rand.NewPCG(seed, 2)),
		epoch:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		stats:     totals,
		root:      func() context.Context { return detached{context.Background()} },
	}
	s.bereaved, s.left = s.killed, s.exited
	s.crash = func(p *process, value any, stack []byte) {
		s.fail("K5", "%s panicked: %v\n%s", p.name, value, stack)
	}
	s.plan = p
	s.memory = memory.New(memory.Config{
		Clock:    s.storeNow,
		Timing:   s.plan.timing,
		Evidence: s.plan.evidence,
	})
	s.shadow = newShadow(s)
	deleted := func(id store.ID) bool { return s.shadow.task(id).deleted }
	s.eye = &memoryEye{st: s.memory, checker: fsck.Checker{Deleted: deleted}}
	s.work = newWorkload(s, rand.New(rand.NewPCG(seed, 5)))
	return s
}

func (s *Sim) storeNow() time.Time { return s.epoch.Add(s.now) }

// fail records the first violation; the run ends with it.
func (s *Sim) fail(id, format string, args ...any) {
	if s.broken != nil {
		return
	}
	s.broken = &Violation{Seed: s.seed, ID: id, At: s.now, Text: fmt.Sprintf(format, args...)}
	if s.tracing {
		s.tracef(nil, "VIOLATION %s: %s", id, s.broken.Text)
	}
}

// tracef is called only when tracing: its arguments cost.
func (s *Sim) tracef(p *process, format string, args ...any) {
	who := "world"
	if p != nil {
		who = p.name
	}
	s.trace(fmt.Sprintf("%10.3fs %-8s %s", s.now.Seconds(), who, fmt.Sprintf(format, args...)))
}

// runUntil lets the world go on until the time has come, or cond holds at one of its looks, or something broke.
func (s *Sim) runUntil(until time.Duration, cond func() bool) bool {
	const look = 250 * time.Millisecond
	for next := s.now; s.broken == nil; {
		if s.now >= next && cond != nil {
			if cond() {
				return true
			}
			next = s.now + look
		}
		if !s.step(until) {
			s.now = max(s.now, until)
			return cond != nil && cond()
		}
		if s.steps > maxSteps {
			s.fail("I8", "no end after %d steps", s.steps)
		}
	}
	return false
}

func (s *Sim) run() {
	if s.tracing {
		s.tracef(nil, "plan: %+v", s.plan)
	}
	if s.exact == nil {
		s.swarm()
	} else {
		s.rehearse()
	}
	if s.broken == nil {
		s.heal()
	}
	for _, goOn := range s.work.after {
		if s.broken == nil {
			goOn()
		}
	}
	if s.broken == nil {
		s.scan("end")
		s.checkEnd()
	}
}

// swarm lets faults befall everything at random for a while.
func (s *Sim) swarm() {
	for range s.plan.workers {
		s.startWorker(time.Duration(s.chance.Int64N(int64(time.Second))))
	}
	s.work.start()
	s.mishaps()
	s.runUntil(s.plan.chaos, nil)
}

// rehearse lets the work be done under a schedule of faults: workers first, then who wants something of them.
func (s *Sim) rehearse() {
	for i := range s.plan.workers {
		s.startWorker(time.Duration(i) * 10 * time.Millisecond)
	}
	s.after(100*time.Millisecond, nil, s.work.start)
	s.runUntil(s.plan.chaos, func() bool { return s.now > 100*time.Millisecond && s.work.over() })
}

// bury ends what is left, so that no goroutine outlives the run.
func (s *Sim) bury() {
	for _, p := range s.procs {
		if !p.dead {
			p.vanish()
		}
	}
	s.reap()
	if s.coros != 0 {
		s.fail("SIM", "%d coroutines are left", s.coros)
	}
}

// heal ends all faults, and waits for what must then come true.
func (s *Sim) heal() {
	s.healing, s.healedAt = true, s.now
	s.awayUntil = s.now
	if s.tracing {
		s.tracef(nil, "healing begins")
	}
	for _, p := range s.procs {
		p.cutUntil = min(p.cutUntil, s.now)
		p.goOn()
	}
	s.work.repair()
	if !s.settled("after the faults") {
		return
	}
	if s.exact == nil {
		s.lastKill()
	} else {
		s.runUntil(s.inFlight+2*s.plan.beat, nil) // a packet that was stuck may change everything, and beats tell who is who
	}
	if s.broken == nil && s.settled("after the last fault") {
		s.shutDown()
	}
}

// settled waits until everything has ended, and says what has not if the bound is passed.
func (s *Sim) settled(when string) bool {
	bound := s.now + s.bound()
	if s.runUntil(bound, s.work.finished) {
		return true
	}
	if s.broken == nil {
		s.fail("I8", "%s not everything ended within %v: %s", when, s.bound(), s.work.unfinished())
	}
	return false
}

// bound is how long healing may take: packets stuck for three dead-afters come first, then a death by silence with a pulse
// that begins anew, then what the tasks themselves take.
func (s *Sim) bound() time.Duration { return 10*s.plan.deadAfter + s.work.longest() }

// lastKill kills one of several healthy workers that has work, and times how soon that is put back.
func (s *Sim) lastKill() {
	s.runUntil(s.now+2*s.plan.deadAfter+2*time.Second, nil)
	s.work.occupy()
	var victim *process
	s.runUntil(s.now+s.bound(), func() bool {
		victim = s.busiest()
		return victim != nil
	})
	if victim == nil {
		s.fail("I8", "healthy workers do not take up work")
		return
	}
	held := s.shadow.heldBy(victim.worker)
	victim.kill("the last kill")
	limit := s.recoveryBound(s.hasWitness(victim))
	back := func() bool {
		for _, t := range held {
			if t.owner != nil && t.owner.worker == victim.worker {
				return false
			}
		}
		return true
	}
	begin := s.now
	if !s.runUntil(s.now+limit, back) && s.broken == nil {
		s.fail("I9", "%d tasks of %s (%s) were not put back within %v", len(held), victim.name, victim.worker, limit)
	}
	s.stats.SlowestRecovery = max(s.stats.SlowestRecovery, s.now-begin)
}

// busiest returns a live worker process that holds something while at least one other is alive.
func (s *Sim) busiest() *process {
	var found *process
	live := 0
	for _, p := range s.procs {
		if p.role != roleWorker || p.dead || p.ended || p.draining {
			continue
		}
		live++
		if found == nil && len(s.shadow.heldBy(p.worker)) > 0 {
			found = p
		}
	}
	if live < 2 {
		return nil
	}
	return found
}

// recoveryBound is the promise about a death among the healthy, by evidence: what the evidence takes, plus two passes.
func (s *Sim) recoveryBound(witness bool) time.Duration {
	passes := 2*(time.Second+s.plan.timing.WithDefaults().RecoverEvery) + time.Second
	switch {
	case s.plan.evidence == store.EvidenceProof:
		return passes
	case s.plan.evidence == store.EvidenceSession && witness:
		return s.plan.timing.GoneAfter + s.plan.beat + passes
	default:
		return s.plan.deadAfter + s.plan.deadAfter/3 + s.plan.beat + passes
	}
}

// hasWitness reports whether a worker lives whose session is older than the last beat of another, so that it may tell that the other is gone.
func (s *Sim) hasWitness(victim *process) bool {
	beat := s.shadow.workers[victim.worker].beatAt
	return slices.ContainsFunc(s.procs, func(p *process) bool {
		return p != victim && p.role == roleWorker && !p.dead && !p.ended && !p.draining && p.sessionAt < beat && p.born < beat
	})
}

// shutDown drains every process and expects all of them to end.
func (s *Sim) shutDown() {
	s.work.closing = true
	for _, p := range s.procs {
		p.drain()
	}
	limit := s.plan.shutdown + 2*s.plan.deadAfter + 30*time.Second
	quiet := func() bool {
		for _, p := range s.procs {
			if !p.dead && !p.ended {
				return false
			}
		}
		return true
	}
	if s.runUntil(s.now+limit, quiet) || s.broken != nil {
		return
	}
	for _, p := range s.procs {
		if !p.dead && !p.ended {
			s.fail("I11", "%s has not stopped %v after it was asked to, with every fault healed", p.name, s.now-p.drainAt)
			return
		}
	}
}
