package kernel

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// worker is one incarnation of this process in the store. A process that was declared dead goes on as another one.
type worker struct {
	id     string
	beatAt time.Time // when the last beat that was answered was sent
	fenced bool      // too long ago: others may have taken over
	dead   bool
	beats  int
	listen context.Context //nolint:containedctx // the incarnation's own span
	gone   context.CancelCauseFunc
}

// join creates an incarnation and makes it the present one. It repeats until the store has answered or ctx has ended; a call under
// way when ctx ends is waited for, so that who is stopped while it joins leaves again.
func (k *Kernel) join(ctx context.Context) error {
	k.mu.Lock()
	served := k.served // Run may be about to set it, while a guest joins
	k.mu.Unlock()
	req := store.JoinRequest{Beat: k.cfg.Beat, DeadAfter: k.cfg.DeadAfter, Info: store.WorkerInfo{
		Host: k.cfg.Name, PID: os.Getpid(), Version: k.cfg.Version, Slots: k.cfg.Slots, Kinds: served,
	}}
	var sent time.Time
	err := k.persist(ctx, -1, func(context.Context, bool) error {
		// Each try is another incarnation: one whose answer was lost may have joined, died and gone before the next try. It
		// holds nothing, and is declared dead in its time.
		random := k.env.Random()
		req.ID = fmt.Sprintf("%s:%d:%s", k.cfg.Name, os.Getpid(), hex.EncodeToString(random[:8]))
		sent = k.env.Now()
		return k.call(k.life, k.cfg.CallTimeout, func(ctx context.Context) error { return k.store.Join(ctx, req) })
	})
	if err != nil {
		return fmt.Errorf("join the fleet: %w", err)
	}
	id := req.ID
	listen, gone := k.env.WithCancel(k.life)
	k.mu.Lock()
	k.worker = &worker{id: id, beatAt: sent, listen: listen, gone: gone}
	k.appetite.wake()
	if uniform(k.env) < 0.5 {
		k.suspects.begin(sent) // who holds nothing yet has the least to lose; but where workers live for moments, others must begin with other work
	}
	left := k.left
	k.mu.Unlock()
	if left { // meanwhile, as the one before
		k.leaveAs(id)
		return nil
	}
	k.back()
	k.kick.Notify()
	k.beatNow.Notify()
	k.log.Info("worker joined", "worker", id)
	k.observe(Event{Kind: WorkerJoined, Worker: id})
	return nil
}

// leaving reports whether this process wants no further incarnation.
func (k *Kernel) leaving() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.left || k.state == Stopping || k.state == Draining && !k.quiet
}

func (k *Kernel) present() *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.worker
}

// reconcileEvery is how many beats pass between two looks at what the store says this worker holds.
const reconcileEvery = 15

// beatLoop says that this worker lives, until ctx ends, which is after everything else has.
func (k *Kernel) beatLoop(ctx context.Context) {
	every := k.cfg.Beat
	for ctx.Err() == nil {
		begin := k.env.Now()
		next, answered := k.beat(ctx, every)
		every = next
		if !answered {
			// A connection that was cut shows at its next use. Who waited a whole beat to use another would be silent for two, longer than
			// others wait for one whose session is gone.
			next /= beatAgain
		}
		k.beatNow.Wait(ctx, max(next-k.env.Now().Sub(begin), 0))
	}
}

// beatAgain is how much sooner the next beat comes after one that got no answer.
const beatAgain = 5

// beat sends one beat and returns how often to send them, and whether it was answered.
func (k *Kernel) beat(ctx context.Context, every time.Duration) (next time.Duration, answered bool) {
	w := k.present()
	req := k.beatRequest(w)
	var res store.BeatResult
	sent := k.env.Now()
	// A beat that takes longer than a beat is given up: the next one may find a better way.
	err := k.call(ctx, min(k.cfg.Beat, every), func(ctx context.Context) (err error) {
		res, err = k.store.Beat(ctx, req)
		return err
	})
	switch {
	case errors.Is(err, store.ErrDead):
		k.lose(w)
		if k.leaving() {
			return every, true
		}
		_ = k.join(ctx) // fails only when ctx has ended; it lets the next beat come at once
		return k.cfg.Beat, true
	case err != nil:
		k.away(err)
		return every, false
	}
	k.back()
	k.heard(w, sent, res)
	k.saveProgress(ctx)
	if w.beats%reconcileEvery == reconcileEvery-1 {
		k.reconcile(ctx, w)
	}
	w.beats++
	next = min(max(res.Every, time.Millisecond), k.cfg.DeadAfter/5)
	k.mu.Lock()
	k.pace = next
	k.mu.Unlock()
	return next, true
}

func (k *Kernel) beatRequest(w *worker) store.BeatRequest {
	k.mu.Lock()
	defer k.mu.Unlock()
	req := store.BeatRequest{
		Worker: w.id, Kinds: k.served,
		Load: store.Load{State: string(k.state), Running: len(k.runs), Stuck: k.stuck()},
	}
	if k.state == Running && !k.quiet {
		req.Queues = k.queues
	}
	return req
}

// heard takes in what a beat was answered.
func (k *Kernel) heard(w *worker, sent time.Time, res store.BeatResult) {
	k.mu.Lock()
	w.beatAt = sent
	if w.fenced {
		w.fenced = false
		k.appetite.wake()
	}
	if res.Work {
		k.appetite.wake()
	}
	if res.Suspects && !k.quiet {
		k.suspects.begin(k.env.Now())
	}
	for _, held := range res.Asked {
		if r := k.runs[held.Fence]; r != nil {
			r.ask(held.Asked)
		}
	}
	k.mu.Unlock()
	k.kick.Notify()
	if res.Ripe {
		k.sweep.Notify()
	}
	if res.Ticks {
		k.tickNow.Notify()
	}
}

// guardLoop fences this worker by itself when no beat that was sent lately enough has been answered: others may take its
// tasks any moment now. It has a goroutine of its own, so that no call that hangs can keep it from looking.
func (k *Kernel) guardLoop(ctx context.Context) {
	limit := k.cfg.DeadAfter - k.cfg.DeadAfter/3
	pause := k.env.NewSignal()
	for ctx.Err() == nil {
		rest, fenced := k.guard(limit)
		if fenced != "" {
			k.log.Warn("self-fenced: the store is out of reach", "worker", fenced)
			k.observe(Event{Kind: WorkerFenced, Worker: fenced})
		}
		pause.Wait(ctx, rest)
	}
}

// guard looks once. It returns when to look again, and the worker if it was fenced right now.
func (k *Kernel) guard(limit time.Duration) (rest time.Duration, fenced string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.worker
	if rest = limit - k.env.Now().Sub(w.beatAt); rest > 0 {
		return rest, ""
	}
	if !w.fenced {
		w.fenced, fenced = true, w.id
		k.cancelRuns(w, ErrFenced)
	}
	return k.cfg.Beat, fenced
}

// lose ends an incarnation that others have declared dead. Its runs are cancelled; what they still write is judged by fence.
func (k *Kernel) lose(w *worker) {
	k.mu.Lock()
	first := !w.dead
	w.dead, w.fenced = true, true
	k.cancelRuns(w, ErrFenced)
	w.gone(ErrFenced)
	k.mu.Unlock()
	if first {
		k.log.Warn("declared dead by others; joining anew", "worker", w.id)
		k.observe(Event{Kind: WorkerLost, Worker: w.id})
	}
}

// cancelRuns ends the contexts of a worker's runs. k.mu is held.
func (k *Kernel) cancelRuns(w *worker, cause error) {
	for _, r := range k.sortedRuns() {
		if w == nil || r.worker == w {
			r.cancel(cause)
		}
	}
}

// sortedRuns lists the runs in the order they began. k.mu is held.
func (k *Kernel) sortedRuns() []*Run {
	runs := slices.Collect(maps.Values(k.runs))
	slices.SortFunc(runs, func(a, b *Run) int { return int(a.order - b.order) })
	return runs
}

// reconcile compares what the store says this worker holds with what it runs. What it does not know (a claim whose answer was
// lost for good) it gives back; what it has lost without noticing it cancels.
func (k *Kernel) reconcile(ctx context.Context, w *worker) {
	k.mu.Lock()
	busy, turn := k.appetite.claiming > 0 || k.appetite.here > 0, k.appetite.turn
	known := maps.Clone(k.runs)
	k.mu.Unlock()
	if busy {
		return // a claim under way may bring what nobody knows yet
	}
	var held []store.HeldTask
	err := k.call(ctx, k.cfg.Beat, func(ctx context.Context) (err error) {
		held, err = k.store.Holds(ctx, w.id)
		return err
	})
	k.mu.Lock()
	if err != nil || turn != k.appetite.turn {
		k.mu.Unlock()
		return
	}
	var release []store.Completion
	for _, h := range held {
		if known[h.Fence] == nil {
			release = append(release, store.Completion{Fence: h.Fence, Outcome: Outcome{Kind: store.OutcomeRelease}})
		}
		delete(known, h.Fence)
	}
	for _, r := range k.sortedRuns() {
		if known[r.fence] == r && r.worker == w && !r.settling {
			r.cancel(ErrFenced)
		}
	}
	k.mu.Unlock()
	if len(release) == 0 {
		return
	}
	k.log.Warn("releasing tasks that a lost answer had claimed", "worker", w.id, "tasks", len(release))
	_ = k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {
		_, err := k.store.Complete(ctx, store.CompleteRequest{Items: release})
		return err // an answer that is lost too is left to the next round
	})
}
