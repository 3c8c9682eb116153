package sqlite

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// chunk bounds what a step does besides what it was asked for.
const chunk = 100

// errMoved says that a row was not as the writer had read it, though nobody else can write.
var errMoved = errors.New("a row changed beneath the writer")

// step is one transaction of the writer: the operations of all who were gathered into it. It holds the rows they have read
// and changed; what is dirty is written before an index is asked, and at the end.
//
// A statement that does not work ends the whole step: the first error stands in err, every later look finds nothing, and
// the writer rolls back. So the operations read as if nothing could go wrong beneath them.
type step struct {
	*conn
	s   *Store
	now time.Time // of the operation under way
	err error

	kept      *kept // from the steps before
	tasks     map[store.ID]*task
	groups    map[store.ID]*group
	limits    map[string]*limit
	lanes     map[laneKey]*lane
	laneID    map[int64]*lane
	due       dueHead
	wants     int            // how many tasks a claim under way may still take
	held      map[string]int // by worker, once somebody asked
	weighs    map[laneKey]int
	sums      sums
	dirty     []*task
	newcomers []*task // of those the ones that are not stored

	stops  []store.Pause // the pauses, once they were read
	looked bool
	hints  hints
	after  []func() // what follows once all is durable
}

func newStep(s *Store, c *conn) *step {
	return &step{
		conn: c, s: s, kept: &kept{},
		tasks: map[store.ID]*task{}, groups: map[store.ID]*group{}, limits: map[string]*limit{}, lanes: map[laneKey]*lane{}, laneID: map[int64]*lane{},
		held: map[string]int{}, weighs: map[laneKey]int{}, sums: newSums(),
	}
}

func (s *step) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// do runs a statement that returns nothing.
func (s *step) do(name string, args ...any) int {
	if s.err != nil {
		return 0
	}
	n, err := s.exec(name, args...)
	if err != nil {
		s.fail(err)
	}
	return n
}

// query calls row for each row of an answer.
func (s *step) query(name string, row func(*sqlite.Stmt), args ...any) {
	if s.err != nil {
		return
	}
	if err := s.each(name, row, args...); err != nil {
		s.fail(err)
	}
}

// number returns the one number of an answer, or 0.
func (s *step) number(name string, args ...any) (n int64) {
	s.query(name, func(r *sqlite.Stmt) { n = r.ColumnInt64(0) }, args...)
	return n
}

// task returns the task of that id, or nil.
func (s *step) task(id store.ID) *task {
	if id.IsZero() {
		return nil
	}
	if t, ok := s.tasks[id]; ok {
		if t == nil || t.removed {
			return nil
		}
		return t
	}
	t := s.kept.tasks[id]
	if t == nil {
		s.query("task_get", func(r *sqlite.Stmt) { t = readTask(r) }, id)
	}
	s.tasks[id] = t
	return t
}

func (s *step) find(id store.ID) (*task, error) {
	if t := s.task(id); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("task %s: %w", id, store.ErrNotFound)
}

// first returns the first task that a query over an index names, or nil.
func (s *step) first(name string, args ...any) *task {
	list := s.list(name, args...)
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// list returns the tasks that a query over an index names.
func (s *step) list(name string, args ...any) []*task {
	s.flushTasks()
	return s.stored(name, args...)
}

// stored is list of the index as it is stored, without what this step has changed and not yet written: the records are as they are now, so
// it can be told whether each still stands there.
func (s *step) stored(name string, args ...any) (list []*task) {
	s.query(name, func(r *sqlite.Stmt) {
		id := idOf(r, 1)
		t := s.tasks[id]
		if t == nil {
			if t = s.kept.tasks[id]; t == nil {
				t = readTask(r)
			}
			s.tasks[id] = t
		}
		list = append(list, t)
	}, args...)
	return list
}

// change notes that a task is to be written.
func (s *step) change(t *task) {
	if !t.dirty {
		t.dirty = true
		s.dirty = append(s.dirty, t)
	}
}

// flush writes all that is dirty.
func (s *step) flush() {
	s.flushTasks()
	s.flushLanes()
	s.flushGroups()
	for _, l := range s.limits {
		s.writeLimit(l)
	}
	s.flushSums()
}

func (s *step) flushTasks() {
	s.newcomers = s.newcomers[:0]
	for _, t := range s.dirty {
		t.dirty = false
		switch {
		case t.removed:
		case t.seq == 0:
			s.newcomers = append(s.newcomers, t)
		default:
			s.writeTask(t)
		}
	}
	s.insertTasks(s.newcomers)
	s.dirty = s.dirty[:0]
}
