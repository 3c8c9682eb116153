package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Run is one attempt at a task, as its handler sees it.
type Run struct {
	k       *Kernel
	task    Task  // as it was claimed
	opened  *Task // the same with its seals opened, for the handler alone; the same record if there is nothing to open
	fence   store.Fence
	worker  *worker
	suspect bool
	here    bool // by RunHere: it takes no slot
	late    bool // it came too late, or is not for this process: it is given back
	handler Handler
	order   int64
	shut    bool      // the task could not be opened, or its outcome not sealed
	claimed time.Time // when the claim was sent: the attempt's time runs from there, as it does in the store
	started time.Time

	ctx    context.Context //nolint:containedctx // the run's own span, ended by the loops that watch over it
	cancel context.CancelCauseFunc

	staged atomic.Bool // an outcome may be in the store that counts in place of what the handler returns

	// Guarded by k.mu.
	asked    string
	returned bool // the handler has
	settling bool // its outcome is on its way
	vacated  bool // its slot is free
	overAt   time.Time
	progress *Progress
	saves    int64                // begun
	saving   *gather[save, error] // made by the first
}

// newRun registers a run. k.mu is held.
func (k *Kernel) newRun(t *Task, p *plan) *Run {
	k.begun++
	r := &Run{k: k, task: *t, fence: t.Fence(), worker: p.worker, suspect: p.suspect, order: k.begun, claimed: p.at, started: k.env.Now(), asked: t.Asked, handler: k.handlers[t.Kind]}
	r.opened = &r.task
	r.ctx, r.cancel = k.env.WithCancel(k.life)
	k.runs[r.fence] = r
	if r.here = p.here; !r.here {
		k.used[t.Queue]++
	}
	return r
}

// vacate frees the slot of a run whose outcome is on its way. k.mu is held.
func (r *Run) vacate() {
	if !r.here && !r.vacated {
		r.k.used[r.task.Queue]--
	}
	r.vacated = true
}

// execute runs the handler and sees the outcome through. The run counts as held until its outcome is durable.
func (k *Kernel) execute(r *Run) store.Completed {
	defer k.forget(r)
	if k.cfg.Observe != nil {
		k.observeStart(r)
	}
	ctx, cancel := r.ctx, context.CancelFunc(func() {})
	if r.task.Timeout > 0 {
		ctx, cancel = k.env.WithTimeout(ctx, max(r.task.Timeout-k.env.Now().Sub(r.claimed), 0), ErrTimeout)
	}
	defer cancel()
	var result returned
	result.out, result.err = r.invoke(ctx)
	k.mu.Lock()
	r.returned = true
	k.mu.Unlock()
	return k.finish(r, context.Cause(ctx), &result)
}

// returned is what a handler has.
type returned struct {
	out Outcome
	err error
}

// finish is a function of its own, as open is, so that what it needs is off the stack while the handler runs.
//
//go:noinline
func (k *Kernel) finish(r *Run, cause error, result *returned) store.Completed {
	return k.settle(r, r.conclude(cause, result.out, result.err))
}

// invoke calls the handler. A panic of its is a failed attempt; it is caught here and nowhere else.
func (r *Run) invoke(ctx context.Context) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			passExit(p)
			out, err = Outcome{}, &panicError{value: p, stack: debug.Stack()}
		}
	}()
	if err := r.open(ctx); err != nil {
		return r.unopened(err)
	}
	return r.handler(ctx, r)
}

// open opens the seals of the task. It is a function of its own so that its copies of the record are off the stack while the handler
// runs: thousands may wait at the same time.
//
//go:noinline
func (r *Run) open(ctx context.Context) error {
	if r.task.Sealed.IsZero() && !bytes.HasPrefix(r.task.Args, spilled) && !bytes.HasPrefix(r.task.Result, spilled) {
		return nil
	}
	opened := r.task
	r.opened = &opened
	return r.k.openTask(ctx, r.opened)
}

// conclude makes an outcome of what a handler returned.
func (r *Run) conclude(cause error, out Outcome, err error) Outcome {
	if err == nil {
		if out.Kind == "" {
			out.Kind = store.OutcomeDone
		}
		return out
	}
	switch {
	case errors.Is(cause, ErrFenced), errors.Is(cause, ErrDraining), errors.Is(cause, ErrCaller), errors.Is(cause, ErrClosed), errors.Is(cause, errStopped):
		return Outcome{Kind: store.OutcomeRelease} // not the handler's fault
	case errors.Is(cause, ErrAsked) && r.task.Owned:
		return Outcome{Kind: store.OutcomeRelease} // made ready again, the handler is told with the claim
	case errors.Is(cause, ErrAsked):
		return Outcome{Kind: store.OutcomeCancel, Reason: r.Asked(), Error: describe(err)}
	case errors.Is(cause, ErrTimeout) && !errors.Is(err, ErrTimeout):
		err = fmt.Errorf("%w (%v): %w", ErrTimeout, r.task.Timeout, err)
	}
	return r.failed(err)
}

// failed decides between another attempt and the end.
func (r *Run) failed(err error) Outcome {
	var permanent permanentError
	var after retryAfterError
	attempts := r.task.Attempts + 1
	switch {
	case errors.As(err, &permanent):
		return Outcome{Kind: store.OutcomeFail, Reason: "permanent", Error: describe(err)}
	case r.task.Retry.Spent(attempts):
		return Outcome{Kind: store.OutcomeFail, Reason: store.ReasonAttempts, Error: describe(err)}
	case errors.As(err, &after):
		return Outcome{Kind: store.OutcomeRetry, Delay: max(after.wait, 0), Error: describe(err)}
	}
	wait := r.task.Retry.Wait(attempts)
	if !r.task.Retry.Exact {
		wait = time.Duration(float64(wait) * uniform(r.k.env)) // full jitter
	}
	return Outcome{Kind: store.OutcomeRetry, Delay: wait, Error: describe(err)}
}

// forget takes a run that is over off the books.
func (k *Kernel) forget(r *Run) {
	r.cancel(errStopped)
	k.mu.Lock()
	delete(k.runs, r.fence)
	r.settling = true // also one that nobody would hear of
	r.vacate()
	if r.suspect {
		k.suspects.outlived(k.env.Now())
	}
	if len(k.runs) == 0 && k.appetite.content() {
		k.suspects.whenIdle(k.env.Now())
	}
	k.mu.Unlock()
	k.kick.Notify()
	k.idle.Notify()
}

// ask tells a run that its task was asked to end. k.mu is held.
func (r *Run) ask(reason string) {
	r.asked = reason
	r.cancel(ErrAsked)
}

// over counts the runs whose context has ended. k.mu is held.
func (k *Kernel) over() int {
	n := 0
	for _, r := range k.runs {
		if r.ctx.Err() != nil {
			n++
		}
	}
	return n
}

// stuck counts the handlers that have not returned ten seconds after their context ended. k.mu is held.
func (k *Kernel) stuck() int {
	now, n := k.env.Now(), 0
	for _, r := range k.runs {
		over := r.ctx.Err() != nil || r.task.Timeout > 0 && now.Sub(r.claimed) > r.task.Timeout
		switch {
		case !over || r.settling:
		case r.overAt.IsZero():
			r.overAt = now
		case now.Sub(r.overAt) > 10*time.Second:
			n++
		}
	}
	return n
}

// Task returns the record as it was when the run began.
func (r *Run) Task() Task { return *r.opened }

// ID returns the id of the task.
func (r *Run) ID() ID { return r.task.ID }

// Key is the same on every attempt at this task, and no other task has it: for receivers that tell repeats by a key.
func (r *Run) Key() string { return r.task.ID.String() }

// Fence returns (epoch, id) of this run: a resource that keeps the highest epoch it has seen can refuse late writers.
func (r *Run) Fence() store.Fence { return r.fence }

// Attempt returns 1 for the first attempt. A crash is not an attempt.
func (r *Run) Attempt() int { return r.task.Attempts + 1 }

// Now returns the time by the store's clock, as well as this process can tell without asking: what was stored by it can be
// compared with it, in whatever process that was.
func (r *Run) Now() time.Time { return r.task.StartedAt.Add(r.k.env.Now().Sub(r.claimed)) }

// MaxPayload returns how many bytes a result or an entry may have; negative: there is no bound.
func (r *Run) MaxPayload() int { return r.k.cfg.MaxPayload }

// Asked returns why the task was asked to end, or nothing. An Owned task must end itself then.
func (r *Run) Asked() string {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	return r.asked
}

// Ended reads the task whose ending this run follows: the run's own task was its OnEnd. Of one that this process itself has just ended as
// done it tells what was claimed and what was returned, without Version, EndedAt and History of the ending. ErrNotFound says that it was deleted since, or
// that this run follows no ending; ErrState that it was retried since: another OnEnd follows the ending of that round.
func (r *Run) Ended(ctx context.Context) (*Task, error) {
	if r.task.Parent.IsZero() {
		return &Task{}, fmt.Errorf("read the ended task: %w: this run follows no ending", ErrNotFound)
	}
	if t := r.k.endings.take(ctx, r.task.ID); t != nil {
		return t, nil
	}
	t, err := r.k.get(ctx, r.task.Parent)
	if err == nil && store.OnEndID(t.ID, t.Round) != r.task.ID {
		err = fmt.Errorf("read the ended task: %w: it was retried since, and is in round %d", store.ErrState, t.Round)
	}
	return t, err
}

// Kernel returns the kernel that runs this run.
func (r *Run) Kernel() *Kernel { return r.k }

// Logger returns the kernel's log with the run's name in it.
func (r *Run) Logger() *slog.Logger {
	return r.k.log.With("task", r.task.ID.String(), "kind", r.task.Kind, "queue", r.task.Queue, "attempt", r.Attempt())
}
