package kernel

import (
	"sync"

	"github.com/outlast-go/outlast/store"
)

// Bounds of what a process remembers of tasks that it has ended well.
const (
	endingsLimit  = 8 << 10
	endingsBytes  = 16 << 20
	endingPayload = 64 << 10 // a larger result is read from the store
)

// endings are tasks that this process has ended as done a moment ago, by the id of the task that follows: where that runs here as well, it need
// not read what it follows from the store. Done is for ever, so what is remembered never becomes wrong; what is forgotten is read.
type endings struct {
	mu    sync.Mutex
	tasks map[ID]*Task
	order []ID // from the oldest on; some may be taken already
	bytes int
}

// keep remembers how a run ended whose outcome is durable. result is as the handler returned it.
func (e *endings) keep(r *Run, result []byte) {
	if r.task.OnEnd == nil || len(result) > endingPayload {
		return
	}
	t := *r.opened
	t.State, t.Result, t.Error = store.Done, result, nil
	id := store.OnEndID(t.ID, t.Round)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tasks == nil {
		e.tasks = map[ID]*Task{}
	}
	if e.tasks[id] != nil {
		return
	}
	e.tasks[id] = &t
	e.order = append(e.order, id)
	e.bytes += size(&t)
	for len(e.order) > endingsLimit || e.bytes > endingsBytes {
		e.drop(e.order[0])
		e.order = e.order[1:]
	}
}

// take returns the task that a run follows, and forgets it; nil: it must be read.
func (e *endings) take(id ID) *Task {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[id]
	e.drop(id)
	return t
}

// drop forgets one, if it is there. e.mu is held.
func (e *endings) drop(id ID) {
	if t := e.tasks[id]; t != nil {
		e.bytes -= size(t)
		delete(e.tasks, id)
	}
}

func size(t *Task) int { return len(t.Args) + len(t.Result) + recordSize }

// recordSize is about what a record takes beside its payloads.
const recordSize = 1 << 10
