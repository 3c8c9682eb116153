package history

import (
	"slices"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// room is how many tasks a cell may have, and how many messages a task.
const room = 8

// world is what the model knows of a cell. It is comparable, as porcupine asks for.
type world struct {
	Holder int // of the unique key; 0: nobody
	Tasks  [room + 1]task
}

// task is what the model knows of a task. The zero value is one that was not submitted.
type task struct {
	view
	CrashRun int
	Saves    int64
	Entry    string
	Inbox    string // the numbers of the messages in it, in their order
	Seen     uint16 // the messages it has seen, by their numbers
	Due      bool   // it waits for a time, which may come at any moment
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

// times are the tasks that a task may be by now: a time it waits for may have come. If all is still it has.
func (t task) times(still bool) []task {
	if !t.Due {
		return []task{t}
	}
	if still {
		return []task{t.leave(store.Ready)}
	}
	return []task{t, t.leave(store.Ready)}
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
	switch back := w.with(i, t.leave(store.Ready)); {
	case t.Asked:
		return []world{w.end(i, t, store.Cancelled, "")}
	case crash && before:
		// It fails if it ran alone, which the cell cannot know.
		return []world{w.end(i, t, store.Failed, ""), back}
	default:
		return []world{back}
	}
}
