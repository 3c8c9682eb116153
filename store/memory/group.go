package memory

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// group is the record of a group and its members by what is still to be done with them.
type group struct {
	store.Group
	waiting  taskHeap // held until it opens
	living   taskHeap // not ended
	asked    taskHeap // not ended, and asked to by an abort
	ended    taskHeap // not yet given an expiry
	records  int      // members on record
	listed   []*task  // members by line, then id; some may be gone
	sorted   bool     // listed is in order
	expiring bool     // its keeper has ended
	queued   bool     // in data.ripe
	bare     bool     // in data.bare
	goAt     time.Time
}

// groupHeap is groups by when they may be removed, for container/heap.
type groupHeap []*group

func (h groupHeap) Len() int { return len(h) }
func (h groupHeap) Less(i, j int) bool {
	return h[i].goAt.Before(h[j].goAt) || h[i].goAt.Equal(h[j].goAt) && idLess(h[i].ID, h[j].ID)
}
func (h groupHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a group at the end, as container/heap wants it.
func (h *groupHeap) Push(x any) { *h = append(*h, x.(*group)) } //nolint:errcheck,forcetypeassert // only groups are pushed

// Pop takes the last group off, as container/heap wants it.
func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	g := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return g
}

// createGroup makes a group. A known id has no effect.
func (d *data) createGroup(n store.NewGroup) error {
	if err := n.Validate(); err != nil {
		return err
	}
	if d.groups[n.ID] != nil {
		return nil
	}
	n.Labels = maps.Clone(n.Labels)
	if n.OnClose != nil {
		next := *n.OnClose
		n.OnClose = &next
	}
	g := &group{Group: store.Group{NewGroup: n, State: store.GroupFilling, Generation: 1, CreatedAt: d.now}}
	g.waiting = taskHeap{slot: slotWaiting, less: byID}
	for _, h := range []*taskHeap{&g.living, &g.asked, &g.ended} {
		*h = taskHeap{slot: slotMember, less: byID}
	}
	d.groups[n.ID] = g
	d.touchGroup(g)
	return nil
}

func (d *data) touchGroup(g *group) {
	g.Version++
	g.UpdatedAt = d.now
}

// joinable says whether a group takes members. The zero ID is no group.
func (d *data) joinable(id store.ID) error {
	if id.IsZero() {
		return nil
	}
	g := d.groups[id]
	if g == nil {
		return fmt.Errorf("group %s: %w", id, store.ErrNotFound)
	}
	if g.Aborting != "" || g.State != store.GroupFilling && g.State != store.GroupHeld {
		return fmt.Errorf("group %s takes no more members, it is %s: %w", id, g.State, store.ErrState)
	}
	return nil
}

func (d *data) addMember(g *group, t *task) {
	g.Total++
	g.records++
	last := len(g.listed) - 1
	g.sorted = last < 0 || g.sorted && byLine(g.listed[last], t) < 0
	g.listed = append(g.listed, t)
	d.touchGroup(g)
	place(t, &g.living)
}

// byLine is the order in which the members of a group are listed.
func byLine(a, b *task) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), bytes.Compare(a.ID[:], b.ID[:]))
}

// after lists the members of a group that come after a place, in order.
func (d *data) after(g *group, line int64, id store.ID) []*task {
	gone := func(t *task) bool { return d.tasks[t.ID] != t }
	if len(g.listed) > 2*g.records {
		g.listed = slices.DeleteFunc(g.listed, gone)
	}
	if !g.sorted {
		slices.SortFunc(g.listed, byLine)
		g.sorted = true
	}
	place := &task{}
	place.Line, place.ID = line, id
	i, found := slices.BinarySearchFunc(g.listed, place, byLine)
	if found {
		i++
	}
	return g.listed[i:]
}

// place puts a member into one of its group's heaps, and out of the one it was in.
func place(t *task, h *taskHeap) {
	if t.member != nil {
		t.member.remove(t)
	}
	t.member = h
	if h != nil {
		h.add(t)
	}
}

// countEnd counts the ending of a member (1), or takes it back (-1).
func (d *data) countEnd(t *task, n int64) {
	g := d.groups[t.Group]
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
	d.touchGroup(g)
	if n < 0 {
		return
	}
	place(t, &g.ended)
	d.tryClose(g)
	d.ripen(g)
}

// seal says that all first members are there.
func (d *data) seal(g *group) {
	g.Sealed = true
	d.advance(g)
}

// advance lets a group open if nothing keeps it from it, and close if nobody lives.
func (d *data) advance(g *group) {
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
	d.touchGroup(g)
	d.tryClose(g)
	d.ripen(g)
}

// tryClose closes an open group whose last member has ended.
func (d *data) tryClose(g *group) {
	if g.State != store.GroupOpen || g.Live() > 0 {
		return
	}
	g.State, g.ClosedAt = store.GroupClosed, d.now
	d.touchGroup(g)
	if g.OnClose != nil {
		next := *g.OnClose
		next.ID = store.CloseID(g.ID, g.Generation)
		d.submit(next, true)
		g.Keeper = next.ID
	} else {
		g.Keeper = g.Parent
	}
	d.wake(g.Parent)
	if k := d.tasks[g.Keeper]; k == nil || k.State.Terminal() {
		g.Keeper = store.ID{}
		d.unkeep(g)
		return
	}
	d.keepers[g.Keeper] = append(d.keepers[g.Keeper], g)
}

// unkeep lets the members of a closed group expire.
func (d *data) unkeep(g *group) {
	if g.State != store.GroupClosed {
		return
	}
	g.expiring = true
	d.ripen(g)
	if g.records == 0 {
		d.bareGroup(g)
	}
}

// bareGroup notes that a group has no member on record.
func (d *data) bareGroup(g *group) {
	if g.bare || g.State != store.GroupClosed || !g.expiring || g.Retention < 0 {
		return
	}
	g.bare, g.goAt = true, d.now.Add(g.Retention)
	heap.Push(&d.bare, g)
}

// isBare reports whether nothing is left of a group but its record.
func (g *group) isBare() bool { return g.State == store.GroupClosed && g.expiring && g.records == 0 }

// reopen takes a member back whose ending no longer counts.
func (d *data) reopen(g *group, t *task) {
	place(t, &g.living)
	if g.State != store.GroupClosed {
		return
	}
	// The keeper of the generation before no longer speaks for this one.
	d.keepers[g.Keeper] = slices.DeleteFunc(d.keepers[g.Keeper], func(o *group) bool { return o == g })
	if len(d.keepers[g.Keeper]) == 0 {
		delete(d.keepers, g.Keeper)
	}
	g.State, g.ClosedAt, g.expiring = store.GroupOpen, time.Time{}, false
	g.Generation++
	g.Keeper = store.ID{}
	d.touchGroup(g)
}

// isRipe reports whether members wait to be freed, settled or marked.
func (g *group) isRipe() bool {
	return g.State == store.GroupOpen && g.waiting.len() > 0 || g.Aborting != "" && g.living.len() > 0 || g.expiring && g.ended.len() > 0
}

func (d *data) ripen(g *group) {
	if !g.queued && g.isRipe() {
		g.queued = true
		d.ripe = append(d.ripe, g)
	}
}

// tend does up to n steps of what a ripe group needs.
func (d *data) tend(g *group, n int) (freed, aborted, marked int) {
	for ; g.Aborting != "" && aborted < n && g.living.len() > 0; aborted++ {
		t := g.living.head()
		place(t, &g.asked)
		d.ask(t, g.Aborting)
	}
	for ; g.State == store.GroupOpen && freed+aborted < n && g.waiting.len() > 0; freed++ {
		t := g.waiting.head()
		if t.DueAt.After(d.now) {
			d.move(t, store.Scheduled)
			continue
		}
		d.move(t, store.Ready)
	}
	for ; g.expiring && freed+aborted+marked < n && g.ended.len() > 0; marked++ {
		t := g.ended.head()
		place(t, nil)
		t.marked = true
		d.mayExpire(t)
	}
	return freed, aborted, marked
}

// withGroup makes a step on a group.
func (s *Store) withGroup(ctx context.Context, id store.ID, fn func(d *data, g *group)) (store.Group, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Group{}, err
	}
	defer leave()
	g := s.d.groups[id]
	if g == nil {
		return store.Group{}, fmt.Errorf("group %s: %w", id, store.ErrNotFound)
	}
	fn(s.d, g)
	return copyGroup(g), nil
}

func copyGroup(g *group) store.Group {
	c := g.Group
	c.Labels = maps.Clone(c.Labels)
	return c
}

// Seal says that all first members are there.
func (s *Store) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	return s.withGroup(ctx, id, func(d *data, g *group) {
		if !g.Sealed {
			d.seal(g)
		}
	})
}

// Release ends the hold of a group.
func (s *Store) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return s.withGroup(ctx, id, func(d *data, g *group) {
		if g.Hold {
			g.Hold = false
			d.advance(g)
		}
	})
}

// Abort asks all members to end.
func (s *Store) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	return s.withGroup(ctx, id, func(d *data, g *group) {
		if g.State == store.GroupClosed || g.Aborting != "" {
			return
		}
		if reason == "" {
			reason = store.ReasonAborted
		}
		g.Aborting, g.Sealed, g.Hold = reason, true, false
		d.advance(g)
	})
}

// Group reads a group.
func (s *Store) Group(ctx context.Context, id store.ID) (store.Group, error) {
	return s.withGroup(ctx, id, func(*data, *group) {})
}

// GroupList pages through groups, newest first.
func (s *Store) GroupList(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Page[store.Group]{}, err
	}
	defer leave()
	list := make([]*group, 0, len(s.d.groups))
	for _, g := range s.d.groups {
		list = append(list, g)
	}
	return cutNewest(list, page, func(g *group) string { return g.ID.String() }, copyGroup), nil
}
