package kernel

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Bounds of what a process remembers of tasks that it has ended well.
const (
	endingsLimit  = 8 << 10
	endingsBytes  = 16 << 20
	endingPayload = 64 << 10         // a larger result is read from the store
	endingStays   = 30 * time.Second // then it gives way to others: what follows it runs elsewhere, or later
	endingWait    = time.Second      // for the answer of a call that has ended it
)

// endings are tasks that this process has ended as done a moment ago, by the id of the task that follows: where that runs here as well, it need
// not read what it follows from the store. Done is for ever, so what is remembered never becomes wrong; what is not remembered is read. Where
// more end than are followed, those that have ended first are kept: they are followed first.
type endings struct {
	env Env

	mu    sync.Mutex
	tasks map[ID]*ending
	order []*ending // from the oldest on; some may be taken already
	bytes int
}

// ending is one of them.
type ending struct {
	id    ID // of the task that follows
	task  *Task
	size  int
	at    time.Time
	known bool // the store has said that it is so. Until then who follows waits for the answer
	over  bool // taken, or given up
	// waits is who waits for the answer. At most one does.
	waits Signal
}

// expect remembers the ending of a run that is about to be written. result is as the handler returned it.
func (e *endings) expect(r *Run, result []byte) *ending {
	if r.task.OnEnd == nil || len(result) > endingPayload {
		return nil
	}
	size := len(r.opened.Args) + len(result) + recordSize
	now := e.env.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.order) > 0 && (e.order[0].over || e.full(size) && now.Sub(e.order[0].at) > endingStays) {
		e.drop(e.order[0])
		e.order[0], e.order = nil, e.order[1:]
	}
	id := store.OnEndID(r.task.ID, r.task.Round)
	if e.full(size) || e.tasks[id] != nil {
		return nil
	}
	if len(e.order) > 2*endingsLimit {
		e.order = slices.DeleteFunc(e.order, func(t *ending) bool { return t.over })
	}
	task := *r.opened
	task.State, task.Result, task.Error = store.Done, result, nil
	t := &ending{id: id, task: &task, size: size, at: now}
	if e.tasks == nil {
		e.tasks = map[ID]*ending{}
	}
	e.tasks[id] = t
	e.order = append(e.order, t)
	e.bytes += size
	return t
}

// full reports whether there is no room for so much. e.mu is held.
func (e *endings) full(size int) bool {
	return len(e.tasks) >= endingsLimit || e.bytes+size > endingsBytes
}

// answered says of what was expected whether it is so.
func (e *endings) answered(t *ending, so bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.known = so; !so {
		e.drop(t)
	}
	if t.waits != nil {
		t.waits.Notify()
	}
}

// take returns the task that a run follows, and forgets it; nil: it must be read. A call beside the one that has ended it may have brought the
// run before that was answered: then it waits, for what it would otherwise read.
func (e *endings) take(ctx context.Context, id ID) *Task {
	t := e.find(id)
	if t == nil {
		return nil
	}
	if t.waits != nil {
		t.waits.Wait(ctx, endingWait)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	task := t.task
	e.drop(t)
	if !t.known {
		return nil
	}
	return task
}

// find returns the ending that a task follows, with a signal if its answer is still to come.
func (e *endings) find(id ID) *ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[id]
	if t != nil && !t.known && t.waits == nil {
		t.waits = e.env.NewSignal()
	}
	return t
}

// drop forgets one. e.mu is held.
func (e *endings) drop(t *ending) {
	if t.over {
		return
	}
	t.over, t.task = true, nil
	e.bytes -= t.size
	delete(e.tasks, t.id)
}

// recordSize is about what a record takes beside its payloads.
const recordSize = 1 << 10
