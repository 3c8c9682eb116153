package fsck

import (
	"github.com/outlast-go/outlast/store"
)

// group is a group and its members as they are on record. Either may come first in an Export.
type group struct {
	id     store.ID
	stored bool // the record of the group itself was seen

	state      store.GroupState
	generation int
	sealed     bool
	closed     bool // ClosedAt is set
	onClose    bool
	parent     store.ID
	keeper     store.ID

	total, done, failed, cancelled     int64 // as the group says
	isLive, isDone, isFailed, isCancel int64 // as its members are

	member  store.ID // the oldest member on record
	loose   store.ID // the oldest one that lives, is not held by the group and has no excuse for it
	expires store.ID // the oldest one with an ExpireAt
}

// groupOf returns what is known of a group so far.
func (c *Checker) groupOf(id store.ID) *group {
	i, known := c.groupAt[id]
	if !known {
		i = len(c.groups)
		c.groupAt[id] = i
		c.groups = append(c.groups, group{id: id})
	}
	return &c.groups[i]
}

// takeMember adds a task to what is known of its group.
func (c *Checker) takeMember(t *store.Task, b brief) {
	g := c.groupOf(t.Group)
	g.member = least(g.member, t.ID)
	switch t.State {
	case store.Done:
		g.isDone++
	case store.Failed:
		g.isFailed++
	case store.Cancelled:
		g.isCancel++
	default:
		g.isLive++
	}
	if !t.ExpireAt.IsZero() {
		g.expires = least(g.expires, t.ID)
	}
	// An Owned member that was asked to end runs while the group still fills; where Retry puts a member of such a group is open.
	waits := t.State == store.Held && t.Reason == store.ReasonGroup
	if !b.ended && !waits && t.Asked == "" && !b.again {
		g.loose = least(g.loose, t.ID)
	}
}

// takeGroup adds the record of a group to what is known of it.
func (c *Checker) takeGroup(r *store.Group) {
	g := c.groupOf(r.ID)
	g.stored = true
	g.state, g.generation, g.sealed, g.closed = r.State, r.Generation, r.Sealed, !r.ClosedAt.IsZero()
	g.onClose, g.parent, g.keeper = r.OnClose != nil, r.Parent, r.Keeper
	g.total, g.done, g.failed, g.cancelled = r.Total, r.Done, r.Failed, r.Cancelled
	if r.State == store.GroupClosed && r.OnClose != nil {
		c.takeClosed(r)
	}
}

func (c *Checker) checkGroups() {
	for i := range c.groups {
		g := &c.groups[i]
		if !g.stored {
			c.report("group", g.member.String(), "is a member of group %s, which does not exist", g.id)
			continue
		}
		c.checkCounts(g)
		if text := g.misplaced(); text != "" {
			c.report("group", g.id.String(), text)
			if g.state == store.GroupOpen {
				c.mend(store.Repair{Group: g.id}) // it is to be closed
			}
		}
		if (g.state == store.GroupFilling || g.state == store.GroupHeld) && !g.loose.IsZero() {
			c.report("held", g.loose.String(), "is not held, and its group %s is %s", g.id, g.state)
		}
		if text := c.early(g); text != "" && !g.expires.IsZero() {
			c.report("expiry", g.expires.String(), "has an ExpireAt, and "+text, g.id)
		}
	}
}

// checkCounts compares the counts of a group with its members: those that ended may have been removed, those that live not.
func (c *Checker) checkCounts(g *group) {
	if live := g.total - g.done - g.failed - g.cancelled; live != g.isLive {
		c.report("group", g.id.String(), "counts %d members that live, and has %d", live, g.isLive)
		c.mend(store.Repair{Group: g.id})
	}
	for _, n := range [...]struct {
		state    store.State
		says, is int64
	}{{store.Done, g.done, g.isDone}, {store.Failed, g.failed, g.isFailed}, {store.Cancelled, g.cancelled, g.isCancel}} {
		if n.is > n.says {
			c.report("group", g.id.String(), "counts %d members as %s, and has %d", n.says, n.state, n.is)
			c.mend(store.Repair{Group: g.id})
		}
	}
}

// misplaced returns what is wrong with the state of a group.
func (g *group) misplaced() string {
	live := g.total - g.done - g.failed - g.cancelled
	switch g.state {
	case store.GroupFilling, store.GroupHeld:
	case store.GroupOpen:
		if live == 0 {
			return "is open, and no member lives"
		}
	case store.GroupClosed:
		if live != 0 {
			return "is closed, and members live"
		}
		if !g.closed {
			return "is closed, and has no ClosedAt"
		}
	default:
		return "is in a state that is unknown: " + string(g.state)
	}
	if g.sealed == (g.state == store.GroupFilling) {
		return "is filling and sealed, or neither"
	}
	return ""
}

// early returns why members may not have an expiry yet, as a format for the group's id. After a reopening or a Retry of the
// keeper members may have one from before.
func (c *Checker) early(g *group) string {
	if g.generation > 1 {
		return ""
	}
	if g.state != store.GroupClosed && (g.onClose || g.parent.IsZero()) {
		return "its group %s is not closed"
	}
	if b, known := c.tasks[g.keeper]; known && !b.ended && !b.again {
		return "the keeper of its group %s has not ended"
	}
	return ""
}
