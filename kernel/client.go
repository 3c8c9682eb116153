package kernel

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task. What is sealed is opened if this process can; if not, the error says so and the rest is there.
func (k *Kernel) Get(ctx context.Context, id ID) (Task, error) {
	t, err := k.get(ctx, id)
	return *t, err
}

// get is Get for those who need no copy of what they read. The task is never nil.
func (k *Kernel) get(ctx context.Context, id ID) (*Task, error) {
	t, err := k.record(ctx, id)
	if err != nil {
		return t, fmt.Errorf("get task %s: %w", id, err)
	}
	return t, k.openTask(ctx, t)
}

// Load reads entries of a task's checkpoint, all of them if none is named, whoever saved them and whether it has ended or not.
// What is not there is missing in the answer. Run.Load is the same for the run's own task.
func (k *Kernel) Load(ctx context.Context, t Task, names ...string) (map[string][]byte, error) {
	var entries map[string][]byte
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		entries, err = k.store.Load(ctx, t.ID, names...)
		return err
	})
	if err == nil {
		entries, err = k.openEntries(t, entries)
	}
	return entries, wrap("load entries of task "+t.ID.String(), err)
}

// record reads a task as it is stored. It is never nil.
func (k *Kernel) record(ctx context.Context, id ID) (*Task, error) {
	t := &Task{}
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		*t, err = k.store.Get(ctx, id)
		return err
	})
	return t, err
}

// List pages through tasks. Payloads that are sealed stay sealed, and what is in a blob stays there.
func (k *Kernel) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[Task], error) {
	var p store.Page[Task]
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.List(ctx, f, page)
		return err
	})
	for i := range p.Items {
		veil(&p.Items[i])
	}
	return p, wrap("list tasks", err)
}

// Cancel ends a task that waits at once; one that runs is asked to end: its context ends within a second, and if it still
// finishes, that counts. It returns the state after it. An ended task is left as it is.
func (k *Kernel) Cancel(ctx context.Context, id ID, reason string) (store.State, error) {
	var s store.State
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		s, err = k.store.Cancel(ctx, id, reason)
		return err
	})
	return s, wrap("cancel task "+id.String(), err)
}

// Retry makes a failed or cancelled task ready again, with all its attempts before it.
func (k *Kernel) Retry(ctx context.Context, id ID) error {
	return wrap("retry task "+id.String(), k.ask(ctx, func(ctx context.Context) error { return k.store.Retry(ctx, id) }))
}

// Free makes a task ready that was held for an operator.
func (k *Kernel) Free(ctx context.Context, id ID) error {
	return wrap("free task "+id.String(), k.ask(ctx, func(ctx context.Context) error { return k.store.Free(ctx, id) }))
}

// Delete removes a task that has ended.
func (k *Kernel) Delete(ctx context.Context, id ID) error {
	return wrap("delete task "+id.String(), k.ask(ctx, func(ctx context.Context) error { return k.store.Delete(ctx, id) }))
}

// Send puts a message into a task's inbox and wakes it. An empty message ID is made; the same ID again has no effect.
func (k *Kernel) Send(ctx context.Context, m Message) (ID, error) {
	if err := store.CheckName("message name", m.Name); err != nil {
		return ID{}, err
	}
	if err := k.fits("message "+m.Name, "message", m.Body); err != nil {
		return ID{}, err
	}
	if m.ID.IsZero() {
		m.ID = k.NewID()
	}
	t, err := k.record(ctx, m.Task) // a message is sealed if its task is, whatever this process does by default
	if err != nil {
		return ID{}, fmt.Errorf("send to task %s: %w", m.Task, err)
	}
	if !t.Sealed.IsZero() {
		if m.Body, err = k.seal(m.Task, "message/"+m.ID.String(), m.Body); err != nil {
			return ID{}, fmt.Errorf("send to task %s: %w", m.Task, err)
		}
	}
	return m.ID, wrap("send to task "+m.Task.String(), k.ask(ctx, func(ctx context.Context) error { return k.store.Send(ctx, m) }))
}

// Messages lists what is in a task's inbox and was not consumed, in the order it came.
func (k *Kernel) Messages(ctx context.Context, t Task) ([]Message, error) {
	var list []Message
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		list, err = k.store.Messages(ctx, t.ID)
		return err
	})
	if err == nil {
		err = k.openMessages(t, list)
	}
	return list, wrap("read the inbox of task "+t.ID.String(), err)
}

// Group reads a group.
func (k *Kernel) Group(ctx context.Context, id ID) (Group, error) {
	return k.group(ctx, "read", id, k.store.Group)
}

// Seal says that all first members of a group are there: from now on they run, unless the group is held.
func (k *Kernel) Seal(ctx context.Context, id ID) (Group, error) {
	return k.group(ctx, "seal", id, k.store.Seal)
}

// Release ends the hold of a group.
func (k *Kernel) Release(ctx context.Context, id ID) (Group, error) {
	return k.group(ctx, "release", id, k.store.Release)
}

// Abort asks all members of a group to end.
func (k *Kernel) Abort(ctx context.Context, id ID, reason string) (Group, error) {
	return k.group(ctx, "abort", id, func(ctx context.Context, id ID) (Group, error) { return k.store.Abort(ctx, id, reason) })
}

func (k *Kernel) group(ctx context.Context, verb string, id ID, fn func(context.Context, ID) (Group, error)) (Group, error) {
	var g Group
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		g, err = fn(ctx, id)
		return err
	})
	if verb != "read" {
		k.sweep.Notify() // its members may wait to be let go, or to be ended
	}
	return g, wrap(verb+" group "+id.String(), err)
}

// Pause keeps claims away from a scope, for a while or, if d is 0, until Resume. What runs goes on.
func (k *Kernel) Pause(ctx context.Context, s store.Scope, d time.Duration, reason string) error {
	return wrap("pause", k.ask(ctx, func(ctx context.Context) error { return k.store.Pause(ctx, s, d, reason) }))
}

// Resume ends the pause of exactly this scope.
func (k *Kernel) Resume(ctx context.Context, s store.Scope) error {
	return wrap("resume", k.ask(ctx, func(ctx context.Context) error { return k.store.Resume(ctx, s) }))
}

// Pauses lists the pauses that stand.
func (k *Kernel) Pauses(ctx context.Context) ([]Pause, error) {
	var ps []Pause
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		ps, err = k.store.PauseList(ctx)
		return err
	})
	return ps, wrap("list pauses", err)
}

// Workers lists the fleet.
func (k *Kernel) Workers(ctx context.Context) ([]store.Worker, error) {
	var ws []store.Worker
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		ws, err = k.store.Workers(ctx)
		return err
	})
	return ws, wrap("list workers", err)
}

// Queues counts what waits.
func (k *Kernel) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	var qs []store.QueueStatus
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		qs, err = k.store.Queues(ctx)
		return err
	})
	return qs, wrap("list queues", err)
}

// Stats lists what happened minute by minute in [from, until).
func (k *Kernel) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	var ms []store.Minute
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		ms, err = k.store.Stats(ctx, from, until)
		return err
	})
	return ms, wrap("read statistics", err)
}

// wrap says what was being done. It keeps nil.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
