package history

import (
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// room is how many tasks a cell may have, and how many messages a task.
const room = 8

// world is what the model knows of a cell. It is comparable, as porcupine asks for.
type world struct {
	Holder  int           // of the unique key; 0: nobody
	Aborted time.Duration // when the call had returned that aborted its group; 0: it was not
	Tasks   [room + 1]task
}

// task is what the model knows of a task. The zero value is one that was not submitted.
type task struct {
	view
	CrashRun int
	Saves    int64
	Entry    string
	Inbox    string        // the numbers of the messages in it, in their order
	Seen     uint16        // the messages it has seen, by their numbers
	Since    time.Duration // in a lane: when the call had returned that put it there
	Due      bool          // it waits for a time, or held for its group, which may come at any moment
}

// with returns the world with another task in the place of i.
func (w world) with(i int, t task) world {
	w.Tasks[i] = t
	return w
}

// end is a world in which a task has ended: its key is free, its inbox empty.
func (w world) end(i int, t task, state store.State, result string) world {
	t = t.leave(state)
	t.Result = result
	for _, c := range t.Inbox {
		t.Seen &^= 1 << (c - '0')
	}
	t.Inbox = ""
	if w.Holder == i {
		w.Holder = 0
	}
	return w.with(i, t)
}

// times are the worlds that there may be by now as far as a task goes: a time it waits for may have come, its group may have let it
// go, or ended it. If all is still that has happened.
func (w world) times(i int, still bool) []world {
	t := w.Tasks[i]
	all := []world{w}
	if t.Due {
		all = append(all, w.with(i, t.leave(store.Ready)))
	}
	if w.Aborted > 0 && t.State != "" && !t.State.Terminal() && !t.Asked {
		all = append(all, w.ask(i, t))
	}
	if still {
		return all[len(all)-1:]
	}
	return all
}

// ask is a world in which a task was asked to end: it has ended, or if it runs it knows.
func (w world) ask(i int, t task) world {
	switch {
	case t.State.Terminal() || t.Asked:
		return w
	case t.State != store.Running:
		return w.end(i, t, store.Cancelled, "")
	}
	t.Asked = true
	t.Wakes++
	return w.with(i, t)
}

// overruled is the task if a request turns its way out of running into an end: one to itself, or to its group.
func (w world) overruled(t task) (task, bool) {
	t.Asked = t.Asked || w.Aborted > 0
	return t, t.Asked
}

// leave is the task in another state, owned by nobody.
func (t task) leave(state store.State) task {
	t.State, t.Nonce, t.Worker, t.Due = state, store.ID{}, "", false
	return t
}

// wait is the task made due, at once or after a while.
func (t task) wait(delayed bool) task {
	if !delayed {
		return t.leave(store.Ready)
	}
	t = t.leave(store.Scheduled)
	t.Due = true
	return t
}

// wake is the task after a wake.
func (t task) wake() task {
	t.Wakes++
	if t.State == store.Parked {
		return t.leave(store.Ready)
	}
	return t
}

// holds reports whether it runs under a fence.
func (t task) holds(f store.Fence) bool {
	return t.State == store.Running && t.Epoch == f.Epoch && t.Nonce == f.Nonce
}

func (t task) suspect() bool { return t.CrashRun >= store.Suspicion || t.Crashes >= store.CrashBudget }

// claimed is the task as a claim makes it run.
func (t task) claimed(in input) task {
	t.State, t.Due = store.Running, false
	t.Epoch++
	t.Nonce, t.Worker, t.Saves = in.Fence.Nonce, in.Worker, 0
	return t
}

// without is the task with some messages used.
func (t task) without(used []int) task {
	t.Inbox = strings.Map(func(c rune) rune {
		if slices.Contains(used, int(c-'0')) {
			return -1
		}
		return c
	}, t.Inbox)
	return t
}

// putBack are the worlds in which a running task was taken from its owner.
func (w world) putBack(i int, crash bool) []world {
	t := w.Tasks[i]
	before := t.suspect()
	if crash {
		t.Crashes++
		t.CrashRun++
	}
	t, ends := w.overruled(t)
	switch back := w.with(i, t.leave(store.Ready)); {
	case ends:
		return []world{w.end(i, t, store.Cancelled, "")}
	case crash && before:
		// It fails if it ran alone, which the cell cannot know.
		return []world{w.end(i, t, store.Failed, ""), back}
	default:
		return []world{back}
	}
}
