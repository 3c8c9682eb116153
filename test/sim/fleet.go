package sim

import (
	"errors"
	"time"

	"github.com/outlast-go/outlast/store"
)

// joined records a Join. It may be one that its process has given up, and has followed by another: which one the process is, its
// beats tell.
func (sh *shadow) joined(p *process, req store.JoinRequest) {
	if sh.workers[req.ID] != nil {
		sh.s.fail("I7", "worker %s joined twice", req.ID)
	}
	sh.workers[req.ID] = &member{id: req.ID, proc: p, beatAt: sh.s.now}
	p.worker = req.ID
}

func (sh *shadow) beaten(p *process, req store.BeatRequest, err error) {
	m := sh.workers[req.Worker]
	switch {
	case m == nil:
	case err == nil && m.dead:
		sh.s.fail("I7", "worker %s beat after it was declared dead (%s)", m.id, m.death)
	case err == nil:
		m.beatAt = sh.s.now
		p.worker, p.sessionLost = m.id, false
	case errors.Is(err, store.ErrDead) && !m.dead:
		sh.s.fail("I7", "worker %s was told that it is dead, and nobody declared it", m.id)
	}
}

// left records a Leave: what the worker held has gone back, or has settled by what was staged, or goes with the next chunk.
func (sh *shadow) left(p *process, worker string, more bool) {
	if m := sh.workers[worker]; m != nil && !m.dead {
		m.dead, m.death = true, store.DeathLeft
	}
	for _, t := range sh.heldBy(worker) {
		now := sh.s.eye.look(t.id)
		if now.State == store.Running && now.Fence() == t.owner.fence {
			if !more {
				sh.s.fail("I11", "task %v still runs under %s, which has left with nothing more to put back", t.id, worker)
			}
			continue
		}
		if t.stage != nil {
			sh.settleStaged(t)
			continue
		}
		if now.Attempts != t.attempts || now.Crashes != t.crashes {
			sh.s.fail("I11", "leaving cost task %v an attempt or a crash: %d and %d, were %d and %d", t.id, now.Attempts, now.Crashes, t.attempts, t.crashes)
		}
		sh.lose(t)
	}
	if sh.s.tracing {
		sh.s.tracef(p, "%s left", worker)
	}
}

// recovered checks and records a pass over the dead.
func (sh *shadow) recovered(p *process, res store.RecoverResult) {
	for _, w := range res.Dead {
		sh.declared(p, w)
	}
	for _, r := range res.Tasks {
		sh.putBack(p, r)
	}
}

// declared judges a declaration of death by what the simulation knows of the victim.
func (sh *shadow) declared(p *process, w store.Worker) {
	s, m := sh.s, sh.workers[w.ID]
	if s.tracing {
		s.tracef(p, "declares %s dead: %s", w.ID, w.Death)
	}
	if m == nil || m.dead {
		s.fail("I7", "worker %s was declared dead (%s), and is none or dead before", w.ID, w.Death)
		return
	}
	m.dead, m.death = true, w.Death
	victim := m.proc
	gone := victim.dead || victim.ended || victim.worker != w.ID
	silent := s.now - m.beatAt
	timing := s.plan.timing
	switch w.Death {
	case store.DeathProof:
		if !gone {
			s.fail("I7", "worker %s was declared dead by proof, and its process lives", w.ID)
		}
		return
	case store.DeathGone:
		if silent < timing.GoneAfter {
			s.fail("I7", "worker %s was declared gone %v after its last beat; %v must pass", w.ID, silent, timing.GoneAfter)
		}
	case store.DeathSilence:
		if silent < s.plan.deadAfter {
			s.fail("I7", "worker %s was declared silent %v after its last beat; %v must pass", w.ID, silent, s.plan.deadAfter)
		}
	default:
		s.fail("I7", "worker %s was declared dead by %q", w.ID, w.Death)
	}
	if gone || victim.paused || victim.returned || victim.told != w.ID {
		return // one whose Join was not answered does not know that it has joined: it holds nothing, and nothing is taken from it
	}
	window, hindered := s.plan.deadAfter, victim.hindered
	if w.Death == store.DeathGone {
		window = timing.GoneAfter + 2*s.plan.beat
		if victim.sessionLost {
			hindered = max(hindered, min(s.awayUntil, s.now)) // it could not show itself while the store was away
		}
	}
	if free := s.now - hindered; free > window {
		s.fail("I7", "robbed_live: worker %s was declared dead (%s); its process runs, and nothing kept it from the store for %v", w.ID, w.Death, free)
	}
}

// putBack checks and records one task that Recover took from its owner.
func (sh *shadow) putBack(p *process, r store.Recovered) {
	s, t := sh.s, sh.task(r.ID)
	if t.owner == nil || t.owner.worker != r.Worker {
		s.fail("I6", "Recover took %v from %s, which does not hold it", r.ID, r.Worker)
		return
	}
	m := sh.workers[r.Worker]
	if s.tracing {
		s.tracef(p, "puts back %s %v of %s: %s, crash=%v, now %s %s", r.Kind, short(r.ID), r.Worker, r.Death, r.Crash, r.State, r.Reason)
	}
	switch {
	case r.Death == "":
		if sh.stuckEarly(t) {
			s.fail("I6", "task %v was taken from living %s as stuck at %v; its deadline is %v", r.ID, r.Worker, s.storeNow(), t.deadline)
		}
	case m == nil || !m.dead || m.death != r.Death:
		s.fail("I6", "task %v was taken from %s as if that had died (%s)", r.ID, r.Worker, r.Death)
	case r.Crash != sh.countsAsCrash(r.Death) && !r.Settled:
		s.fail("I10", "task %v of %s, dead by %s with evidence %s: crash counted %v", r.ID, r.Worker, r.Death, s.plan.evidence, r.Crash)
	}
	if r.Settled {
		if t.stage == nil {
			s.fail("I6", "task %v was settled by Recover, and nothing was staged", r.ID)
			return
		}
		sh.settleStaged(t)
		return
	}
	if t.stage != nil {
		s.fail("I4", "task %v was put back though its outcome is staged", r.ID)
	}
	sh.blame(t, r)
	if r.Death == "" {
		t.attempts++
		t.charged = false
	}
	if r.Crash {
		t.crashes++
		t.crashRun++
		if t.spec.Retry.CrashSpends {
			t.attempts++
		}
	}
	sh.lose(t)
}

func (sh *shadow) stuckEarly(t *task) bool {
	return t.deadline.IsZero() || sh.s.storeNow().Before(t.deadline.Add(sh.s.plan.timing.StuckGrace))
}

func (sh *shadow) countsAsCrash(d store.Death) bool {
	switch d {
	case store.DeathProof, store.DeathGone:
		return true
	case store.DeathSilence:
		return sh.s.plan.evidence == store.EvidenceNone
	}
	return false
}

// blame judges crashes: what ends as crashed has killed, or was hit by what the simulation did, never by another's poison.
func (sh *shadow) blame(t *task, r store.Recovered) {
	s, victim := sh.s, t.owner.proc
	if t.kills > 0 && (!r.Crash || victim.killer == t && victim.late) {
		t.pardons++
	}
	if r.Reason == store.ReasonCrashed && (r.State == store.Failed || r.State == store.Held) {
		s.stats.Crashed++
		if killer := victim.killer; killer != nil && killer != t {
			s.fail("I10", "task %v (%s) ended as crashed; its worker %s was killed by %v (%s)", t.id, t.spec.Kind, r.Worker, killer.id, killer.spec.Kind)
		}
		if t.crashes < store.Suspicion {
			s.fail("I10", "task %v (%s) ended as crashed after %d crashes before", t.id, t.spec.Kind, t.crashes)
		}
	}
	if t.kills-t.pardons > 4 {
		s.fail("I10", "task %v has killed %d workers", t.id, t.kills)
	}
}

// bound is the shadow of a limit.
type bound struct {
	limit store.Limit
	tat   []time.Duration // per rate: the theoretical arrival time of the next start
}

func (sh *shadow) limited(l store.Limit) {
	sh.limits[l.Key] = &bound{limit: l, tat: make([]time.Duration, len(l.Rates))}
}

// start counts a claim against the limit of its task.
func (sh *shadow) start(t *task) {
	key := t.spec.Limit
	if key == "" {
		return
	}
	sh.running[key]++
	b := sh.limits[key]
	charged := t.charged
	t.charged = true
	if b == nil {
		return
	}
	if n := b.limit.Running; n > 0 && sh.running[key] > n {
		sh.s.fail("I23", "%d tasks of limit %s run; %d may", sh.running[key], key, n)
	}
	if charged {
		return
	}
	for i, r := range b.limit.Rates {
		step := r.Per / time.Duration(r.N)
		burst := r.Burst
		if burst == 0 {
			burst = r.N
		}
		// Two rates of one limit are charged together; the allowance for rounding is one microsecond.
		if early := b.tat[i] - sh.s.now - time.Duration(burst-1)*step; early > time.Microsecond {
			sh.s.fail("I23", "task %v started %v before rate %d per %v of limit %s allows", t.id, early, r.N, r.Per, key)
		}
		b.tat[i] = max(b.tat[i], sh.s.now) + step
	}
}

// checkOrder is called when a task is about to be given.
func (sh *shadow) checkOrder(t *task) {
	if t.spec.Order == store.Unordered {
		return
	}
	for _, other := range sh.lanes[laneKey(&t.spec)] {
		if other == t {
			continue
		}
		if other.owner != nil {
			sh.s.fail("I24", "task %v was given while %v of the same ordered lane runs", t.id, other.id)
		}
		if other.id.String() < t.id.String() && !sh.past(other) {
			sh.s.fail("I24", "task %v was given before %v of the same ordered lane had ended", t.id, other.id)
		}
	}
}

// past reports whether a task no longer stands in the way of its ordered lane.
func (sh *shadow) past(t *task) bool {
	now := sh.s.eye.look(t.id)
	if now.State == store.Failed {
		return t.spec.Order != store.OrderBlock
	}
	return now.State == "" || now.State.Terminal()
}

func (sh *shadow) ticked(req store.TickRequest, res store.TickResult) {
	s := sh.s
	last, seen := sh.ticks[req.Name]
	if seen && !req.Tick.After(last) {
		s.fail("I25", "schedule %s ticked at %v after %v", req.Name, req.Tick, last)
	}
	if req.Tick.After(s.storeNow()) {
		s.fail("I25", "schedule %s ticked at %v, which is %v ahead", req.Name, req.Tick, req.Tick.Sub(s.storeNow()))
	}
	sh.ticks[req.Name] = req.Tick
	if !res.Task.IsZero() {
		sh.task(res.Task).follows = true
		s.stats.Ticks++
	}
}
