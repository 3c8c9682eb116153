package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// group is the record of a group, and how many of its members there is something to be done with.
type group struct {
	store.Group
	waiting  int64 // held until it opens
	living   int64 // not ended, and not asked to by an abort
	ended    int64 // not yet given an expiry
	members  int64 // on record
	ripe     int64 // its place among those that have members to tend; 0: none
	kept     bool  // closed, and its keeper has not ended
	expiring bool  // its keeper has ended
	goneAt   time.Time

	created bool // in this step
	dirty   bool
}

// await counts a member into those that wait for the group to open (1), or out of them (-1).
func (g *group) await(n int64) { g.waiting, g.dirty = g.waiting+n, true }

func readGroup(r *sqlite.Stmt) (*group, error) {
	g := &group{
		waiting: r.ColumnInt64(1), living: r.ColumnInt64(2), ended: r.ColumnInt64(3), members: r.ColumnInt64(4),
		ripe: r.ColumnInt64(5), kept: !r.ColumnIsNull(6), expiring: r.ColumnBool(7), goneAt: instant(r.ColumnInt64(8)),
	}
	return g, json.Unmarshal([]byte(r.ColumnText(0)), &g.Group)
}

// group returns the group of that id, or nil.
func (s *step) group(id store.ID) *group {
	if id.IsZero() {
		return nil
	}
	g, ok := s.groups[id]
	if !ok {
		g, ok = s.kept.groups[id]
		s.groups[id] = g
	}
	if !ok {
		s.query("group_get", func(r *sqlite.Stmt) {
			var err error
			if g, err = readGroup(r); err != nil {
				s.fail(fmt.Errorf("group %s: %w", id, err))
			}
		}, id)
		s.groups[id] = g
	}
	return g
}

func (s *step) flushGroups() {
	for _, g := range s.groups {
		if g == nil || !g.dirty {
			continue
		}
		g.dirty = false
		var keeper any
		if g.kept {
			keeper = g.Keeper
		}
		s.do("group_put", g.ID, s.json(g.Group), g.waiting, g.living, g.ended, g.members, orNull(g.ripe), keeper, g.expiring,
			orNull(nanos(g.goneAt)))
	}
}

// createGroup makes a group. A known id has no effect.
func (s *step) createGroup(n store.NewGroup) error {
	if err := n.Validate(); err != nil {
		return err
	}
	if s.group(n.ID) != nil {
		return nil
	}
	g := &group{Group: store.Group{NewGroup: n, State: store.GroupFilling, Generation: 1, CreatedAt: s.now}, created: true}
	s.groups[n.ID] = g
	s.touchGroup(g)
	return nil
}

func (s *step) touchGroup(g *group) {
	g.Version++
	g.UpdatedAt = s.now
	g.dirty = true
}

// joinable says whether a group takes members. The zero ID is no group.
func (s *step) joinable(id store.ID) error {
	if id.IsZero() {
		return nil
	}
	g := s.group(id)
	if g == nil {
		return fmt.Errorf("group %s: %w", id, store.ErrNotFound)
	}
	if g.Aborting != "" || g.State != store.GroupFilling && g.State != store.GroupHeld {
		return fmt.Errorf("group %s takes no more members, it is %s: %w", id, g.State, store.ErrState)
	}
	return nil
}

func (s *step) addMember(g *group, t *task) {
	g.Total++
	g.members++
	s.touchGroup(g)
	s.place(g, t, stageLiving)
}

// place puts a member into one of the stages, and out of the one it was in.
func (s *step) place(g *group, t *task, to stage) {
	g.countStage(t.stage, -1)
	g.countStage(to, 1)
	t.stage, g.dirty = to, true
	s.change(t)
}

func (g *group) countStage(at stage, n int64) {
	switch at {
	case stageLiving:
		g.living += n
	case stageEnded:
		g.ended += n
	}
}

// leaveGroup takes a task that was removed out of its group. The group keeps its counts.
func (s *step) leaveGroup(t *task) {
	g := s.group(t.Group)
	if g == nil {
		return
	}
	s.place(g, t, stageNone)
	if g.members--; g.members == 0 {
		s.bare(g)
	}
}

// countEnd counts the ending of a member (1), or takes it back (-1).
func (s *step) countEnd(t *task, n int64) {
	g := s.group(t.Group)
	if g == nil {
		return
	}
	switch t.State {
	case store.Done:
		g.Done += n
	case store.Failed:
		g.Failed += n
	case store.Cancelled:
		g.Cancelled += n
	}
	s.touchGroup(g)
	if n < 0 {
		return
	}
	s.place(g, t, stageEnded)
	s.tryClose(g)
	s.ripen(g)
}

// seal says that all first members are there.
func (s *step) seal(g *group) {
	g.Sealed = true
	s.advance(g)
}

// advance lets a group open if nothing keeps it from it, and close if nobody lives.
func (s *step) advance(g *group) {
	if g.State == store.GroupClosed {
		return
	}
	switch {
	case !g.Sealed:
		g.State = store.GroupFilling
	case g.Hold:
		g.State = store.GroupHeld
	default:
		g.State = store.GroupOpen
	}
	s.touchGroup(g)
	s.tryClose(g)
	s.ripen(g)
}

// tryClose closes an open group whose last member has ended.
func (s *step) tryClose(g *group) {
	if g.State != store.GroupOpen || g.Live() > 0 {
		return
	}
	g.State, g.ClosedAt = store.GroupClosed, s.now
	s.touchGroup(g)
	if g.OnClose != nil {
		next := *g.OnClose
		next.ID = store.CloseID(g.ID, g.Generation)
		s.submit(next, true)
		g.Keeper = next.ID
	} else {
		g.Keeper = g.Parent
	}
	s.wake(g.Parent)
	k := s.task(g.Keeper)
	if k == nil || k.State.Terminal() {
		g.Keeper = store.ID{}
		s.unkeep(g)
		return
	}
	k.keeps = true
	s.change(k)
	g.kept = true
}

// unkeepAll lets the members of all groups expire that waited for the end of t.
func (s *step) unkeepAll(t *task) {
	s.flushGroups()
	var kept []store.ID
	s.query("group_kept", func(r *sqlite.Stmt) { kept = append(kept, idOf(r, 0)) }, t.ID)
	for _, id := range kept {
		s.unkeep(s.group(id))
	}
}

// unkeep lets the members of a closed group expire.
func (s *step) unkeep(g *group) {
	if g == nil || g.State != store.GroupClosed {
		return
	}
	g.kept, g.expiring, g.dirty = false, true, true
	s.ripen(g)
	if g.members == 0 {
		s.bare(g)
	}
}

// bare notes that a group has no member on record.
func (s *step) bare(g *group) {
	if !g.goneAt.IsZero() || g.State != store.GroupClosed || !g.expiring || g.Retention < 0 {
		return
	}
	g.goneAt, g.dirty = s.now.Add(g.Retention), true
}

// reopen takes a member back whose ending no longer counts.
func (s *step) reopen(g *group, t *task) {
	s.place(g, t, stageLiving)
	if g.State != store.GroupClosed {
		return
	}
	g.State, g.ClosedAt, g.expiring, g.kept = store.GroupOpen, time.Time{}, false, false
	g.Generation++
	g.Keeper = store.ID{}
	s.touchGroup(g)
}

// isRipe reports whether members wait to be freed, settled or marked.
func (g *group) isRipe() bool {
	return g.State == store.GroupOpen && g.waiting > 0 || g.Aborting != "" && g.living > 0 || g.expiring && g.ended > 0
}

// ripen puts a ripe group at the end of the line of those.
func (s *step) ripen(g *group) {
	if g.ripe != 0 || !g.isRipe() {
		return
	}
	s.flushGroups()
	g.ripe, g.dirty = s.number("group_last_ripe")+1, true
}

// tend does up to n steps of what a ripe group needs.
func (s *step) tend(g *group, n int) (freed, aborted, marked int) {
	for s.err == nil && g.Aborting != "" && aborted < n && g.living > 0 {
		for _, t := range s.members(g, "task_staged", g.ID, int64(stageLiving), n-aborted) {
			if t.stage == stageLiving { // the end of another may have ended it
				s.place(g, t, stageAsked)
				s.ask(t, g.Aborting)
				aborted++
			}
		}
	}
	for s.err == nil && g.State == store.GroupOpen && freed+aborted < n && g.waiting > 0 {
		for _, t := range s.members(g, "task_waiting", g.ID, n-freed-aborted) {
			s.free(t)
			freed++
		}
	}
	for s.err == nil && g.expiring && freed+aborted+marked < n && g.ended > 0 {
		for _, t := range s.members(g, "task_staged", g.ID, int64(stageEnded), n-freed-aborted-marked) {
			s.place(g, t, stageNone)
			t.marked = true
			s.mayExpire(t)
			marked++
		}
	}
	return freed, aborted, marked
}

// members lists members that a group counts, and that must be there.
func (s *step) members(g *group, name string, args ...any) []*task {
	list := s.list(name, args...)
	if len(list) == 0 {
		s.fail(fmt.Errorf("group %s: %d members live, %d wait, %d have ended, but none is found: %w", g.ID, g.living, g.waiting, g.ended, errMoved))
	}
	return list
}

// free lets a member go that has waited for its group to open.
func (s *step) free(t *task) {
	if t.DueAt.After(s.now) {
		s.move(t, store.Scheduled)
		return
	}
	s.move(t, store.Ready)
}

// withGroup makes a step on a group.
func (s *Store) withGroup(ctx context.Context, id store.ID, fn func(s *step, g *group)) (store.Group, error) {
	return write(ctx, s, func(s *step) (store.Group, error) {
		g := s.group(id)
		if g == nil {
			return store.Group{}, fmt.Errorf("group %s: %w", id, store.ErrNotFound)
		}
		fn(s, g)
		return g.Group, nil
	})
}

// Seal says that all first members are there.
func (s *Store) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	return s.withGroup(ctx, id, func(s *step, g *group) {
		if !g.Sealed {
			s.seal(g)
		}
	})
}

// Release ends the hold of a group.
func (s *Store) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return s.withGroup(ctx, id, func(s *step, g *group) {
		if g.Hold {
			g.Hold = false
			s.advance(g)
		}
	})
}

// Abort asks all members to end.
func (s *Store) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	return s.withGroup(ctx, id, func(s *step, g *group) {
		if g.State == store.GroupClosed || g.Aborting != "" {
			return
		}
		if reason == "" {
			reason = store.ReasonAborted
		}
		g.Aborting, g.Sealed, g.Hold = reason, true, false
		s.advance(g)
	})
}
