package sqlite

import "slices"

// ahead is the first tasks of a lane in their order, as far as a step has read them: it takes them one by one, and asks the index for
// several at once. Each look asks for more than the one before, so what is read in vain is never much more than what is taken.
type ahead struct {
	tasks []*task
	whole bool // nothing comes after them
	next  int  // how many the next look asks for
}

// aheadGrowth is how many times as many tasks the next look asks for.
const aheadGrowth = 4

// lookAhead returns the first task of a lane, or nil.
func (s *step) lookAhead(l *lane) *task {
	a := &l.ahead
	if len(a.tasks) == 0 && !a.whole {
		n := max(min(a.next, s.wants), 1)
		a.tasks = s.list("task_ahead", l.id, n)
		a.whole, a.next = len(a.tasks) < n, n*aheadGrowth
	}
	if len(a.tasks) == 0 {
		return nil
	}
	return a.tasks[0]
}

// add puts in a task that has come into the lane. One that comes after all that were read is found by the next look.
func (a *ahead) add(t *task) {
	at := len(a.tasks)
	for at > 0 && t.before(a.tasks[at-1]) {
		at--
	}
	if at < len(a.tasks) || a.whole {
		a.tasks = slices.Insert(a.tasks, at, t)
	}
}

// drop takes a task out that has left the lane.
func (a *ahead) drop(t *task) {
	switch at := slices.Index(a.tasks, t); {
	case at == 0:
		a.tasks = a.tasks[1:]
	case at > 0:
		a.tasks = slices.Delete(a.tasks, at, at+1)
	}
}

// before reports whether a task comes before another of its lane.
func (t *task) before(other *task) bool {
	rank, turn := other.order()
	return t.precedes(rank, turn, other.ID)
}
