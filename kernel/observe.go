package kernel

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Event is something that happened in this process, for metrics and live views. It carries no payload.
type Event struct {
	At      time.Time
	Kind    EventKind
	Task    ID
	Name    string // the task's kind
	Queue   string
	Worker  string
	Attempt int
	Epoch   int64         // of the run
	State   store.State   // where the task stands now
	Took    time.Duration // of a run, or of a recovery pass
	Count   int           // tasks that a recovery pass put back or ended
	Death   store.Death   // how another worker was found to be dead
	Err     error
}

// EventKind names an Event.
type EventKind string

// The events.
const (
	TaskSubmitted EventKind = "submitted"
	TaskStarted   EventKind = "started"
	TaskSettled   EventKind = "settled"   // its outcome is durable
	TaskFenced    EventKind = "fenced"    // its outcome was refused: it belongs to another
	TaskRecovered EventKind = "recovered" // put back after its worker died
	RecoveryRan   EventKind = "recovery"  // a pass that looked for dead workers was answered
	WorkerJoined  EventKind = "joined"
	WorkerFenced  EventKind = "self-fenced" // the store is out of reach: runs were cancelled
	WorkerLost    EventKind = "lost"        // declared dead by others
	WorkerLeft    EventKind = "left"
	WorkerDead    EventKind = "dead"  // another worker was declared dead by this one
	LimitDiffers  EventKind = "limit" // the store's limit of the key in Name is not what this program declares; Err says which stands
)

// observe hands an event to the user's hook. A hook that panics must not take a worker with it.
func (k *Kernel) observe(e Event) {
	if k.cfg.Observe == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			passExit(p)
			k.log.Error("observer panicked", "err", fmt.Sprint(p))
		}
	}()
	e.At = k.env.Now()
	k.cfg.Observe(e)
}

//go:noinline
func (k *Kernel) observeStart(r *Run) {
	k.observe(Event{Kind: TaskStarted, Task: r.task.ID, Name: r.task.Kind, Queue: r.task.Queue, Worker: r.worker.id, Attempt: r.Attempt(), Epoch: r.fence.Epoch})
}

func (k *Kernel) observeSubmits(specs []Spec, answers []Submitted) {
	if k.cfg.Observe == nil {
		return
	}
	for i, s := range specs {
		if answers[i].Err == nil && !answers[i].Existed {
			k.observe(Event{Kind: TaskSubmitted, Task: s.ID, Name: s.Kind, Queue: s.Queue, State: answers[i].State})
		}
	}
}

// passExit lets the end of a simulated process pass where panics are caught.
func passExit(p any) {
	if _, ok := p.(exit); ok {
		panic(p)
	}
}

// Health is how a running kernel is.
type Health struct {
	State    State
	Worker   string        // its present incarnation
	Beat     time.Duration // since the last answered beat was sent
	Recovery time.Duration // since the last recovery pass was answered
	Running  int
	Stuck    int    // handlers that do not return though their context has ended
	Problem  string // what is wrong; empty: nothing
}

// Health tells whether the kernel can do its work. Of one that is not running only the state is told.
func (k *Kernel) Health() Health {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := Health{State: k.state, Running: len(k.runs)}
	if k.worker == nil {
		return h
	}
	now := k.env.Now()
	h.Worker, h.Beat, h.Recovery, h.Stuck = k.worker.id, now.Sub(k.worker.beatAt), now.Sub(k.swept), k.stuck()
	slots := 0
	for _, n := range k.cfg.Slots {
		slots += n
	}
	switch {
	case k.worker.fenced:
		h.Problem = fmt.Sprintf("the store has not answered a beat for %v", h.Beat.Round(time.Millisecond))
	case k.cfg.RecoverEvery > 0 && h.Recovery > max(10*k.cfg.RecoverEvery, k.cfg.DeadAfter):
		h.Problem = fmt.Sprintf("no recovery pass for %v", h.Recovery.Round(time.Millisecond))
	case 2*h.Stuck >= slots && h.Stuck > 0:
		h.Problem = fmt.Sprintf("%d of %d slots are taken by handlers that do not return", h.Stuck, slots)
	}
	return h
}
