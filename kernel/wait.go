package kernel

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// lookAgain is how often a waiter looks without having been told: notices are hints, and may be lost.
const lookAgain = 5 * time.Second

// Wait returns a task once it has ended, by whichever road: look at its State. It is told by the store, and does not poll. If
// ctx ends first, the error is its cause, and the task is as it was last seen, with what is sealed unopened.
func (k *Kernel) Wait(ctx context.Context, id ID) (Task, error) {
	return k.WaitFor(ctx, id, func(*Task) bool { return false })
}

// WaitFor is Wait that returns also as soon as enough says so: for a rest that is not an ending, as being held is not. It may not be asked
// about a task on its way: one that is ready, runs, or waits for a time or a wake.
func (k *Kernel) WaitFor(ctx context.Context, id ID, enough func(*Task) bool) (Task, error) {
	signal := k.follow(id, true)
	defer k.unfollow(id, signal)
	for {
		t, err := k.record(ctx, id)
		if err != nil {
			return *t, fmt.Errorf("get task %s: %w", id, err)
		}
		if t.State.Terminal() || enough(t) {
			err := k.openTask(ctx, t)
			return *t, err
		}
		if signal.Wait(ctx, k.jitter(lookAgain)); ctx.Err() != nil {
			veil(t)
			return *t, context.Cause(ctx)
		}
	}
}

// Follower is told when a task may have changed. One goroutine uses it at a time.
type Follower struct {
	k      *Kernel
	id     ID
	signal Signal
}

// Follow begins to listen for changes of a task, without reading it: what changes after Follow has returned is told by Wait.
// It must be closed.
func (k *Kernel) Follow(id ID) *Follower { return &Follower{k: k, id: id, signal: k.follow(id, false)} }

// Wait blocks until the task may have changed since Follow or the last Wait (true), or d has passed or ctx has ended (false). A
// negative d means no time limit. It reads nothing. It is told by the store, and a notice may be lost: look now and then all the same.
func (f *Follower) Wait(ctx context.Context, d time.Duration) bool { return f.signal.Wait(ctx, d) }

// Close ends it.
func (f *Follower) Close() { f.k.unfollow(f.id, f.signal) }

// waiter is one who is told of changes of a task.
type waiter struct {
	signal Signal
	rest   bool // it waits for the task to come to rest: one on its way does not concern it
}

func (k *Kernel) follow(id ID, rest bool) Signal {
	signal := k.env.NewSignal()
	k.mu.Lock()
	k.waiters[id] = append(k.waiters[id], waiter{signal, rest})
	start := !k.watching && !k.closed
	if start {
		k.watching = true
		// Started by the first waiter, and ended by Close, which waits for it.
		k.crew.Go(func() { k.watch(k.life, "", nil) })
	}
	k.mu.Unlock()
	k.store.Follow(id)
	return signal
}

func (k *Kernel) unfollow(id ID, signal Signal) {
	k.store.Unfollow(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	rest := slices.DeleteFunc(k.waiters[id], func(w waiter) bool { return w.signal == signal })
	if len(rest) == 0 {
		delete(k.waiters, id)
		return
	}
	k.waiters[id] = rest
}

// watchWork listens for work and requests, for each incarnation of this worker anew. Run ends the last one.
func (k *Kernel) watchWork(ctx context.Context) {
	queues := make([]string, 0, len(k.cfg.Slots))
	for queue := range k.cfg.Slots {
		queues = append(queues, queue)
	}
	slices.Sort(queues)
	pause := k.env.NewSignal()
	for ctx.Err() == nil {
		w := k.present()
		k.watch(w.listen, w.id, queues)
		pause.Wait(ctx, k.cfg.Beat) // until the next incarnation has joined
	}
}

// watch listens until ctx ends. After each break it lets everybody look, as what was said meanwhile was not heard.
func (k *Kernel) watch(ctx context.Context, worker string, queues []string) {
	pause := k.env.NewSignal()
	for ctx.Err() == nil {
		err := k.store.Watch(ctx, worker, queues, k.notice)
		if ctx.Err() != nil {
			return
		}
		k.log.Debug("watch ended", "err", err)
		k.hint()
		pause.Wait(ctx, k.jitter(time.Second))
	}
}

// hint makes everybody look.
func (k *Kernel) hint() {
	k.mu.Lock()
	k.appetite.wake()
	ids := slices.SortedFunc(maps.Keys(k.waiters), func(a, b ID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids { // in one order: the simulation runs a seed the same way each time
		for _, w := range k.waiters[id] {
			w.signal.Notify()
		}
	}
	k.mu.Unlock()
	k.kick.Notify()
}

// notice takes in one hint. It is called by the store and must not block.
func (k *Kernel) notice(n store.Notice) {
	switch n.Kind {
	case store.NoticeStart:
		k.hint()
	case store.NoticeWork:
		k.mu.Lock()
		k.appetite.wake()
		k.mu.Unlock()
		k.kick.Notify()
	case store.NoticeAsked:
		k.beatNow.Notify() // the beat tells which run, and why
	case store.NoticeTask:
		k.mu.Lock()
		for _, w := range k.waiters[n.Task] {
			if !w.rest || !n.Moving {
				w.signal.Notify()
			}
		}
		k.mu.Unlock()
	}
}
