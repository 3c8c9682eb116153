package fsck

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// source is what the id of a following task is made of.
type source struct {
	from  store.ID // a task, or a group
	n     int      // its Round, or its Generation
	close bool     // from is a group
}

// follow is a task that follows an ending or a closing.
type follow struct {
	source
	must    bool      // it cannot have been left out
	until   time.Time // nothing prunes it before; zero: never
	expires bool      // what it follows has an ExpireAt
}

// takeEnded keeps that a task is followed by another. With an expiry it no longer matters: then the other one runs no more.
func (c *Checker) takeEnded(t *store.Task) {
	expires := !t.ExpireAt.IsZero()
	c.follows = append(c.follows, follow{
		source:  source{t.ID, t.Round, false},
		must:    !expires && t.OnEnd.Unique.Key == "", // the holder of the key may stand in its place
		until:   keptUntil(t.EndedAt, t.OnEnd.Retention, c.horizon),
		expires: expires,
	})
}

// takeClosed keeps that a group is followed by a task. One that should have joined another group may have been refused there.
func (c *Checker) takeClosed(g *store.Group) {
	c.follows = append(c.follows, follow{
		source: source{g.ID, g.Generation, true},
		must:   g.OnClose.Unique.Key == "" && g.OnClose.Group.IsZero(),
		until:  keptUntil(g.ClosedAt, g.OnClose.Retention, c.horizon),
	})
}

func (c *Checker) checkFollows() {
	for i := range c.follows {
		f := &c.follows[i]
		due := f.must && (f.until.IsZero() || c.now.Before(f.until))
		if !due && !f.expires {
			continue
		}
		id := c.derive(f.source)
		b, known := c.tasks[id]
		switch {
		case known && f.expires && b.mayRun:
			c.report("expiry", f.from.String(), "has an ExpireAt, and its OnEnd task %s may yet run", id)
		case known || !due || c.Deleted != nil && c.Deleted(id):
		case f.close:
			c.report("close", f.from.String(), "is closed, and its OnClose task %s is lost, unless somebody deleted it", id)
		default:
			c.report("onend", f.from.String(), "has ended, and its OnEnd task %s is lost, unless somebody deleted it", id)
		}
	}
	if len(c.derived) > 2*len(c.follows)+1024 {
		clear(c.derived)
	}
}

// derive returns the id of a following task, made once for as long as checks ask for it.
func (c *Checker) derive(s source) store.ID {
	id, known := c.derived[s]
	if known {
		return id
	}
	if s.close {
		id = store.CloseID(s.from, s.n)
	} else {
		id = store.OnEndID(s.from, s.n)
	}
	c.derived[s] = id
	return id
}
