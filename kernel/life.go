package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// returnGrace is how long Run waits for handlers whose contexts have ended before it calls them stuck.
const returnGrace = 5 * time.Second

// Run works until ctx ends, then drains: it claims no more, lets runs go on for ShutdownTimeout, gives the rest back without
// attempt or crash, and leaves the fleet. Everything it started has ended when it returns; handlers that do not return in
// spite of their ended context are left behind as ErrStuck. A kernel runs once.
func (k *Kernel) Run(ctx context.Context) error {
	if err := k.begin(); err != nil {
		return err
	}
	defer k.setState(Stopped)
	// The loops outlive ctx: a worker that drains must beat, complete and leave.
	if err := k.enter(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return err
	}
	inner, end := k.env.WithCancel(k.life)
	beats, endBeats := k.env.WithCancel(k.life)
	k.declareLimits(inner) // before the first claim; what fails now is tried again by limitLoop
	loops, beating := newCrew(k.env), newCrew(k.env)
	for _, loop := range []func(context.Context){k.guardLoop, k.claimLoop, k.sweepLoop, k.pruneLoop, k.tickLoop, k.watchWork, k.limitLoop} {
		loops.Go(func() { loop(inner) })
	}
	beating.Go(func() { k.beatLoop(beats) })
	k.setState(Running)
	k.kick.Notify()

	for ctx.Err() == nil && k.life.Err() == nil {
		k.stop.Wait(ctx, -1)
	}
	err := k.drain()
	end(errStopped)
	k.present().gone(errStopped)
	loops.Wait(k.forever, -1)
	k.leave()
	endBeats(errStopped)
	beating.Wait(k.forever, -1)
	k.stopped()
	return err
}

// begin freezes what is handled. A second Run is refused.
func (k *Kernel) begin() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return ErrClosed
	}
	if k.state != Idle {
		return fmt.Errorf("kernel.Run: %w: it is %s; a kernel runs once", store.ErrState, k.state)
	}
	k.state = Starting
	k.team = newCrew(k.env)
	k.served = slices.Sorted(maps.Keys(k.handlers))
	k.swept = k.env.Now()
	return nil
}

func (k *Kernel) setState(s State) {
	k.mu.Lock()
	k.state = s
	k.mu.Unlock()
}

// Quiet stops claiming without stopping: what runs goes on, the worker stays alive and recovers others. Run's context ends it.
func (k *Kernel) Quiet() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.quiet = true
	if k.state == Running {
		k.state = Draining
	}
}

// Halt cuts a drain short: what still runs is given back now. It has no effect before Run's context has ended.
func (k *Kernel) Halt() {
	k.mu.Lock()
	k.halted = true
	k.mu.Unlock()
	k.idle.Notify()
}

// drain lets runs end by themselves for a while and gives back the rest.
func (k *Kernel) drain() error {
	k.setState(Draining)
	end := k.env.Now().Add(max(k.cfg.ShutdownTimeout, 0))
	for k.running() > 0 && !k.isHalted() {
		rest := end.Sub(k.env.Now())
		if rest <= 0 {
			break
		}
		k.idle.Wait(k.forever, rest)
	}
	k.setState(Stopping)
	k.giveBack()
	k.team.Wait(k.forever, returnGrace)
	k.mu.Lock()
	defer k.mu.Unlock()
	stuck := 0
	for _, r := range k.runs {
		if !r.returned {
			stuck++
		}
	}
	if stuck > 0 {
		return fmt.Errorf("%w: %d are left behind", ErrStuck, stuck)
	}
	return nil
}

func (k *Kernel) running() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.runs)
}

func (k *Kernel) isHalted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.halted
}

// giveBack releases what still runs at once, without waiting for the handlers, and ends their contexts.
func (k *Kernel) giveBack() {
	k.mu.Lock()
	runs := k.sortedRuns()
	for _, r := range runs {
		r.cancel(ErrDraining)
	}
	k.mu.Unlock()
	for _, r := range runs {
		k.team.Go(func() { k.release(r) })
	}
}

// release gives a task back as if it had not been claimed.
func (k *Kernel) release(r *Run) {
	if _, sent := k.complete(r, Outcome{Kind: store.OutcomeRelease}, nil); sent {
		k.log.Info("released on shutdown", "task", r.task.ID.String(), "kind", r.task.Kind)
	}
}

// leave marks this worker as left and puts back what it may still hold. It tries for as long as others would need to find out
// by themselves.
func (k *Kernel) leave() {
	k.mu.Lock()
	k.left = true
	w := k.worker
	k.mu.Unlock()
	k.leaveAs(w.id)
}

// leaveAs is leave for one incarnation of this process.
func (k *Kernel) leaveAs(id string) {
	more := true
	for more {
		err := k.persist(k.life, k.cfg.DeadAfter, func(ctx context.Context, _ bool) (err error) {
			more, err = k.store.Leave(ctx, id)
			return err
		})
		if err != nil {
			if !errors.Is(err, store.ErrDead) && !errors.Is(err, store.ErrNotFound) {
				k.log.Error("could not leave the fleet; others will find out by themselves", "worker", id, "err", err)
			}
			return
		}
	}
	k.log.Info("worker left", "worker", id)
	k.observe(Event{Kind: WorkerLeft, Worker: id})
}
