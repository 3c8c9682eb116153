package sqlite

import (
	"bytes"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

func idLess(a, b store.ID) bool { return bytes.Compare(a[:], b[:]) < 0 }

// readLane reads a row of lanes.
func readLane(r *sqlite.Stmt) *lane {
	return &lane{
		id: r.ColumnInt64(0), queue: r.ColumnText(1), kind: r.ColumnText(2), name: string(blobOf(r, 3)),
		key: r.ColumnText(4), limit: r.ColumnText(5), ordered: r.ColumnBool(6), suspect: r.ColumnBool(7), ready: r.ColumnInt64(8),
		head: idOf(r, 9), rank: r.ColumnInt64(10), turn: r.ColumnInt64(11), priority: r.ColumnInt(12),
		since: instant(r.ColumnInt64(13)), charged: r.ColumnBool(14),
	}
}

// knownLane returns the lane of a row: as this step has it, if it has changed it.
func (s *step) knownLane(r *sqlite.Stmt) *lane {
	if l := s.laneID[r.ColumnInt64(0)]; l != nil {
		return l
	}
	l := readLane(r)
	s.keepLane(l)
	return l
}

func (s *step) keepLane(l *lane) {
	s.lanes[laneKey{l.queue, l.name}] = l
	s.laneID[l.id] = l
}

func (s *step) laneNamed(queue, kind, name string) *lane {
	l, ok := s.lanes[laneKey{queue, name}]
	if !ok {
		s.query("lane_by_name", func(r *sqlite.Stmt) { l = s.knownLane(r) }, queue, kind, []byte(name))
		s.lanes[laneKey{queue, name}] = l
	}
	return l
}

func (s *step) laneByID(id int64) *lane {
	l := s.laneID[id]
	if l == nil {
		s.query("lane_by_id", func(r *sqlite.Stmt) { l = s.knownLane(r) }, id)
	}
	return l
}

func (s *step) createLane(l *lane) {
	s.do("lane_insert", l.queue, l.kind, []byte(l.name), l.key, l.limit, l.ordered, l.suspect, l.ready,
		l.head, l.rank, l.turn, l.priority, l.since, l.charged)
	l.id = s.raw.LastInsertRowID()
	s.keepLane(l)
}

// dropLane removes a lane that is empty.
func (s *step) dropLane(l *lane) {
	s.do("lane_delete", l.id)
	delete(s.laneID, l.id)
	delete(s.lanes, laneKey{l.queue, l.name})
	l.dirty, l.stale = false, false
}

// flushLanes writes the lanes that have changed.
func (s *step) flushLanes() {
	for id, l := range s.laneID {
		if !l.dirty {
			continue
		}
		l.dirty = false
		s.fresh(l)
		s.do("lane_update", id, l.ready, l.head, l.rank, l.turn, l.priority, l.since, l.charged)
	}
}
