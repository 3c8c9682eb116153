package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Recover declares the dead and puts a chunk of their tasks back.
func (s *Store) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.RecoverResult{}, err
	}
	defer leave()
	d := s.d
	if !d.passGate(req) {
		return store.RecoverResult{Gated: true}, nil
	}
	if req.Limit <= 0 {
		req.Limit = chunk
	}
	var res store.RecoverResult
	ids := slices.Sorted(maps.Keys(d.workers))
	for _, id := range ids {
		if w := d.workers[id]; w.DeadAt.IsZero() {
			if how := d.verdict(w, d.alive(req.Worker)); how != "" {
				d.die(w, how)
				res.Dead = append(res.Dead, w.Worker)
			} else if !w.goneAt.IsZero() {
				res.Next = max(d.every(w)-d.now.Sub(w.goneAt), d.cfg.Timing.GoneAfter-d.now.Sub(w.BeatAt), time.Millisecond)
			}
		}
	}
	d.recoverDead(req.Limit, &res)
	d.recoverStuck(req.Limit, &res)
	for _, id := range ids {
		if w := d.workers[id]; !w.DeadAt.IsZero() && d.held[id] == nil {
			delete(d.workers, id)
			res.Buried++
		}
	}
	return res, nil
}

// passGate lets one pass through per RecoverEvery, and a better witness than the last one always.
func (d *data) passGate(req store.RecoverRequest) bool {
	session := never
	// Without evidence nobody bears witness, and nobody is a better one.
	if by := d.alive(req.Worker); by != nil && by.session != nil && d.cfg.Evidence != store.EvidenceNone {
		session = by.session.since
	}
	since := d.now.Sub(d.recoverAt)
	if !req.Force && since >= 0 && since < d.cfg.Timing.RecoverEvery && !session.Before(d.recoverBy) {
		return false
	}
	d.recoverAt, d.recoverBy = d.now, session
	return true
}

// verdict says how a living worker is found to be dead; empty: it is not. by is who declares, or nil.
func (d *data) verdict(w, by *worker) store.Death {
	if w.BeatAt.After(d.now) {
		w.BeatAt = d.now
	}
	silent := d.now.Sub(w.BeatAt)
	switch {
	case w.remote:
	case d.cfg.Evidence == store.EvidenceProof && w.session == nil && w.handle.gone:
		return store.DeathProof
	case d.cfg.Evidence == store.EvidenceSession && d.goneFor(w, by, silent):
		return store.DeathGone
	}
	whole := d.now.Sub(d.pulseLast) <= w.DeadAfter/3 && d.pulseLast.Sub(d.pulseSince) >= w.DeadAfter
	if silent >= w.DeadAfter && whole && !d.pulseLast.After(d.now) {
		return store.DeathSilence
	}
	return ""
}

// goneFor reports whether a session that is gone shows that its worker is. One that went with everybody else's shows nothing: it
// takes one that stood before the victim was last known to live, and still stood when the victim's was gone.
func (d *data) goneFor(w, by *worker, silent time.Duration) bool {
	if w.session != nil {
		w.goneAt, w.seenAt, w.vouched = time.Time{}, d.now, false
		return false
	}
	if w.goneAt.IsZero() {
		w.goneAt = d.now
	}
	if w.seenAt.After(d.now) {
		w.seenAt = d.now
	}
	if by == nil || by.session == nil {
		return false
	}
	older := by.session.since.Before(w.BeatAt) || by.session.since.Before(w.seenAt)
	w.vouched = w.vouched || older
	// What an older one has seen a younger one may act on, once it has stood for long enough to hear a beat of the victim's.
	heard := w.vouched && d.now.Sub(by.session.since) >= d.every(w)
	seen := d.now.Sub(w.goneAt)
	return (older || heard) && silent >= d.cfg.Timing.GoneAfter && !w.BeatAt.After(w.goneAt) && seen >= d.every(w)
}

// recoverDead puts back what the dead hold, and what is held under no record at all.
func (d *data) recoverDead(limit int, res *store.RecoverResult) {
	for _, id := range slices.Sorted(maps.Keys(d.held)) {
		w := d.workers[id]
		if w == nil {
			w = &worker{Worker: store.Worker{ID: id, Death: store.DeathSilence}}
		} else if w.DeadAt.IsZero() {
			continue
		}
		for _, t := range d.holds(id) {
			if len(res.Tasks) >= limit {
				res.More = true
				return
			}
			res.Tasks = append(res.Tasks, d.putBack(t, w))
		}
	}
}

// putBack takes a task from a worker that is dead or has left.
func (d *data) putBack(t *task, w *worker) store.Recovered {
	r := store.Recovered{ID: t.ID, Kind: t.Kind, Queue: t.Queue, Worker: w.ID, Death: w.Death}
	switch {
	case t.Staged != nil:
		r.Settled = true
		d.settle(t, *t.Staged)
	case t.corrupt:
		d.endCorrupt(t)
	default:
		r.Crash = w.Death == store.DeathProof || w.Death == store.DeathGone ||
			w.Death == store.DeathSilence && (w.remote || d.cfg.Evidence == store.EvidenceNone)
		d.takeBack(t, w, r.Crash)
	}
	r.State, r.Reason = t.State, t.Reason
	return r
}

// takeBack decides what becomes of a task whose run was cut short.
func (d *data) takeBack(t *task, w *worker, crash bool) {
	suspect := t.Suspect
	if crash {
		t.Crashes++
		t.CrashRun++
		judge(t)
		d.event(t, store.EventCrashed, string(w.Death))
		d.count(t, func(m *store.Minute) { m.Crashed++ })
	} else {
		d.event(t, store.EventRecovered, string(w.Death))
	}
	crashed := &store.Error{Message: "its worker died while it ran", Type: store.ReasonCrashed}
	switch {
	case d.overruled(t) && !t.Owned:
		d.end(t, ending{state: store.Cancelled, reason: t.Asked})
	case d.overruled(t):
		d.ready(t)
	case crash && suspect && t.Alone && w.HeldAt <= 1 && t.Owned:
		t.Error, t.Reason = crashed, store.ReasonCrashed
		d.event(t, store.EventHeld, store.ReasonCrashed)
		d.move(t, store.Held)
	case crash && suspect && t.Alone && w.HeldAt <= 1:
		d.end(t, ending{state: store.Failed, reason: store.ReasonCrashed, err: crashed})
	case crash && t.Retry.CrashSpends:
		d.spend(t, crashed)
	default:
		t.Solo = t.Solo || crash && suspect
		d.move(t, store.Ready)
	}
}

// spend counts a failed attempt that no handler told of.
func (d *data) spend(t *task, err *store.Error) {
	t.Attempts++
	t.Error, t.Charged = err, false
	switch {
	case !t.Retry.Spent(t.Attempts):
		d.wait(t, t.Retry.Wait(t.Attempts))
	case t.Owned:
		t.Reason = store.ReasonAttempts
		d.event(t, store.EventHeld, t.Reason)
		d.move(t, store.Held)
	default:
		d.end(t, ending{state: store.Failed, reason: store.ReasonAttempts, err: err})
	}
}

// recoverStuck takes tasks from living owners that are long past the deadline of their attempt.
func (d *data) recoverStuck(limit int, res *store.RecoverResult) {
	for {
		t := d.overdue.head()
		if t == nil || d.now.Sub(t.DeadlineAt) < d.cfg.Timing.StuckGrace {
			return
		}
		if len(res.Tasks) >= limit {
			res.More = true
			return
		}
		r := store.Recovered{ID: t.ID, Kind: t.Kind, Queue: t.Queue, Worker: t.Worker}
		switch {
		case t.Staged != nil:
			r.Settled = true
			d.settle(t, *t.Staged)
		case t.corrupt:
			d.endCorrupt(t)
		case d.overruled(t) && !t.Owned:
			d.end(t, ending{state: store.Cancelled, reason: t.Asked})
		default:
			d.event(t, store.EventRecovered, store.ReasonStuck)
			d.spend(t, &store.Error{Message: "it did not end in its time, and its owner did not say why", Type: store.ReasonStuck})
		}
		r.State, r.Reason = t.State, t.Reason
		res.Tasks = append(res.Tasks, r)
	}
}
