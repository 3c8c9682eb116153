package sqlite

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
func (s *step) end(t *task, e ending) {
	if t.corrupt {
		t.corrupt, t.keeps = false, true // what it keeps cannot be read either
		t.entries, t.messages = true, true
	}
	s.event(t, store.EventEnded, e.reason)
	s.move(t, e.state)
	t.Reason, t.Result, t.EndedAt, t.StartByAt = e.reason, e.result, s.now, time.Time{}
	if e.err != nil {
		t.Error = e.err
	}
	s.change(t)
	s.emptyInbox(t)
	s.count(t, func(m *store.Minute) {
		switch e.state {
		case store.Done:
			m.Done++
		case store.Failed:
			m.Failed++
		default:
			m.Cancelled++
		}
	})
	s.letKeyGo(t)
	s.leaveLine(t)
	if t.OnEnd != nil {
		next := *t.OnEnd
		next.ID, next.Parent, next.Group = store.OnEndID(t.ID, t.Round), t.ID, store.ID{}
		s.submit(next, true)
	}
	s.countEnd(t, 1)
	s.wake(t.Parent)
	s.mayExpire(t)
	s.released(t)
}

// endCorrupt ends a task whose record cannot be read.
func (s *step) endCorrupt(t *task) {
	s.end(t, ending{state: store.Failed, reason: store.ReasonCorrupt, err: &store.Error{Message: "the record cannot be read", Type: store.ReasonCorrupt}})
}

// leaveLine tells that the next head of a line may be claimed, and keeps in mind that a failed task fails the rest.
func (s *step) leaveLine(t *task) {
	if t.Order == store.OrderFail && t.State == store.Failed && t.Reason != store.ReasonOrder {
		s.do("broken_put", t.ID, lineOf(t), t.EndedAt)
	}
	if t.Order != store.Unordered && !t.inLine() {
		s.hints.work(t.Queue)
	}
}

// mendLine forgets that a task has failed the rest of its line: it is retried or deleted.
func (s *step) mendLine(t *task) {
	if t.Order == store.OrderFail && t.State == store.Failed {
		s.do("broken_delete", t.ID)
	}
}

// broken reports whether a task fails because one before it in its line did.
func (s *step) broken(t *task) bool {
	return t.Order == store.OrderFail && s.number("broken_get", lineOf(t), t.CreatedAt, t.ID) != 0
}

// failOrdered ends a task because one before it in its line failed. An Owned one is asked to end itself.
func (s *step) failOrdered(t *task) {
	if t.Owned {
		s.ask(t, store.ReasonOrder)
		return
	}
	s.end(t, ending{state: store.Failed, reason: store.ReasonOrder, err: &store.Error{Message: "a task before it in its lane failed", Type: store.ReasonOrder}})
}

// released lets those expire that had to wait for the end of t.
func (s *step) released(t *task) {
	if !t.Parent.IsZero() && t.ID == onEndOf(s.task(t.Parent)) {
		s.mayExpire(s.task(t.Parent))
	}
	if t.keeps {
		s.unkeepAll(t)
	}
}

// onEndOf is the id of the task that follows the ending of t, if t has ended and one does.
func onEndOf(t *task) store.ID {
	if t == nil || t.OnEnd == nil || !t.State.Terminal() {
		return store.ID{}
	}
	return store.OnEndID(t.ID, t.Round)
}

// mayExpire sets when a task is removed, once nothing holds it back: the task that follows its ending, its group.
func (s *step) mayExpire(t *task) {
	if t.State != store.Done && t.State != store.Cancelled || !t.ExpireAt.IsZero() {
		return
	}
	if next := s.task(onEndOf(t)); next != nil && next.mayRun() {
		return
	}
	if !t.Group.IsZero() && !t.marked {
		return
	}
	if t.Retention == 0 {
		s.strip(t)
	}
	if t.Retention >= 0 {
		t.ExpireAt = t.EndedAt.Add(max(t.Retention, s.s.cfg.Timing.Horizon))
		s.change(t)
	}
}

// mayRun reports whether a task may run, now or after a Retry.
func (t *task) mayRun() bool { return t.State != store.Done && !t.Stripped }

// strip leaves the bare record: what tells a repeated Submit that its task has been.
func (s *step) strip(t *task) {
	t.Stripped = true
	t.changed = t.changed || len(t.Args) > 0
	t.Args, t.Result, t.History = nil, nil, nil
	s.dropBelongings(t)
	s.change(t)
}

// dropBelongings removes a task's checkpoint and messages.
func (s *step) dropBelongings(t *task) {
	if t.entries {
		s.do("entry_delete_all", t.seq)
	}
	if t.messages {
		s.do("message_delete_all", t.seq)
	}
	t.entries, t.messages = false, false
}

// remove takes a terminal task out of the store, with all that belongs to it.
func (s *step) remove(t *task) {
	s.flushTasks()
	s.dropKey(t)
	s.mendLine(t)
	s.dropBelongings(t)
	if n := s.do("task_delete", t.seq); n != 1 && s.err == nil {
		s.fail(errMoved)
	}
	t.removed = true
	s.tally(t.Queue).total--
	if t.inLine() {
		s.hints.work(t.Queue)
	}
	s.released(t)
	s.leaveGroup(t)
}
