package memory

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// move takes a task out of where its state has put it and into where the new state puts it. Every change of state goes through
// here, so state, owner, slot and indexes never disagree.
func (d *data) move(t *task, to store.State) {
	d.exit(t)
	t.State = to
	if to != store.Held && !to.Terminal() {
		t.Reason = ""
	}
	d.touch(t)
	switch to {
	case store.Ready:
		t.ReadyAt = d.now
		d.enqueue(t)
	case store.Scheduled:
		d.addDue(t)
	case store.Parked:
		if !t.DueAt.IsZero() {
			d.addDue(t)
		}
	case store.Held:
		if t.Reason == store.ReasonGroup {
			d.groups[t.Group].waiting.add(t)
		}
	case store.Running:
		d.heldBy(t.Worker).add(t)
		d.take(t)
		if !t.DeadlineAt.IsZero() {
			d.overdue.add(t)
		}
	}
}

// addDue lets a task wait for its time. Who waits for the next due time must hear of one that is sooner.
func (d *data) addDue(t *task) {
	d.due.add(t)
	if d.due.head() == t {
		d.notice(store.Notice{Kind: store.NoticeWork, Queue: t.Queue})
	}
}

// exit takes a task out of where its state has put it. Leaving running frees the limit's slot and ends the ownership.
func (d *data) exit(t *task) {
	switch t.State {
	case store.Ready:
		d.dequeue(t)
	case store.Scheduled, store.Parked:
		d.due.remove(t)
	case store.Held:
		if g := d.groups[t.Group]; g != nil {
			g.waiting.remove(t)
		}
	case store.Running:
		d.heldBy(t.Worker).remove(t)
		if d.held[t.Worker].len() == 0 {
			delete(d.held, t.Worker)
		}
		d.overdue.remove(t)
		d.give(t)
		t.Worker, t.Nonce, t.Staged, t.DeadlineAt, t.Alone = "", store.ID{}, nil, time.Time{}, false
	}
}

// touch notes that a record has changed.
func (d *data) touch(t *task) {
	t.Version++
	t.UpdatedAt = d.now
	d.notice(store.Notice{Kind: store.NoticeTask, Task: t.ID})
}

// event adds a line to a task's history, of which the newest are kept.
func (d *data) event(t *task, kind store.EventKind, text string) {
	if len(t.History) >= store.HistoryLimit {
		t.History = append(t.History[:0:0], t.History[1:]...)
	}
	t.History = append(t.History, store.Event{At: d.now, Kind: kind, Epoch: t.Epoch, Worker: t.Worker, Text: text})
}

// heldBy returns what a worker holds, by id.
func (d *data) heldBy(worker string) *taskHeap {
	h := d.held[worker]
	if h == nil {
		h = &taskHeap{slot: slotHeld, less: byID}
		d.held[worker] = h
	}
	return h
}

// ready makes a task ready that waits no longer for anything.
func (d *data) ready(t *task) {
	t.DueAt = d.now
	d.move(t, store.Ready)
}

// wait makes a task due after a while.
func (d *data) wait(t *task, delay time.Duration) {
	if delay <= 0 {
		d.ready(t)
		return
	}
	t.DueAt = d.now.Add(delay)
	d.move(t, store.Scheduled)
}

// wake bumps the count of wakes, and makes a parked task ready.
func (d *data) wake(id store.ID) {
	t := d.tasks[id]
	if t == nil || t.State.Terminal() {
		return
	}
	t.Wakes++
	if t.State == store.Parked {
		d.ready(t)
		return
	}
	d.touch(t)
}

// ask wants a task to end from outside: one that waits ends, one that runs is asked, an Owned one is made ready to end itself.
func (d *data) ask(t *task, reason string) {
	switch {
	case t.State.Terminal():
	case t.State != store.Running && !t.Owned:
		d.end(t, ending{state: store.Cancelled, reason: reason})
	case t.Asked != "":
	default:
		t.Asked, t.Told = reason, false
		t.Wakes++
		d.event(t, store.EventAsked, reason)
		if t.State != store.Running {
			d.ready(t)
			return
		}
		d.touch(t)
		d.notice(store.Notice{Kind: store.NoticeAsked, Task: t.ID})
	}
}

// overruled reports whether a request turns a step out of running into something else. The abort of its group is one, also
// before Promote has come to the task.
func (d *data) overruled(t *task) bool {
	if g := d.groups[t.Group]; g != nil && g.Aborting != "" && t.Asked == "" {
		t.Asked, t.Told = g.Aborting, false
	}
	return t.Asked != "" && (!t.Told || !t.Owned)
}

// judge sets whether a task is a suspect by what it has been through.
func judge(t *task) {
	t.Suspect = t.CrashRun >= store.Suspicion || t.Crashes >= store.CrashBudget
	t.Solo = t.Solo && t.Suspect
}

// absolve forgets the crashes since the last sign of progress.
func absolve(t *task) {
	t.CrashRun = 0
	judge(t)
}
