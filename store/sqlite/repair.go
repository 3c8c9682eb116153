package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

var _ store.Repairer = (*Store)(nil)

// Repair derives one thing anew from the records of tasks.
func (s *Store) Repair(ctx context.Context, r store.Repair) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	return write(ctx, s, func(s *step) (bool, error) {
		s.flush() // what is counted is counted in the file
		switch {
		case r.Limit != "":
			return s.repairLimit(r.Limit), nil
		case r.Key != "":
			return s.repairKey(r), nil
		}
		return s.repairGroup(r.Group), nil
	})
}

// repairLimit counts the slots of a limit key.
func (s *step) repairLimit(key string) bool {
	n := int(s.number("repair_slots", key))
	if l := s.limit(key); l == nil && n == 0 || l != nil && l.running == n {
		return false
	}
	s.limitRow(key).running = n
	s.hints.everything()
	return true
}

// repairKey takes a key from who may not hold it, and gives it to who must.
func (s *step) repairKey(r store.Repair) (mended bool) {
	var holder store.ID
	var until time.Time
	s.query("key_get", func(row *sqlite.Stmt) { holder, until = idOf(row, 0), instant(row.ColumnInt64(1)) }, r.Kind, r.Key)
	if !holder.IsZero() {
		if t := s.task(holder); t != nil && t.Holds(r.Kind, r.Key, until) {
			return false
		}
		s.do("key_delete", r.Kind, r.Key, holder)
		mended = true
	}
	if t := s.task(r.Task); t != nil && t.Holds(r.Kind, r.Key, time.Time{}) {
		s.takeKey(t)
		mended = true
	}
	return mended
}

// repairGroup counts the members of a group, and closes it if nobody lives.
func (s *step) repairGroup(id store.ID) bool {
	g := s.group(id)
	if g == nil {
		return false
	}
	is := *g
	var live int64
	s.query("repair_members", func(r *sqlite.Stmt) {
		is.Done, is.Failed, is.Cancelled = max(g.Done, r.ColumnInt64(0)), max(g.Failed, r.ColumnInt64(1)), max(g.Cancelled, r.ColumnInt64(2))
		live, is.members, is.living, is.ended, is.waiting = r.ColumnInt64(3), r.ColumnInt64(4), r.ColumnInt64(5), r.ColumnInt64(6), r.ColumnInt64(7)
	}, id)
	is.Total = is.Done + is.Failed + is.Cancelled + live
	same := is.Total == g.Total && is.Done == g.Done && is.Failed == g.Failed && is.Cancelled == g.Cancelled &&
		is.members == g.members && is.living == g.living && is.ended == g.ended && is.waiting == g.waiting
	if same && (g.State != store.GroupOpen || live > 0) {
		return false
	}
	*g = is
	s.touchGroup(g)
	s.tryClose(g)
	s.ripen(g)
	return true
}
