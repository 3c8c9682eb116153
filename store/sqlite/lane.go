package sqlite

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

type laneKey struct{ queue, name string }

// lane is the ready tasks of one queue, kind, lane key, limit key, order and suspicion. It exists while it has some.
type lane struct {
	id               int64
	queue, kind      string
	name, key, limit string
	ordered, suspect bool
	ready            int64

	// Of its first task:
	head       store.ID
	rank, turn int64
	priority   int
	since      time.Time
	charged    bool

	stale bool // the first task must be looked up
	dirty bool
	ahead ahead
}

// lineOf names the line of an ordered lane: all tasks of it that have not ended, suspects or not. Only the oldest may run.
func lineOf(t *task) []byte { return lineName(t.Queue, t.Kind, t.Lane, t.Limit) }

func lineName(queue, kind, key, limit string) []byte {
	return []byte(queue + "\x00" + kind + "\x00" + key + "\x00" + limit)
}

// inLine reports whether a task stands in a line. One that failed in a lane that blocks stays there.
func (t *task) inLine() bool {
	switch {
	case t.Order == store.Unordered:
		return false
	case t.State == store.Failed:
		return t.Order == store.OrderBlock
	}
	return !t.State.Terminal()
}

// order is the order inside a lane: priority, then due, then id; an ordered lane goes by id alone.
func (t *task) order() (rank, turn int64) {
	if t.Order != store.Unordered {
		return 0, 0
	}
	return int64(-t.Priority), nanos(t.DueAt)
}

// enqueue puts a task into its lane.
func (s *step) enqueue(t *task) {
	s.hints.work(t.Queue)
	name := store.LaneName(t.Kind, t.Lane, t.Limit, t.Order, t.Suspect)
	l := s.laneNamed(t.Queue, t.Kind, name)
	if l == nil {
		l = &lane{
			queue: t.Queue, kind: t.Kind, name: name, key: t.Lane, limit: t.Limit,
			ordered: t.Order != store.Unordered, suspect: t.Suspect, ready: 1,
		}
		l.lead(t)
		l.ahead = ahead{tasks: []*task{t}, whole: true}
		s.createLane(l)
		t.lane = l.id
		return
	}
	l.ready++
	l.dirty = true
	l.ahead.add(t)
	t.lane = l.id
	if !l.stale && t.precedes(l.rank, l.turn, l.head) {
		l.lead(t)
	}
}

// precedes reports whether a task comes before one of its lane that stands so in its order.
func (t *task) precedes(rank, turn int64, id store.ID) bool {
	r, at := t.order()
	switch {
	case r != rank:
		return r < rank
	case at != turn:
		return at < turn
	}
	return idLess(t.ID, id)
}

// lead makes a task the first one of a lane.
func (l *lane) lead(t *task) {
	l.rank, l.turn = t.order()
	l.head, l.priority, l.since, l.charged, l.stale = t.ID, t.Priority, t.ReadyAt, t.Charged, false
}

func (s *step) dequeue(t *task) {
	l := s.laneByID(t.lane)
	t.lane = 0
	if l == nil {
		return
	}
	l.ahead.drop(t)
	if l.ready--; l.ready <= 0 {
		s.dropLane(l)
		return
	}
	l.dirty = true
	l.stale = l.stale || l.head == t.ID
}

// headOf returns the first task of a lane that has some.
func (s *step) headOf(l *lane) *task {
	var t *task
	if l.stale {
		t = s.lookAhead(l)
	} else {
		t = s.task(l.head)
	}
	if t == nil {
		s.fail(fmt.Errorf("lane %q of queue %s counts %d tasks, but none is found: %w", l.name, l.queue, l.ready, errMoved))
		return nil
	}
	l.lead(t)
	return t
}

// fresh makes sure that what a lane says of its first task is so.
func (s *step) fresh(l *lane) {
	if l.stale && l.ready > 0 {
		s.headOf(l)
	}
}

// blocked says why no claim may take from a lane now; empty: one may.
func (s *step) blocked(l *lane) string {
	switch {
	case l.ordered && s.lineBlocked(l):
		return "order"
	case s.paused(l.queue, l.kind, l.key):
		return "paused"
	case !s.opens(l.limit, l.charged).IsZero():
		return "limit"
	}
	return ""
}

func (s *step) lineBlocked(l *lane) bool {
	s.flushTasks()
	line := lineName(l.queue, l.kind, l.key, l.limit)
	if s.number("task_line_running", line) != 0 {
		return true
	}
	var head store.ID
	s.query("task_line_head", func(r *sqlite.Stmt) { head = idOf(r, 0) }, line)
	return head != l.head
}
