package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

func readPause(r *sqlite.Stmt) store.Pause {
	return store.Pause{
		Scope:  store.Scope{Queue: r.ColumnText(0), Kind: r.ColumnText(1), Lane: r.ColumnText(2)},
		Reason: r.ColumnText(3), At: instant(r.ColumnInt64(4)), Until: instant(r.ColumnInt64(5)),
	}
}

func (v *view) pauses() (list []store.Pause, err error) {
	err = v.each("pause_list", func(r *sqlite.Stmt) { list = append(list, readPause(r)) })
	return list, err
}

// pauses returns all pauses, those whose time is up among them.
func (s *step) pauses() []store.Pause {
	if !s.looked {
		s.looked, s.stops = true, nil
		s.query("pause_list", func(r *sqlite.Stmt) { s.stops = append(s.stops, readPause(r)) })
	}
	return s.stops
}

func (s *step) paused(queue, kind, key string) bool {
	return paused(s.pauses(), s.now, queue, kind, key)
}

func paused(pauses []store.Pause, now time.Time, queue, kind, key string) bool {
	for _, p := range pauses {
		if p.Scope.Matches(queue, kind, key) && lasts(p, now) {
			return true
		}
	}
	return false
}

// lasts reports whether the time of a pause is not up.
func lasts(p store.Pause, now time.Time) bool { return p.Until.IsZero() || p.Until.After(now) }

// Pause keeps claims away from a scope.
func (s *Store) Pause(ctx context.Context, scope store.Scope, d time.Duration, reason string) error {
	return s.write(ctx, func(s *step) error {
		var until time.Time
		if d > 0 {
			until = s.now.Add(d)
		}
		s.do("pause_put", scope.Queue, scope.Kind, scope.Lane, reason, s.now, until)
		s.looked = false
		return nil
	})
}

// Resume ends the pause of exactly this scope.
func (s *Store) Resume(ctx context.Context, scope store.Scope) error {
	return s.write(ctx, func(s *step) error {
		if s.do("pause_delete", scope.Queue, scope.Kind, scope.Lane) > 0 {
			s.looked = false
			s.hints.everything()
		}
		return nil
	})
}

// PauseList lists the pauses that stand, and has the others forgotten.
func (s *Store) PauseList(ctx context.Context) ([]store.Pause, error) {
	var list []store.Pause
	over := false
	err := s.read(ctx, func(v *view) error {
		all, err := v.pauses()
		for _, p := range all {
			if lasts(p, v.now) {
				list = append(list, p)
			}
		}
		over = len(list) < len(all)
		return err
	})
	if err == nil && over {
		err = s.write(ctx, func(s *step) error {
			s.do("pause_expire", s.now)
			s.looked = false
			return nil
		})
	}
	return list, err
}

// weight is how many tasks a lane gives in a turn.
func (s *step) weight(l *lane) int {
	key := laneKey{l.queue, l.key}
	n, ok := s.weighs[key]
	if !ok {
		n = max(int(s.number("weight_get", l.queue, l.key)), 1)
		s.weighs[key] = n
	}
	return n
}

// PutWeight sets how many tasks lanes with this key give in a turn.
func (s *Store) PutWeight(ctx context.Context, queue, key string, weight int) error {
	return s.write(ctx, func(s *step) error {
		s.do("weight_put", queue, key, max(weight, 1))
		delete(s.weighs, laneKey{queue, key})
		return nil
	})
}

// LaneList pages through the lanes of a queue that have ready tasks. It asks of each what a claim would ask, which is the
// work of a step; that it writes nothing costs it nothing.
func (s *Store) LaneList(ctx context.Context, queue string, page store.PageRequest) (res store.Page[store.LaneStatus], err error) {
	err = s.read(ctx, func(v *view) error {
		st := newStep(s, v.conn)
		st.now = v.now
		cut := newCut[store.LaneStatus](page)
		var lanes []*lane
		st.query("lane_page", func(r *sqlite.Stmt) { lanes = append(lanes, st.knownLane(r)) }, queue, []byte(page.Cursor), cut.limit+1)
		for _, l := range lanes {
			cut.add(st.laneStatus(l), l.name)
		}
		for key, l := range st.limits {
			if l != nil && l.dirty {
				v.met = append(v.met, key)
			}
		}
		res = cut.page
		return st.err
	})
	return res, err
}

func (s *step) laneStatus(l *lane) store.LaneStatus {
	return store.LaneStatus{
		Queue: l.queue, Kind: l.kind, Lane: l.key, Limit: l.limit, Ordered: l.ordered, Suspect: l.suspect,
		Ready: l.ready, Priority: l.priority, OldestAt: l.since, Weight: s.weight(l), Blocked: s.blocked(l),
	}
}

// Group reads a group.
func (s *Store) Group(ctx context.Context, id store.ID) (res store.Group, err error) {
	err = s.read(ctx, func(v *view) error {
		found := false
		err := v.rows("group_get", func(r *sqlite.Stmt) error {
			g, err := readGroup(r)
			found, res = true, g.Group
			return err
		}, id)
		if err == nil && !found {
			return fmt.Errorf("group %s: %w", id, store.ErrNotFound)
		}
		return err
	})
	return res, err
}

// GroupList pages through groups, newest first.
func (s *Store) GroupList(ctx context.Context, page store.PageRequest) (res store.Page[store.Group], err error) {
	from := lastID
	if page.Cursor != "" {
		if from, err = store.ParseID(page.Cursor); err != nil {
			return res, err
		}
	}
	err = s.read(ctx, func(v *view) error {
		cut := newCut[store.Group](page)
		err := v.rows("group_page", func(r *sqlite.Stmt) error {
			g, err := readGroup(r)
			cut.add(g.Group, g.ID.String())
			return err
		}, from, cut.limit+1)
		res = cut.page
		return err
	})
	return res, err
}
