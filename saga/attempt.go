package saga

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// result is how an attempt at a step ended.
type result struct {
	in      inst
	value   any
	err     error
	timeout bool
	staged  bool // its record went with its transaction
}

// runReady runs one step, or as many side by side as the saga allows.
func (e *engine) runReady(ctx context.Context, v *view) error {
	if e.unsaved {
		if err := e.save(ctx); err != nil {
			return err
		}
	}
	if e.limit() > 1 {
		return e.runSide(ctx)
	}
	return e.apply(ctx, e.attempt(ctx, v.ready[0], e.tried(v.ready[0])))
}

// runSide runs steps side by side until none is ready. If one fails the others are told, and waited for.
func (e *engine) runSide(ctx context.Context) error {
	e.sideBySide = true
	defer func() { e.sideBySide = false }()
	side, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	results := make(chan result)
	running := map[string]bool{}
	var group sync.WaitGroup
	defer group.Wait()
	var failure error
	alone := false
	for {
		if failure == nil && e.life.Phase == forward && ctx.Err() == nil {
			e.mu.Lock()
			ready := e.look().ready
			e.mu.Unlock()
			for _, in := range ready {
				if alone || len(running) == e.limit() || running[in.path()] || in.n.tx != nil && len(running) > 0 {
					continue
				}
				alone = in.n.tx != nil // its transaction ends the run
				running[in.path()] = true
				tried := e.tried(in)
				group.Go(func() { results <- e.attempt(side, in, tried) })
			}
		}
		if len(running) == 0 {
			return failure
		}
		res := <-results
		delete(running, res.in.path())
		alone = false
		e.mu.Lock()
		err := e.apply(ctx, res)
		e.mu.Unlock()
		if err == nil && len(running) > 0 {
			err = e.save(ctx) // others go on: what is done must not wait for them
		}
		if failure = errors.Join(failure, err); failure != nil || e.life.Phase != forward {
			stop(ErrUnwinding)
		}
	}
}

func (e *engine) tried(in inst) int {
	if r := e.rec[in.path()]; r != nil {
		return r.Attempt
	}
	return 0
}

// attempt runs the body of a step once.
func (e *engine) attempt(ctx context.Context, in inst, tried int) result {
	path := in.path()
	ctx, cancel := in.n.bound(ctx)
	defer cancel()
	ctx = context.WithValue(ctx, stepKey{}, &Step{e: e, path: path, key: e.key(path), attempt: tried + 1})
	res := result{in: in}
	if in.n.tx != nil {
		res.value, res.err = e.call(ctx, path, CallRun, func(ctx context.Context) (any, error) { return in.n.tx(ctx, in.s, e.stageStep(in)) })
		res.staged = res.err == nil
	} else {
		res.value, res.err = e.call(ctx, path, CallRun, func(ctx context.Context) (any, error) { return in.n.run(ctx, in.s) })
	}
	res.timeout = errors.Is(context.Cause(ctx), ErrStepTimeout)
	return res
}

// bound gives an attempt its time.
func (n *node) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := n.attemptTimeout(); d > 0 {
		return context.WithTimeoutCause(ctx, d, ErrStepTimeout)
	}
	return context.WithCancel(ctx)
}

// protect makes an error of a panic. The end of a simulated process is not one.
func protect(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, exit := p.(interface{ ProcessExit() }); exit {
				panic(p)
			}
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return fn()
}

// key is the same on each attempt at a step.
func (e *engine) key(path string) string { return e.keys + "/" + path }

// apply records what an attempt has brought. The error means that the run cannot go on.
func (e *engine) apply(ctx context.Context, res result) error {
	in, path := res.in, res.in.path()
	var halt haltError
	var staged *stagedError
	switch {
	case res.staged:
		return errStaged
	case errors.As(res.err, &staged):
		return res.err
	case res.err == nil:
		if err := e.accept(res, done); err != nil {
			return e.refuse(ctx, res, err)
		}
		return nil
	case errors.As(res.err, new(skipError)):
		if err := e.accept(res, skipped); err != nil {
			return e.failed(ctx, in, Permanent(err), OutcomeFailed)
		}
		return nil
	case errors.As(res.err, &halt):
		e.event(path, EventHalted, 0, halt.reason)
		e.life.Phase = mended
		e.life.Failure = &failure{Step: path, Cancel: halt.reason, Outcome: haltOutcome}
		return nil
	case errors.Is(res.err, errArgument):
		if l := (*lacking)(nil); errors.As(res.err, &l) {
			return l
		}
		return e.notBegun(in, res.err)
	case lost(ctx, res.err):
		return res.err // neither done nor failed: whoever has the task now runs it again, under the same key
	}
	return e.failed(ctx, in, res.err, outcomeOf(res))
}

// haltOutcome marks the "failure" of a saga that a step has halted.
const haltOutcome Outcome = "halted"

// outcomeOf says what is known after a failed attempt.
func outcomeOf(res result) Outcome {
	var p *panicError
	if res.timeout || marks(res.err).unknown || errors.As(res.err, &p) || errors.Is(res.err, context.Canceled) || errors.Is(res.err, context.DeadlineExceeded) {
		return OutcomeUnknown
	}
	return OutcomeFailed
}

// accept records a result. The error says that it cannot be kept.
func (e *engine) accept(res result, state stepState) error {
	for _, check := range res.in.n.checks {
		if err := check(res.value); err != nil {
			return fmt.Errorf("its result was refused: %w", err)
		}
	}
	if err := e.keep(res.in, res.value); err != nil {
		return err
	}
	e.concluded(res.in, state)
	return nil
}

// concluded marks a step as over.
func (e *engine) concluded(in inst, state stepState) {
	path, kind := in.path(), EventDone
	if state == skipped {
		kind = EventSkipped
	}
	e.event(path, kind, 0, "")
	r := e.at(path)
	r.State, r.Seq, r.NextAt = state, e.seq, time.Time{}
	e.unsaved = e.unsaved || !in.n.pure
}

// refuse fails a step whose effects have come and whose result cannot be kept. The result is still in memory: it is undone with it.
func (e *engine) refuse(ctx context.Context, res result, err error) error {
	n, outcome := res.in.n, OutcomeUnknown
	if n.undo != nil {
		uctx, cancel := n.bound(context.WithoutCancel(ctx))
		defer cancel()
		path := res.in.path()
		uctx = context.WithValue(uctx, stepKey{}, &Step{e: e, path: path, key: e.key(path) + "/undo", attempt: 1})
		if undoErr := protect(func() error { return n.undo(uctx, res.value) }); undoErr == nil {
			outcome = OutcomeFailed
		} else {
			err = fmt.Errorf("%w; and its undo failed: %w", err, undoErr)
		}
	}
	return e.failed(ctx, res.in, Permanent(err), outcome)
}

// failed records a failed attempt, and decides between another one and the end of the saga.
func (e *engine) failed(ctx context.Context, in inst, err error, outcome Outcome) error {
	path, n := in.path(), in.n
	r := e.at(path)
	r.Attempt++
	r.Outcome, r.Fault = outcome, asFault(err)
	if errors.Is(context.Cause(ctx), kernel.ErrAsked) || e.life.Phase != forward {
		r.State = failed // stopped on its way: it is not tried again
		e.event(path, EventStopped, r.Attempt, err.Error())
		return nil
	}
	e.event(path, EventFailed, r.Attempt, err.Error())
	m := marks(err)
	spent := m.permanent || r.Attempt >= max(n.retry.max, 1)
	wait := n.retry.wait.after(r.Attempt)
	if m.delayed {
		wait = m.after
	}
	if spent && e.pivoted() && !n.bestEffort {
		e.tell(ctx, Alert{State: Running, Step: path, Err: err.Error()})
		spent, wait = false, max(wait, min(time.Second<<min(r.Attempt, 10), 5*time.Minute))
	}
	switch {
	case !spent:
		r.NextAt = time.Time{}
		if wait > 0 {
			r.NextAt = e.run.Now().Add(wait).UTC()
		}
		e.unsaved = true
	case n.bestEffort:
		r.State = ignored
		e.event(path, EventIgnored, 0, "")
		e.unsaved = true
	case in.s.tolerant():
		r.State = failed
		e.unsaved = true
	default:
		r.State = failed
		e.fail(path, outcome, err, nil)
	}
	return nil
}

// notBegun fails a step whose body was not reached: it is neither tried again nor compensated.
func (e *engine) notBegun(in inst, err error) error {
	path := in.path()
	e.event(path, EventFailed, 0, err.Error())
	r := e.at(path)
	r.State, r.Unbegun, r.Outcome, r.Fault = failed, true, OutcomeFailed, asFault(err)
	switch {
	case in.n.bestEffort:
		r.State = ignored
	case !in.s.tolerant():
		e.fail(path, OutcomeFailed, err, nil)
	}
	return nil
}

// tell hands an alert to the user. A hook that panics does no harm.
func (e *engine) tell(ctx context.Context, a Alert) {
	a.Saga, a.ID = e.g.name, e.id
	e.run.Logger().Error("an operator is needed", "saga", a.Saga, "state", string(a.State), "step", a.Step, "err", a.Err)
	if e.g.alert != nil {
		_ = protect(func() error {
			e.g.alert(ctx, a)
			return nil
		})
	}
}

type stepKey struct{}

// Step is one attempt at a step, as its function sees it. Outside a saga it is nil, and its methods do no harm.
type Step struct {
	e       *engine
	path    string
	key     string
	attempt int
}

// From returns the step that ctx belongs to, or nil.
func From(ctx context.Context) *Step {
	s, _ := ctx.Value(stepKey{}).(*Step)
	return s
}

// Key is the same on each attempt at a step, and no other step has it: for receivers that tell repeats by a key. That of an undo or a
// compensation is the step's with /undo. Outside a saga it is empty.
func Key(ctx context.Context) string { return From(ctx).Key() }

// Key is what the function Key returns.
func (s *Step) Key() string {
	if s == nil {
		return ""
	}
	return s.key
}

// Saga returns the id of the saga.
func (s *Step) Saga() kernel.ID {
	if s == nil {
		return kernel.ID{}
	}
	return s.e.id
}

// Name returns the name of the step; inside a call or a map it begins with theirs.
func (s *Step) Name() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Attempt returns 1 for the first attempt. A crash is not an attempt.
func (s *Step) Attempt() int {
	if s == nil {
		return 1
	}
	return s.attempt
}

// Correlation is what ties together all that belongs to one request: that of the saga.
func (s *Step) Correlation() string {
	if s == nil {
		return ""
	}
	return s.e.run.Task().Correlation
}

// Fence grows each time another process takes the saga over: a resource that keeps the highest it has seen can refuse late writers.
func (s *Step) Fence() int64 {
	if s == nil {
		return 0
	}
	return s.e.run.Fence().Epoch
}
