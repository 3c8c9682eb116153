package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// move takes a task out of where its state has put it and into where the new state puts it. Every change of state goes through
// here, so state, owner, slot, lane and counts never disagree. The orders that are indexes follow by task.standing.
func (s *step) move(t *task, to store.State) {
	s.exit(t)
	t.State = to
	if to != store.Held && !to.Terminal() {
		t.Reason = ""
	}
	s.touch(t)
	s.tallyState(t, 1)
	switch to {
	case store.Ready:
		t.ReadyAt = s.now
		s.enqueue(t)
	case store.Scheduled, store.Parked:
		s.addDue(t)
	case store.Held:
		if t.Reason == store.ReasonGroup {
			s.group(t.Group).await(1)
		}
	case store.Running:
		s.hold(t.Worker, 1)
		s.take(t)
	}
}

// exit takes a task out of where its state has put it. Leaving running frees the limit's slot and ends the ownership.
func (s *step) exit(t *task) {
	s.tallyState(t, -1)
	switch t.State {
	case store.Ready:
		s.dequeue(t)
	case store.Scheduled, store.Parked:
		if s.due.id == t.ID {
			s.due.known = false
		}
	case store.Held:
		if g := s.group(t.Group); g != nil && t.Reason == store.ReasonGroup {
			g.await(-1)
		}
	case store.Running:
		s.give(t)
		s.hold(t.Worker, -1)
		t.Worker, t.Nonce, t.Staged, t.DeadlineAt, t.Alone = "", store.ID{}, nil, time.Time{}, false
	}
}

// dueHead is the task that is due before all others, once somebody has asked.
type dueHead struct {
	known bool
	at    time.Time
	id    store.ID // zero: nothing is due, ever
}

func (h *dueHead) after(t *task) bool {
	return h.id.IsZero() || t.DueAt.Before(h.at) || t.DueAt.Equal(h.at) && idLess(t.ID, h.id)
}

// addDue lets a task wait for its time. Who waits for the next due time must hear of one that is sooner.
func (s *step) addDue(t *task) {
	switch {
	case t.DueAt.IsZero():
		return
	case !s.due.known:
		s.due = dueHead{known: true}
		s.flushTasks()
		s.query("task_next_due", func(r *sqlite.Stmt) { s.due.at, s.due.id = instant(r.ColumnInt64(0)), idOf(r, 1) })
	case s.due.after(t):
		s.due.at, s.due.id = t.DueAt, t.ID
	}
	if s.due.id == t.ID {
		s.hints.work(t.Queue)
	}
}

// touch notes that a record has changed.
func (s *step) touch(t *task) {
	t.Version++
	t.UpdatedAt = s.now
	s.change(t)
	s.hints.task(t.ID, t.State != store.Held && !t.State.Terminal())
}

// event adds a line to a task's history, of which the newest are kept.
func (s *step) event(t *task, kind store.EventKind, text string) {
	if len(t.History) >= store.HistoryLimit {
		t.History = append(t.History[:0:0], t.History[1:]...)
	}
	t.History = append(t.History, store.Event{At: s.now, Kind: kind, Epoch: t.Epoch, Worker: t.Worker, Text: text})
	s.change(t)
}

// ready makes a task ready that waits no longer for anything.
func (s *step) ready(t *task) {
	t.DueAt = s.now
	s.move(t, store.Ready)
}

// wait makes a task due after a while.
func (s *step) wait(t *task, delay time.Duration) {
	if delay <= 0 {
		s.ready(t)
		return
	}
	t.DueAt = s.now.Add(delay)
	s.move(t, store.Scheduled)
}

// wake bumps the count of wakes, and makes a parked task ready.
func (s *step) wake(id store.ID) {
	t := s.task(id)
	if t == nil || t.State.Terminal() {
		return
	}
	t.Wakes++
	if t.State == store.Parked {
		s.ready(t)
		return
	}
	s.touch(t)
}

// ask wants a task to end from outside: one that waits ends, one that runs is asked, an Owned one is made ready to end itself.
func (s *step) ask(t *task, reason string) {
	switch {
	case t.State.Terminal():
	case t.State != store.Running && !t.Owned:
		s.end(t, ending{state: store.Cancelled, reason: reason})
	case t.Asked != "":
	default:
		t.Asked, t.Told = reason, false
		t.Wakes++
		s.event(t, store.EventAsked, reason)
		if t.State != store.Running {
			s.ready(t)
			return
		}
		s.touch(t)
		s.hints.asked(t.ID, t.Worker)
	}
}

// overruled reports whether a request turns a step out of running into something else. The abort of its group is one, also
// before Promote has come to the task.
func (s *step) overruled(t *task) bool {
	if g := s.group(t.Group); g != nil && g.Aborting != "" && t.Asked == "" {
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
