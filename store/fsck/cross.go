package fsck

import (
	"bytes"
	"time"

	"github.com/outlast-go/outlast/store"
)

// owner ties a running task to its worker.
type owner struct {
	task   store.ID
	worker string
}

// limit is what a limit says of its use.
type limit struct {
	key   string
	inUse int
}

// line is what an ordered lane keeps in order, suspects and others alike.
type line struct{ queue, kind, lane, limit string }

// runners are the running tasks of a line.
type runners struct {
	n     int
	first store.ID // the oldest, so that the finding is the same whatever the order of the Export
}

// message ties a message to its task.
type message struct{ id, task store.ID }

// takeRunning keeps what a running task takes up: its worker, a slot, the turn of its line.
func (c *Checker) takeRunning(t *store.Task) {
	if t.Worker != "" {
		c.owners = append(c.owners, owner{t.ID, t.Worker})
	}
	if t.Limit != "" {
		c.running[t.Limit]++
	}
	if t.Order == store.Unordered {
		return
	}
	l := line{t.Queue, t.Kind, t.Lane, t.Limit}
	r := c.lines[l]
	c.lines[l] = runners{r.n + 1, least(r.first, t.ID)}
}

// takeWorker judges a worker by itself and keeps that it is on record.
func (c *Checker) takeWorker(w *store.Worker) {
	c.workers[w.ID] = struct{}{}
	if w.DeadAt.IsZero() != (w.Death == "") {
		c.report("worker", w.ID, "has one of DeadAt and Death without the other")
	}
}

func (c *Checker) checkOwners() {
	for _, o := range c.owners {
		if _, known := c.workers[o.worker]; !known {
			c.report("orphan", o.task.String(), "is running under %s, of which there is no record", o.worker)
		}
	}
}

func (c *Checker) checkSlots() {
	for _, l := range c.limits {
		if n := c.running[l.key]; n != l.inUse {
			c.report("slots", l.key, "has %d slots taken, and %d tasks run", l.inUse, n)
			c.mend(store.Repair{Limit: l.key})
		}
	}
}

func (c *Checker) checkLines() {
	for l, r := range c.lines {
		if r.n > 1 {
			c.report("order", r.first.String(), "runs with %d others of its line (queue %s, kind %s, lane %q, limit %q)",
				r.n-1, l.queue, l.kind, l.lane, l.limit)
		}
	}
}

func (c *Checker) checkInbox() {
	for _, m := range c.messages {
		switch b, known := c.tasks[m.task]; {
		case !known:
			c.report("inbox", m.id.String(), "is for task %s, which does not exist", m.task)
		case b.ended:
			c.report("inbox", m.id.String(), "is for task %s, which has ended", m.task)
		}
	}
}

// unique is a task that has a unique key.
type unique struct {
	task  store.ID
	name  keyName
	span  time.Duration // Unique.For
	must  bool          // has to hold it
	ran   bool          // it has run: one that came with Latest may have taken the key from it, and be gone
	holds bool
}

type keyName struct{ kind, key string }

func (n keyName) String() string { return n.kind + " " + n.key }

// takeUnique keeps what a task and its key have to say to each other, and returns the place of it.
func (c *Checker) takeUnique(t *store.Task) int {
	must := false
	switch {
	case !t.State.Terminal():
		must = t.Unique.For <= 0 // a key with a time may have lapsed
	case t.State != store.Failed || t.Unique.For == store.KeyStays:
		must = t.Unique.For < 0 && t.Reason != store.ReasonReplaced
	}
	c.uniques = append(c.uniques, unique{
		task: t.ID, name: keyName{t.Kind, t.Unique.Key}, span: t.Unique.For, must: must, ran: t.Epoch > 0,
	})
	return len(c.uniques) - 1
}

func (c *Checker) checkKeys() {
	for i := range c.keys {
		k := &c.keys[i]
		if !k.Until.IsZero() && !c.now.Before(k.Until) {
			continue // lapsed: an engine takes it away when it meets it
		}
		name := keyName{k.Kind, k.Key}
		c.holders[name]++
		if text := c.judgeKey(k); text != "" {
			c.report("keys", name.String(), "is held by %s, which "+text, k.Task)
			c.mend(store.Repair{Kind: k.Kind, Key: k.Key})
		}
	}
	for name, n := range c.holders {
		if n > 1 {
			c.report("keys", name.String(), "is held %d times", n)
		}
	}
	for i := range c.uniques {
		if u := &c.uniques[i]; u.must && !u.holds && !u.ran {
			c.report("keys", u.task.String(), "does not hold its unique key %q", u.name.key)
			c.mend(store.Repair{Kind: u.name.kind, Key: u.name.key, Task: u.task})
		}
	}
}

// judgeKey returns what is wrong with the holder of a key, and notes that it holds it.
func (c *Checker) judgeKey(k *store.Key) string {
	b, known := c.tasks[k.Task]
	if !known {
		return "does not exist"
	}
	if b.unique < 0 {
		return "has no unique key"
	}
	u := &c.uniques[b.unique]
	if (u.name != keyName{k.Kind, k.Key}) {
		return "has another kind or key"
	}
	u.holds = true
	switch {
	case b.failed && u.span != store.KeyStays:
		return "has failed"
	case b.ended && u.span == 0:
		return "has ended"
	case (u.span > 0) == k.Until.IsZero():
		return "holds it for another time than it asked for"
	}
	return ""
}

// least returns the smaller of two ids; the zero ID is none.
func least(a, b store.ID) store.ID {
	if a.IsZero() || !b.IsZero() && bytes.Compare(b[:], a[:]) < 0 {
		return b
	}
	return a
}
