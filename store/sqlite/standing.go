package sqlite

import (
	"bytes"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// standing is a state, and where a task stands in each order; zero is nowhere.
type standing struct {
	state            store.State
	ready            standingReady
	worker           string
	deadline, expire int64
	rest             standingRest
}

// standingReady is where a ready task stands in its lane.
type standingReady struct{ lane, rank, turn, since int64 }

// standingRest is what does not change when a task is claimed and when it ends.
type standingRest struct {
	wait, startBy, stage int64
	waiting              store.ID
	line, asked          bool
}

// standing derives from the record in which orders a task stands, so that the indexes cannot disagree with it.
func (t *task) standing() (at standing) {
	at.state = t.State
	switch t.State {
	case store.Ready:
		at.ready.lane, at.ready.since = t.lane, nanos(t.ReadyAt)
		at.ready.rank, at.ready.turn = t.order()
	case store.Scheduled, store.Parked:
		at.rest.wait = nanos(t.DueAt)
	case store.Held:
		if t.Reason == store.ReasonGroup {
			at.rest.waiting = t.Group
		}
	case store.Running:
		at.worker, at.deadline = t.Worker, nanos(t.DeadlineAt)
		at.rest.asked = t.Asked != "" && !t.Told
	}
	at.rest.startBy, at.rest.stage, at.rest.line = nanos(t.StartByAt), int64(t.stage), t.inLine()
	at.expire = nanos(t.ExpireAt)
	return at
}

// lanes are the columns of a ready task; null if it is not.
func (at *standing) lanes() (lane, rank, turn, since any) {
	if at.ready.lane == 0 {
		return nil, nil, nil, nil
	}
	return at.ready.lane, at.ready.rank, at.ready.turn, at.ready.since
}

// asked is the column of a running task that was asked to end; null if it was not.
func (at *standing) asked() any {
	if !at.rest.asked {
		return nil
	}
	return 1
}

// writeTask writes a task that is stored, and where it stands. The fewer columns a statement names, the fewer indexes it opens: a claim, the end of a
// run, and a record that stays where it is have statements of their own.
func (s *step) writeTask(t *task) {
	at, stood := t.standing(), t.stood
	lane, rank, turn, since := at.lanes()
	state, worker, deadline, expire := stateNumber(t.State), orNull(at.worker), orNull(at.deadline), orNull(at.expire)
	switch {
	case at == stood:
		s.oneRow(t, s.do("task_touch", t.seq, t.stored, t.Version, t.Epoch, s.encoded(t)))
	case at.rest != stood.rest:
		s.oneRow(t, s.do("task_update", t.seq, t.stored, state, t.Version, t.Epoch,
			lane, rank, turn, since, orNull(at.rest.wait), orNull(at.rest.startBy), worker, deadline,
			t.line(&at), orNull(at.rest.waiting), orNull(at.rest.stage), expire, s.encoded(t), at.asked()))
	case at.expire == stood.expire:
		s.oneRow(t, s.do("task_take", t.seq, t.stored, state, t.Version, t.Epoch, lane, rank, turn, since, worker, deadline, s.encoded(t)))
	case at.ready == stood.ready:
		s.oneRow(t, s.do("task_end", t.seq, t.stored, state, t.Version, t.Epoch, worker, deadline, expire, s.encoded(t)))
	default:
		s.oneRow(t, s.do("task_move", t.seq, t.stored, state, t.Version, t.Epoch,
			lane, rank, turn, since, worker, deadline, expire, s.encoded(t)))
	}
	t.stored, t.stood = t.Version, at
	if t.changed {
		s.do("task_strip", t.seq, s.encodedSpec(t))
		t.changed = false
	}
}

// insertMany is how many tasks one statement inserts.
const insertMany = 16

// insertTasks writes tasks that are not stored, and where they stand. By id they come one behind the other in the indexes, too.
func (s *step) insertTasks(list []*task) {
	slices.SortFunc(list, func(a, b *task) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	for len(list) >= insertMany {
		name, many := "task_insert_many", list[:insertMany]
		if alike(many) {
			name = "task_insert_ready"
		}
		s.insert(name, many)
		list = list[insertMany:]
	}
	for i := range list {
		s.insert("task_insert", list[i:i+1])
	}
}

// alike reports whether tasks have become ready in one lane in this moment, and differ in nothing but what "task_insert_ready" is told of each.
func alike(list []*task) bool {
	first := list[0]
	for _, t := range list {
		at := t.standing()
		if at.state != store.Ready || at.ready.lane != first.lane || at.rest != (standingRest{}) || t.Version != 1 || t.Epoch != 0 ||
			!t.CreatedAt.Equal(first.CreatedAt) || !t.ReadyAt.Equal(t.CreatedAt) || t.Unique.Key != "" || !t.Parent.IsZero() || !t.Group.IsZero() {
			return false
		}
	}
	return true
}

// insert writes as many tasks as a statement takes.
func (s *step) insert(name string, list []*task) {
	if s.err != nil {
		return
	}
	st, err := s.prepare(name, nil)
	if err != nil {
		s.fail(err)
		return
	}
	if name == "task_insert_ready" {
		s.bindReady(st, list)
	} else {
		s.bindTasks(st, list)
	}
	switch n, err := s.alter(name, st); {
	case err != nil:
		s.fail(err)
	case n != len(list):
		s.fail(fmt.Errorf("%d of %d tasks were inserted: %w", n, len(list), errMoved))
	}
	last := s.raw.LastInsertRowID() // numbers are given one after the other
	for i, t := range list {
		t.seq, t.changed = last-int64(len(list)-1-i), false
		t.stored, t.stood = t.Version, t.standing()
	}
}

func (s *step) bindTasks(st *sqlite.Stmt, list []*task) {
	columns := st.BindParamCount() / len(list)
	for i, t := range list {
		for j, a := range s.row(t) {
			bind(st, i*columns+j+1, a)
		}
	}
}

// bindReady is bindTasks of tasks that are alike.
func (s *step) bindReady(st *sqlite.Stmt, list []*task) {
	first := list[0]
	bind(st, 1, first.Queue)
	bind(st, 2, first.Kind)
	bind(st, 3, first.CreatedAt)
	bind(st, 4, orNull(first.Limit))
	bind(st, 5, first.lane)
	n := 5
	for _, t := range list {
		rank, turn := t.order()
		st.BindBytes(n+1, t.ID[:])
		st.BindInt64(n+2, t.Line)
		st.BindInt64(n+3, rank)
		st.BindInt64(n+4, turn)
		st.BindBytes(n+5, s.encoded(t))
		st.BindBytes(n+6, s.encodedSpec(t))
		n += 6
	}
}

// row is a task as it is inserted, until the next is asked for.
func (s *step) row(t *task) []any {
	at := t.standing()
	lane, rank, turn, since := at.lanes()
	s.args = append(s.args[:0],
		t.ID, stateNumber(t.State), t.Version, t.Epoch, t.Queue, t.Kind, t.CreatedAt, orNull(t.Limit), orNull(t.Unique.Key),
		orNull(t.Parent), orNull(t.Group), t.Line,
		lane, rank, turn, since, orNull(at.rest.wait), orNull(at.rest.startBy), orNull(at.worker), orNull(at.deadline),
		t.line(&at), orNull(at.rest.waiting), orNull(at.rest.stage), orNull(at.expire), s.encoded(t), s.encodedSpec(t), at.asked())
	return s.args
}

// encoded is the body of a task, until the next is encoded: who binds it copies it.
func (s *step) encoded(t *task) []byte {
	b := t.encode(s.body)
	s.body = room(b)
	return b
}

func (s *step) encodedSpec(t *task) []byte {
	b := encodeSpec(&t.Spec, s.spec)
	s.spec = room(b)
	return b
}

// room is that of a buffer for the next one to use, unless it is large.
func room(b []byte) []byte {
	if cap(b) > 64<<10 {
		return nil
	}
	return b[:0]
}

// line names the line that a task stands in, or null.
func (t *task) line(at *standing) any {
	if !at.rest.line {
		return nil
	}
	return lineOf(t)
}

// oneRow checks that a write of a task met its row as it was read.
func (s *step) oneRow(t *task, n int) {
	if n != 1 && s.err == nil {
		s.fail(fmt.Errorf("write task %s: %w", t.ID, errMoved))
	}
}
