package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Promote does a chunk of what time has made ripe.
func (s *Store) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	if limit <= 0 {
		limit = chunk
	}
	return write(ctx, s, func(s *step) (store.PromoteResult, error) { return s.promote(limit), nil })
}

func (s *step) promote(limit int) (res store.PromoteResult) {
	res.Expired = s.expireStarts(limit)
	limit -= res.Expired
	res.Due = s.promoteDue(limit)
	limit -= res.Due
	for limit > 0 && s.err == nil {
		g := s.firstRipe()
		if g == nil {
			break
		}
		freed, aborted, marked := s.tend(g, limit)
		res.Freed, res.Aborted, res.Marked = res.Freed+freed, res.Aborted+aborted, res.Marked+marked
		limit -= freed + aborted + marked
		if !g.isRipe() {
			g.ripe, g.dirty = 0, true
		}
	}
	res.More = s.isRipe()
	if due := s.nextDue(); !due.IsZero() {
		res.Next = max(due.Sub(s.now), 1)
	}
	return res
}

// firstRipe returns the group whose members are to be tended first, or nil.
func (s *step) firstRipe() *group {
	s.flushGroups()
	var id store.ID
	s.query("group_first_ripe", func(r *sqlite.Stmt) { id = idOf(r, 0) })
	return s.group(id)
}

// isRipe reports whether Promote has something to do.
func (s *step) isRipe() bool {
	if due := s.nextDue(); !due.IsZero() && !due.After(s.now) {
		return true
	}
	return s.first("task_late", s.now) != nil || s.firstRipe() != nil
}

// promoteDue makes up to n tasks ready whose time has come. What this step has made due itself is left to the next.
func (s *step) promoteDue(n int) int {
	if n <= 0 {
		return 0
	}
	done := 0
	for _, t := range s.stored("task_due", s.now, n) {
		switch {
		case t.State != store.Scheduled && t.State != store.Parked || !t.corrupt && t.DueAt.After(s.now):
			continue // this step has moved it
		case t.corrupt:
			s.endCorrupt(t)
		default:
			s.move(t, store.Ready)
		}
		done++
	}
	return done
}

// expireStarts ends up to n tasks that were not started in time.
func (s *step) expireStarts(n int) int {
	done := 0
	for done < n {
		t := s.first("task_late", s.now)
		if t == nil {
			break
		}
		done++
		s.expire(t)
	}
	return done
}

// expire ends a task that was not started in time.
func (s *step) expire(t *task) {
	t.StartByAt = time.Time{}
	s.change(t)
	s.ask(t, store.ReasonExpired)
}

// Prune removes what has expired.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		limit = 1000
	}
	return write(ctx, s, func(s *step) (int, error) {
		removed := s.pruneTasks(limit)
		removed += s.pruneGroups(limit - removed)
		return removed + s.pruneStats(limit-removed), nil
	})
}

func (s *step) pruneTasks(n int) (removed int) {
	for removed < n {
		t := s.first("task_expired", s.now)
		if t == nil {
			break
		}
		s.remove(t)
		removed++
	}
	return removed
}

func (s *step) pruneGroups(n int) (removed int) {
	for removed < n {
		s.flushGroups()
		var id store.ID
		s.query("group_gone", func(r *sqlite.Stmt) { id = idOf(r, 0) }, s.now)
		if id.IsZero() {
			break
		}
		s.do("group_delete", id)
		s.groups[id] = nil
		removed++
	}
	return removed
}

func (s *step) pruneStats(n int) (removed int) {
	if n <= 0 {
		return 0
	}
	return s.do("minute_prune", s.now.Add(-store.StatsKept), n)
}
