package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Recover declares the dead and puts a chunk of their tasks back.
func (s *Store) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	if req.Limit <= 0 {
		req.Limit = chunk
	}
	return write(ctx, s, func(s *step) (store.RecoverResult, error) { return s.recover(req), nil })
}

func (s *step) recover(req store.RecoverRequest) (res store.RecoverResult) {
	if !s.passGate(req) {
		return store.RecoverResult{Gated: true}
	}
	beats := s.s.fleet.read()
	for _, w := range s.workers("worker_living") {
		if how := s.verdict(w, beats); how != "" {
			s.die(w, how)
			res.Dead = append(res.Dead, w.Worker)
		}
	}
	s.recoverDead(req.Limit, &res)
	s.recoverStuck(req.Limit, &res)
	res.Buried = s.bury()
	return res
}

// passGate lets one pass through per RecoverEvery, and one who has been here longer than the last one always.
func (s *step) passGate(req store.RecoverRequest) bool {
	session := never
	if w := s.worker(req.Worker); w != nil && w.DeadAt.IsZero() && !s.remote(w) && !s.gone(w) {
		session = w.JoinedAt
	}
	since := s.now.Sub(s.instant(recoverAt))
	if !req.Force && since >= 0 && since < s.s.cfg.Timing.RecoverEvery && !session.Before(s.instant(recoverBy)) {
		return false
	}
	s.setInstant(recoverAt, s.now)
	s.setInstant(recoverBy, session)
	return true
}

// bury removes the records of the dead under whom nothing runs. Their lock files go once that is durable.
func (s *step) bury() int {
	s.flushTasks()
	var dead []string
	s.query("worker_idle_dead", func(r *sqlite.Stmt) { dead = append(dead, r.ColumnText(0)) })
	for _, id := range dead {
		s.do("worker_delete", id)
		s.after = append(s.after, func() { s.s.locks.forget(id) })
	}
	return len(dead)
}

// verdict says how a living worker is found to be dead; empty: it is not.
func (s *step) verdict(w *worker, p pulse) store.Death {
	silent := s.now.Sub(s.trueBeat(w))
	if s.gone(w) {
		return store.DeathProof
	}
	if silent >= w.DeadAfter && p.whole(s.now, w.DeadAfter) {
		return store.DeathSilence
	}
	return ""
}

// recoverDead puts back what the dead hold, and what is held under no record at all.
func (s *step) recoverDead(limit int, res *store.RecoverResult) {
	for id := s.holderAfter(""); id != ""; id = s.holderAfter(id) {
		w := s.worker(id)
		if w == nil {
			w = &worker{Worker: store.Worker{ID: id, Death: store.DeathSilence}}
		} else if w.DeadAt.IsZero() {
			continue
		}
		tasks := s.list("task_held", id, limit-len(res.Tasks)+1)
		for _, t := range tasks {
			if len(res.Tasks) >= limit {
				res.More = true
				return
			}
			res.Tasks = append(res.Tasks, s.putBack(t, w))
		}
	}
}

// holderAfter returns the next worker, by name, that holds something; empty: there is none.
func (s *step) holderAfter(id string) (next string) {
	s.flushTasks()
	s.query("task_holder_after", func(r *sqlite.Stmt) { next = r.ColumnText(0) }, id)
	return next
}

// putBack takes a task from a worker that is dead or has left.
func (s *step) putBack(t *task, w *worker) store.Recovered {
	r := store.Recovered{ID: t.ID, Kind: t.Kind, Queue: t.Queue, Worker: w.ID, Death: w.Death}
	switch {
	case t.corrupt:
		s.endCorrupt(t)
	case t.Staged != nil:
		r.Settled = true
		s.settle(t, *t.Staged)
	default:
		r.Crash = w.Death == store.DeathProof || w.Death == store.DeathGone ||
			w.Death == store.DeathSilence && (w.Evidence == store.EvidenceNone || s.s.locks.kind == store.EvidenceNone)
		s.takeBack(t, w, r.Crash)
	}
	r.State, r.Reason = t.State, t.Reason
	return r
}

// takeBack decides what becomes of a task whose run was cut short.
func (s *step) takeBack(t *task, w *worker, crash bool) {
	suspect := t.Suspect
	if crash {
		t.Crashes++
		t.CrashRun++
		judge(t)
		s.event(t, store.EventCrashed, string(w.Death))
		s.count(t, func(m *store.Minute) { m.Crashed++ })
	} else {
		s.event(t, store.EventRecovered, string(w.Death))
	}
	crashed := &store.Error{Message: "its worker died while it ran", Type: store.ReasonCrashed}
	switch {
	case s.overruled(t) && !t.Owned:
		s.end(t, ending{state: store.Cancelled, reason: t.Asked})
	case s.overruled(t):
		s.ready(t)
	case crash && suspect && t.Alone && w.HeldAt <= 1 && t.Owned:
		t.Error, t.Reason = crashed, store.ReasonCrashed
		s.event(t, store.EventHeld, store.ReasonCrashed)
		s.move(t, store.Held)
	case crash && suspect && t.Alone && w.HeldAt <= 1:
		s.end(t, ending{state: store.Failed, reason: store.ReasonCrashed, err: crashed})
	case crash && t.Retry.CrashSpends:
		s.spend(t, crashed)
	default:
		t.Solo = t.Solo || crash && suspect
		s.move(t, store.Ready)
	}
}

// spend counts a failed attempt that no handler told of.
func (s *step) spend(t *task, err *store.Error) {
	t.Attempts++
	t.Error, t.Charged = err, false
	switch {
	case !t.Retry.Spent(t.Attempts):
		s.wait(t, t.Retry.Wait(t.Attempts))
	case t.Owned:
		t.Reason = store.ReasonAttempts
		s.event(t, store.EventHeld, t.Reason)
		s.move(t, store.Held)
	default:
		s.end(t, ending{state: store.Failed, reason: store.ReasonAttempts, err: err})
	}
}

// recoverStuck takes tasks from living owners that are long past the deadline of their attempt.
func (s *step) recoverStuck(limit int, res *store.RecoverResult) {
	for {
		t := s.first("task_overdue", s.now.Add(-s.s.cfg.Timing.StuckGrace))
		if t == nil {
			return
		}
		if len(res.Tasks) >= limit {
			res.More = true
			return
		}
		r := store.Recovered{ID: t.ID, Kind: t.Kind, Queue: t.Queue, Worker: t.Worker}
		switch {
		case t.corrupt:
			s.endCorrupt(t)
		case t.Staged != nil:
			r.Settled = true
			s.settle(t, *t.Staged)
		case s.overruled(t) && !t.Owned:
			s.end(t, ending{state: store.Cancelled, reason: t.Asked})
		default:
			s.event(t, store.EventRecovered, store.ReasonStuck)
			s.spend(t, &store.Error{Message: "it did not end in its time, and its owner did not say why", Type: store.ReasonStuck})
		}
		r.State, r.Reason = t.State, t.Reason
		res.Tasks = append(res.Tasks, r)
	}
}

// remote reports whether no evidence was taken for a worker where there could have been some.
func (s *step) remote(w *worker) bool {
	return w.Evidence == store.EvidenceNone && s.s.locks.kind != store.EvidenceNone
}

// gone reports whether it is proved that the process of a worker has ended.
func (s *step) gone(w *worker) bool {
	return s.s.host.rebootedSince(w) || w.inode != 0 && s.s.locks.gone(w.ID, w.inode)
}

// rebootedSince reports whether the machine of a worker is this one, and has been started anew since it joined.
func (h host) rebootedSince(w *worker) bool {
	return h.machine != "" && h.boot != "" && w.boot != "" && w.machine == h.machine && w.boot != h.boot
}
