package sim

import (
	"fmt"
	"runtime/debug"
	"time"
)

// processExit is the panic by which the coroutines of a killed process unwind. The kernel knows it by its method.
type processExit struct{}

// ProcessExit marks the panic as the end of a process.
func (processExit) ProcessExit() {}

// scheduler owns time and order. Everything that happens is an event in its heap; events of one instant are ordered by the
// seed, so that one seed is one run. It is used by one OS thread.
type scheduler struct {
	now   time.Duration // virtual time since the run began
	salt  uint64        // decides ties
	queue eventHeap
	seq   uint64
	free  []*event

	loom    *loom
	current *coro
	doomed  []*coro // of killed processes; unwound before the next event
	coros   int     // alive
	born    int

	steps int
	hash  uint64
	crash func(p *process, value any, stack []byte) // told of a panic that is no processExit
}

// event is one wake-up: of a coroutine, or of the world.
type event struct {
	at   time.Duration
	tie  uint32
	seq  uint64
	proc *process // whose event it is: dropped when dead, put off when paused; nil: the world's
	co   *coro    // to be resumed if it still waits under gen
	gen  uint64
	fn   func()
}

// coro is a flow of control of a simulated process. It blocks by handing control back to the scheduler.
type coro struct {
	id     int
	proc   *process
	strand *strand
	gen    uint64 // grows with each wait; a wake-up for an older one is stale
	over   bool
}

func newScheduler(seed uint64, loom *loom) *scheduler {
	return &scheduler{salt: mixed(seed + 1), hash: 14695981039346656037, loom: loom}
}

// mixed spreads a number over all bits (splitmix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// note mixes a value into the hash by which two runs are compared.
func (s *scheduler) note(v uint64) { s.hash = (s.hash ^ v) * 1099511628211 }

func (s *scheduler) noteText(text string) {
	for i := range len(text) {
		s.note(uint64(text[i]))
	}
}

// push plants an event. The tie of a coroutine's wake-up depends on which wait it ends, not on when it was planted: signals that
// a program notifies in the order of a map wake their waiters in the order of the seed.
func (s *scheduler) push(e event) {
	s.seq++
	e.seq = s.seq
	if e.co != nil {
		e.tie = uint32(mixed(s.salt ^ uint64(e.co.id)<<32 ^ e.gen))
	} else {
		e.tie = uint32(mixed(s.salt ^ e.seq<<1 ^ 1<<63))
	}
	var p *event
	if n := len(s.free); n > 0 {
		p = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		p = new(event)
	}
	*p = e
	s.queue.add(p)
}

// after lets fn happen after d. With a process it happens only while that runs.
func (s *scheduler) after(d time.Duration, p *process, fn func()) {
	s.push(event{at: s.now + max(d, 0), proc: p, fn: fn})
}

// wake makes a coroutine runnable after d, if it then still waits under gen.
func (s *scheduler) wake(co *coro, gen uint64, d time.Duration) {
	s.push(event{at: s.now + max(d, 0), proc: co.proc, co: co, gen: gen})
}

// start makes a coroutine of the process, which begins at the next instant.
func (s *scheduler) start(p *process, fn func()) {
	s.born++
	s.coros++
	co := &coro{id: s.born, proc: p, strand: s.loom.take()}
	co.strand.fn = func() {
		defer s.finish(co)
		if !p.dead {
			fn()
		}
	}
	p.coros = append(p.coros, co)
	s.wake(co, co.gen, 0)
}

// finish runs as the last deferred function of a coroutine.
func (s *scheduler) finish(co *coro) {
	co.over = true
	s.coros--
	co.proc.forget(co)
	if v := recover(); v != nil {
		if _, ok := v.(processExit); !ok {
			s.crash(co.proc, v, debug.Stack())
		}
	}
}

// begin opens a wait of the running coroutine. Whoever is to wake it is given its gen.
func (s *scheduler) begin() *coro {
	co := s.current
	if co == nil {
		panic("sim: blocking outside of a coroutine")
	}
	co.proc.alive()
	co.gen++
	return co
}

// suspend hands control back until somebody wakes the coroutine. In a killed process it does not return.
func (s *scheduler) suspend(co *coro) {
	co.strand.yield(struct{}{})
	co.proc.alive()
}

// sleep blocks the running coroutine for d of virtual time.
func (s *scheduler) sleep(d time.Duration) {
	co := s.begin()
	s.wake(co, co.gen, d)
	s.suspend(co)
}

func (s *scheduler) resume(co *coro) {
	if co.over {
		return
	}
	before := s.current
	s.current = co
	co.strand.next()
	s.current = before
	if co.over {
		s.loom.give(co.strand)
	}
}

// reap unwinds the coroutines of killed processes. Unwinding may doom no others: a dead process cannot kill.
func (s *scheduler) reap() {
	for len(s.doomed) > 0 {
		doomed := s.doomed
		s.doomed = nil
		for _, co := range doomed {
			s.resume(co)
			if !co.over {
				panic(fmt.Sprintf("sim: coroutine %d of %s survived its process", co.id, co.proc.name))
			}
		}
	}
}

// step does the next event, and reports whether there was one before until.
func (s *scheduler) step(until time.Duration) bool {
	if len(s.queue) == 0 || s.queue[0].at > until {
		return false
	}
	p := s.queue.first()
	e := *p
	*p = event{}
	s.free = append(s.free, p)
	if e.proc != nil && e.proc.dead || e.co != nil && (e.co.over || e.co.gen != e.gen) {
		return true
	}
	s.now = e.at
	if e.proc != nil && e.proc.paused {
		e.proc.putOff = append(e.proc.putOff, e)
		return true
	}
	s.steps++
	s.note(uint64(s.now))
	if e.co != nil {
		s.note(uint64(e.co.id))
		s.resume(e.co)
	} else {
		e.fn()
	}
	s.reap()
	return true
}

// eventHeap is a heap of events by time, then tie, then order of planting.
type eventHeap []*event

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.tie != o.tie {
		return e.tie < o.tie
	}
	return e.seq < o.seq
}

func (h *eventHeap) add(e *event) {
	q := append(*h, e)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
	*h = q
}

// first takes the earliest event out.
func (h *eventHeap) first() *event {
	q := *h
	top, last := q[0], q[len(q)-1]
	n := len(q) - 1
	q[n] = nil
	q = q[:n]
	*h = q
	if n == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(last) {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = last
	return top
}
