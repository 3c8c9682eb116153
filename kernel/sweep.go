package kernel

import (
	"context"
	"log/slog"
	"time"

	"github.com/outlast-go/outlast/store"
)

// passLimit bounds how many chunks one pass does before it looks at the clock again.
const passLimit = 100

// sweepLoop looks for dead workers and does what time has made ripe. The first pass comes at once: a process that starts
// after a crash finds the work of the one before.
func (k *Kernel) sweepLoop(ctx context.Context) {
	if k.cfg.RecoverEvery < 0 {
		k.log.Info("recovery is switched off in this process")
		k.promoteLoop(ctx)
		return
	}
	k.log.Info("recovery started", "every", k.cfg.RecoverEvery.String())
	if k.store.Info().Volatile {
		k.log.Warn("the store does not outlive this process: there is nothing that recovery could find after its end", "engine", k.store.Info().Engine)
	}
	soon := k.recover(ctx, true)
	k.promote(ctx)
	next := k.nextPass(soon)
	for ctx.Err() == nil {
		if k.sweep.Wait(ctx, max(next.Sub(k.env.Now()), 0)) {
			k.promote(ctx) // a beat says that there is something
			continue
		}
		soon = k.recover(ctx, false)
		next = k.nextPass(soon)
	}
}

// promoteLoop does what time has made ripe, and nothing for the dead.
func (k *Kernel) promoteLoop(ctx context.Context) {
	for ctx.Err() == nil {
		k.promote(ctx)
		k.sweep.Wait(ctx, -1)
	}
}

// nextPass says when to look again: soon, if that is positive and sooner than usual. A process that works looks twice as often as one
// that is idle: where work is done there is something to lose, and a look costs little beside it. In a fleet so large that the store wants
// fewer beats, who is idle looks as much less often: there are many others.
func (k *Kernel) nextPass(soon time.Duration) time.Time {
	wait := k.jitter(k.cfg.RecoverEvery)
	k.mu.Lock()
	if len(k.runs) > 0 {
		wait /= 2
	} else if k.pace > k.cfg.Beat {
		wait = time.Duration(float64(wait) * float64(k.pace) / float64(k.cfg.Beat))
	}
	k.mu.Unlock()
	if soon > 0 {
		wait = min(wait, soon)
	}
	return k.env.Now().Add(wait)
}

// jitter spreads the passes of a fleet.
func (k *Kernel) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*uniform(k.env)))
}

// recover puts the tasks of dead workers back, chunk by chunk. It returns when the next pass may find more, if that is known.
func (k *Kernel) recover(ctx context.Context, force bool) (soon time.Duration) {
	begin, found := k.env.Now(), 0
	for range passLimit {
		var res store.RecoverResult
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
			res, err = k.store.Recover(ctx, store.RecoverRequest{Worker: k.present().id, Force: force})
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				k.away(err)
			}
			return 0
		}
		k.mu.Lock()
		k.swept = k.env.Now()
		k.mu.Unlock()
		k.report(ctx, res)
		found += len(res.Tasks)
		if !res.More {
			k.passed(begin, found)
			return res.Next
		}
		force = true // the rest of this pass, not another one
	}
	return 0
}

// passed tells of a pass that has ended.
func (k *Kernel) passed(begin time.Time, found int) {
	took := k.env.Now().Sub(begin)
	if found > 0 {
		k.log.Info("recovered", "tasks", found, "took", took.String())
	} else {
		k.log.Debug("nothing to recover", "took", took.String())
	}
	k.observe(Event{Kind: RecoveryRan, Count: found, Took: took})
}

// report logs what a pass did: one line per worker and per task.
func (k *Kernel) report(ctx context.Context, res store.RecoverResult) {
	for _, w := range res.Dead {
		level := slog.LevelWarn
		if w.HeldAt == 0 {
			level = slog.LevelInfo
		}
		k.log.Log(ctx, level, "worker declared dead", "worker", w.ID, "how", string(w.Death), "held", w.HeldAt)
		k.observe(Event{Kind: WorkerDead, Worker: w.ID, Death: w.Death})
	}
	for _, t := range res.Tasks {
		switch t.State {
		case store.Failed, store.Held:
			k.log.Error("task not put back", "task", t.ID.String(), "kind", t.Kind, "queue", t.Queue, "worker", t.Worker, "state", string(t.State), "reason", t.Reason)
		default:
			k.log.Info("task put back", "task", t.ID.String(), "kind", t.Kind, "queue", t.Queue, "worker", t.Worker, "state", string(t.State), "crash", t.Crash)
		}
		k.observe(Event{Kind: TaskRecovered, Task: t.ID, Name: t.Kind, Queue: t.Queue, Worker: t.Worker, State: t.State})
	}
}

// promoteMore is how much of a large group one call frees; the first call of a pass does less, as there is mostly little.
const promoteMore = 250

// promote does what time has made ripe, chunk by chunk.
func (k *Kernel) promote(ctx context.Context) {
	chunk, pause := 0, k.env.NewSignal()
	for range passLimit {
		var res store.PromoteResult
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
			res, err = k.store.Promote(ctx, chunk)
			return err
		})
		if err != nil || !res.More {
			return // the next beat says so again
		}
		chunk = promoteMore
		if res.Due+res.Freed+res.Expired+res.Aborted+res.Marked == 0 {
			pause.Wait(ctx, k.jitter(yieldFirst)) // others are about to write what is ripe: they must commit first
		}
	}
	k.sweep.Notify() // a large group has opened: go on at once, after a look at the clock
}

// pruneLoop removes what has expired.
func (k *Kernel) pruneLoop(ctx context.Context) {
	if k.cfg.PruneEvery < 0 {
		return
	}
	if !k.blobs.Empty() && k.store.Info().ID == "" {
		k.log.Warn("blobs are never swept: the store cannot tell its own from those of others", "engine", k.store.Info().Engine)
	}
	pause := k.env.NewSignal()
	for ctx.Err() == nil {
		pause.Wait(ctx, k.jitter(k.cfg.PruneEvery))
		for range passLimit {
			const chunk = 1000
			removed := 0
			err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
				removed, err = k.store.Prune(ctx, chunk)
				return err
			})
			if err != nil || removed < chunk {
				break
			}
		}
		if !k.blobs.Empty() {
			k.sweepBlobs(ctx)
		}
	}
}
