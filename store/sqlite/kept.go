package sqlite

import (
	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// kept is what the writer knows of the file from the steps before: what is written about a running task next need not be read first.
// It counts for as long as nobody else has written; who did is not asked, and all of it is forgotten. It is forgotten as well when a
// step comes to nothing, as the records are then as they should have become.
type kept struct {
	version int64              // of the file, as this connection counts what others commit
	tasks   map[store.ID]*task // nil: nothing is known
	groups  map[store.ID]*group
	held    map[string]int
}

// About how much is kept.
const (
	keptTasks   = 16 << 10
	keptPayload = 4 << 10 // of one task
	keptGroups  = 16
	keptWorkers = 16
)

func (k *kept) forget() { *k = kept{} }

// begun is called in a transaction that has begun. It refuses a file that a newer program has migrated.
func (k *kept) begun(c *conn) error {
	var version int64
	err := c.each("data_version", func(r *sqlite.Stmt) { version = r.ColumnInt64(0) })
	if err == nil && k.tasks != nil && version == k.version {
		return nil
	}
	k.forget()
	if err != nil {
		return err
	}
	if err := c.known(); err != nil {
		return err
	}
	*k = kept{version: version, tasks: map[store.ID]*task{}, groups: map[store.ID]*group{}, held: map[string]int{}}
	return nil
}

// keep takes over what a step has written, once that is durable.
func (k *kept) keep(st *step) {
	if k.tasks == nil {
		return
	}
	if len(k.tasks) > keptTasks {
		clear(k.tasks) // some may never be written about again
	}
	for id, t := range st.tasks {
		switch {
		case t == nil || !t.keepable():
			delete(k.tasks, id)
		case t.created:
			t.disown()
			fallthrough
		default:
			k.tasks[id] = t
		}
	}
	for id, g := range st.groups {
		if g == nil || g.created || g.State != store.GroupOpen || len(k.groups) >= keptGroups {
			delete(k.groups, id)
			continue
		}
		k.groups[id] = g
	}
	if len(st.held) > keptWorkers {
		clear(st.held)
	}
}

// keepable reports whether a record is worth to be kept: its run will write about it, or what follows its end, and it is not large.
func (t *task) keepable() bool {
	size := len(t.Args) + len(t.Result)
	if t.OnEnd != nil {
		size += len(t.OnEnd.Args)
	}
	follows := t.OnEnd != nil && t.State.Terminal() && t.ExpireAt.IsZero()
	return (t.State == store.Running || follows) && t.Staged == nil && !t.corrupt && !t.removed && size <= keptPayload
}

// disown parts a record from the Spec that a caller has submitted, and may change.
func (t *task) disown() {
	t.Task, t.created = t.Clone(), false
	if t.OnEnd != nil {
		next := *t.OnEnd
		t.OnEnd = &next
	}
}
