package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// RemoteClaim asks for work for a worker elsewhere.
type RemoteClaim struct {
	Queues map[string]int // served, and how many tasks of each are wanted
	Kinds  []string
	Nonce  ID            // the caller's name for this claim; zero: one is made
	Repeat bool          // the answer was lost: tell what the claim of this nonce still holds, and take nothing
	Wait   time.Duration // how long to wait until there is something
	Load   store.Load    // told with the beats meanwhile
}

// Claim takes ready tasks for the worker, and waits for some if there are none. While it waits it beats for the worker. The tasks come
// opened; one that cannot be opened is settled here as in a run. If ctx has ended by the time there are some, nobody is there to run
// them: they are given back. ErrDead as for Beat.
func (r *Remote) Claim(ctx context.Context, c RemoteClaim) ([]Task, error) {
	if err := checkServed(c.Queues, c.Kinds); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	if len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return nil, fmt.Errorf("claim: %w: no queue or no kind is named", store.ErrInvalid)
	}
	if c.Nonce.IsZero() {
		if c.Repeat {
			return nil, fmt.Errorf("claim: %w: a repeat needs the nonce of the claim", store.ErrInvalid)
		}
		c.Nonce = r.k.NewID()
	}
	if err := r.k.open(); err != nil {
		return nil, err
	}
	p := &remotePoll{r: r, c: c, queues: slices.Sorted(maps.Keys(c.Queues)), signal: r.k.env.NewSignal()}
	begun := r.k.env.Now()
	tasks, err := p.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("claim of worker %s: %w", r.id, err)
	}
	return r.opened(ctx, tasks, begun), nil
}

// claimPatience is how long a claim from elsewhere is repeated while the store does not answer.
const claimPatience = 10 * time.Second

// remotePoll is one claim that may wait.
type remotePoll struct {
	r      *Remote
	c      RemoteClaim
	queues []string
	signal Signal
	beatAt time.Time
	every  time.Duration
}

func (p *remotePoll) run(ctx context.Context) ([]Task, error) {
	k := p.r.k
	if p.c.Wait > 0 && !p.c.Repeat {
		watch, stop := k.env.WithCancel(ctx)
		crew := newCrew(k.env)
		crew.Go(func() { p.watch(watch) })
		defer crew.Wait(k.forever, -1)
		defer stop(errStopped)
	}
	end := k.env.Now().Add(p.c.Wait)
	for first := true; ; first = false {
		turn, err := p.beat(ctx)
		if err != nil {
			return nil, err
		}
		tasks, next, err := p.take(ctx, turn || first)
		if err != nil || len(tasks) > 0 || p.c.Repeat {
			return tasks, err
		}
		rest := end.Sub(k.env.Now())
		if rest <= 0 || ctx.Err() != nil {
			return nil, nil
		}
		if next > 0 {
			rest = min(rest, next)
		}
		p.signal.Wait(ctx, min(rest, max(p.every, time.Millisecond)))
	}
}

// watch wakes the poll when there may be work.
func (p *remotePoll) watch(ctx context.Context) {
	pause := p.r.k.env.NewSignal()
	for ctx.Err() == nil {
		// What it says when it breaks is said by the next call of the store as well.
		_ = p.r.k.store.Watch(ctx, p.r.id, p.queues, func(n store.Notice) {
			if n.Kind == store.NoticeWork || n.Kind == store.NoticeStart {
				p.signal.Notify()
			}
		})
		pause.Wait(ctx, p.r.k.jitter(time.Second))
	}
}

// beat keeps the worker alive if that is due. It reports whether it is the worker's turn at suspects.
func (p *remotePoll) beat(ctx context.Context) (suspects bool, err error) {
	k := p.r.k
	if now := k.env.Now(); !p.beatAt.IsZero() && now.Sub(p.beatAt) < p.every/2 {
		return false, nil
	}
	var res store.BeatResult
	err = k.persist(ctx, -1, func(ctx context.Context, _ bool) (err error) {
		p.beatAt = k.env.Now()
		res, err = k.store.Beat(ctx, store.BeatRequest{Worker: p.r.id, Load: p.c.Load, Queues: p.queues, Kinds: p.c.Kinds})
		return err
	})
	p.every = res.Every
	return res.Suspects, err
}

// take makes the claim, of suspects first if it is the worker's turn and it holds nothing that they could take along.
func (p *remotePoll) take(ctx context.Context, suspects bool) (tasks []Task, next time.Duration, err error) {
	k := p.r.k
	if suspects && !p.c.Repeat {
		var held []store.HeldTask
		err := k.persist(ctx, -1, func(ctx context.Context, _ bool) (err error) {
			held, err = k.store.Holds(ctx, p.r.id)
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		if len(held) == 0 {
			if tasks, _, err = p.ask(ctx, 1); err != nil || len(tasks) > 0 {
				return tasks, 0, err
			}
		}
	}
	return p.ask(ctx, 0)
}

func (p *remotePoll) ask(ctx context.Context, suspects int) ([]Task, time.Duration, error) {
	k := p.r.k
	req := store.ClaimRequest{
		Worker: p.r.id, Nonce: p.c.Nonce, Queues: k.turns.slots(p.c.Queues), Kinds: slices.Sorted(slices.Values(p.c.Kinds)), Suspects: suspects,
	}
	var res store.ClaimResult
	// Detached from ctx: a caller that goes away in the middle must not leave tasks claimed that nobody knows of.
	err := k.persist(k.life, claimPatience, func(ctx context.Context, repeat bool) (err error) {
		req.Repeat = repeat || p.c.Repeat
		res, err = k.store.Claim(ctx, req)
		return err
	})
	k.turns.keep(res.Cursors)
	return res.Tasks, res.Next, err
}

// opened opens what was claimed, and settles what nobody there could run.
func (r *Remote) opened(ctx context.Context, tasks []Task, begun time.Time) []Task {
	ready := make([]Task, 0, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		run := r.k.runElsewhere(t, t.Fence(), r.id)
		run.claimed = begun
		plain := *t
		err := r.k.openTask(ctx, &plain)
		switch {
		case ctx.Err() != nil:
			r.k.settle(run, Outcome{Kind: store.OutcomeRelease})
		case err != nil:
			out, err := run.unopened(err)
			r.k.settle(run, run.conclude(nil, out, err))
		default:
			ready = append(ready, plain)
			r.k.observe(Event{Kind: TaskStarted, Task: t.ID, Name: t.Kind, Queue: t.Queue, Worker: r.id, Attempt: run.Attempt(), Epoch: t.Epoch})
		}
		run.cancel(errStopped)
	}
	return ready
}

// Release gives tasks back as if they had not been claimed: their answer could not be handed over.
func (r *Remote) Release(tasks []Task) {
	for i := range tasks {
		run := r.k.runElsewhere(&tasks[i], tasks[i].Fence(), r.id)
		r.k.settle(run, Outcome{Kind: store.OutcomeRelease})
		run.cancel(errStopped)
	}
}

// runElsewhere is a run whose handler is in another process: what is known of it is the record and the fence it names.
func (k *Kernel) runElsewhere(t *Task, f store.Fence, of string) *Run {
	now := k.env.Now()
	run := &Run{k: k, task: *t, fence: f, worker: &worker{id: of}, here: true, claimed: now, started: now}
	run.opened = &run.task
	run.staged.Store(true) // who follows its ending reads it from the store: what is known here is not what its handler saw and said
	run.ctx, run.cancel = k.env.WithCancel(k.life)
	return run
}
