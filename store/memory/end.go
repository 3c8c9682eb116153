package memory

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// ending is how a task ends.
type ending struct {
	state  store.State
	reason string
	result []byte
	err    *store.Error
}

// end is the one road to a terminal state: whoever ends a task, all that follows from it happens in this step.
func (d *data) end(t *task, e ending) {
	d.event(t, store.EventEnded, e.reason)
	d.startBy.remove(t)
	d.move(t, e.state)
	t.Reason, t.Result, t.EndedAt, t.StartByAt = e.reason, e.result, d.now, time.Time{}
	if e.err != nil {
		t.Error = e.err
	}
	for _, m := range t.inbox {
		delete(t.seen, m.ID) // it was not used: sent again after a Retry, it is another chance
	}
	t.inbox = nil
	d.count(t, func(m *store.Minute) {
		switch e.state {
		case store.Done:
			m.Done++
		case store.Failed:
			m.Failed++
		default:
			m.Cancelled++
		}
	})
	d.letKeyGo(t)
	d.leaveLine(t)
	if t.OnEnd != nil {
		next := *t.OnEnd
		next.ID, next.Parent, next.Group = store.OnEndID(t.ID, t.Round), t.ID, store.ID{}
		d.submit(next, true)
	}
	d.countEnd(t, 1)
	d.wake(t.Parent)
	d.mayExpire(t)
	d.released(t)
}

// released lets those expire that had to wait for the end of t.
func (d *data) released(t *task) {
	if p := d.tasks[t.Parent]; p != nil && p.OnEnd != nil && p.State.Terminal() && store.OnEndID(p.ID, p.Round) == t.ID {
		d.mayExpire(p)
	}
	groups := d.keepers[t.ID]
	delete(d.keepers, t.ID)
	for _, g := range groups {
		d.unkeep(g)
	}
}

// mayExpire sets when a task is removed, once nothing holds it back: the task that follows its ending, its group.
func (d *data) mayExpire(t *task) {
	if t.State != store.Done && t.State != store.Cancelled || !t.ExpireAt.IsZero() {
		return
	}
	if t.OnEnd != nil {
		if next := d.tasks[store.OnEndID(t.ID, t.Round)]; next != nil && next.mayRun() {
			return
		}
	}
	if !t.Group.IsZero() && !t.marked {
		return
	}
	if t.Retention == 0 {
		strip(t)
	}
	if t.Retention >= 0 {
		t.ExpireAt = t.EndedAt.Add(max(t.Retention, d.cfg.Timing.Horizon))
		d.expiry.add(t)
	}
}

// mayRun reports whether a task may run, now or after a Retry.
func (t *task) mayRun() bool { return t.State != store.Done && !t.Stripped }

// strip leaves the bare record: what tells a repeated Submit that its task has been.
func strip(t *task) {
	t.Stripped = true
	t.Args, t.Result, t.History, t.entries, t.inbox, t.seen = nil, nil, nil, nil, nil, nil
}

// remove takes a terminal task out of the store, with all that belongs to it.
func (d *data) remove(t *task) {
	d.expiry.remove(t)
	if k := d.keys[keyOf(t)]; k != nil && k.task == t.ID {
		delete(d.keys, keyOf(t))
	}
	d.mendLine(t)
	if l := d.lines[lineOf(t)]; l != nil {
		l.tasks.remove(t)
		d.dropLine(lineOf(t), l)
	}
	delete(d.tasks, t.ID)
	d.released(t)
	g := d.groups[t.Group]
	if g == nil {
		return
	}
	if t.member != nil {
		t.member.remove(t)
	}
	if g.records--; g.records == 0 {
		d.bareGroup(g)
	}
}
