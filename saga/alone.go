package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// alone is a step that has a task of its own.
type alone struct {
	in   inst
	mode string
}

// outcome is how the task of the step ends, or goes on.
func (a *alone) outcome(e *engine) kernel.Outcome {
	r := e.rec[a.in.path()]
	res := stepResult{Record: r}
	if e.life.Failure != nil && e.life.Failure.Outcome == haltOutcome {
		res.Halted, res.Halt = true, e.life.Failure.Cancel
	}
	back := a.mode != runMode
	if !back && r.State == done || !back && r.State == skipped {
		res.Secrets = e.ownSecrets()
	}
	switch {
	case res.Halted, !back && r.over(), back && (r.Back == undone || r.Back == compensated):
		out := kernel.Done(a.result(res))
		out.Entries = nil
		return out
	case !back && r.State == failed:
		return kernel.Failed("", cmpErr(r.Fault), a.result(res))
	case back && r.Back == backFailed:
		return kernel.Failed("", cmpErr(r.BackFault), a.result(res))
	}
	next := r.NextAt
	if back {
		next = r.BackNextAt
	}
	return e.again(max(next.Sub(e.run.Now()), 0))
}

// ownSecrets are those that this task has made: they are to be written with its result.
func (e *engine) ownSecrets() map[string]json.RawMessage {
	var own map[string]json.RawMessage
	for name := range e.dirty {
		if id, ok := strings.CutPrefix(name, secretEntry); ok {
			if own == nil {
				own = map[string]json.RawMessage{}
			}
			own[id] = e.vault[id]
		}
	}
	return own
}

// result leaves out what the saga has on record itself.
func (a *alone) result(res stepResult) []byte {
	if a.mode != runMode {
		r := *res.Record
		r.Result, r.Items = nil, nil
		res.Record = &r
	}
	return toJSON(res)
}

// serveStep is the handler of the tasks of steps.
func (g *graph) serveStep(k *kernel.Kernel) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		var a stepArgs
		if err := json.Unmarshal(run.Task().Args, &a); err != nil {
			return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("the task of a step does not decode: %w", err)))
		}
		inner := g.inside(a.Chain)
		e := newEngine(k, g, run)
		if inner == nil {
			return e.hold(&lacking{[]string{"there is no map " + strings.Join(a.Chain, "/")}}), nil
		}
		e = newEngine(k, inner, run)
		e.base, e.chain, e.id = g, a.Chain, a.Saga
		if a.Mode == elementMode || a.Mode == unelementMode {
			return e.conclude(e.runElement(ctx, a))
		}
		return e.conclude(e.runAlone(ctx, a))
	}
}

// conclude makes of what the engine says what the kernel is told.
func (e *engine) conclude(out kernel.Outcome, err error) (kernel.Outcome, error) {
	var l *lacking
	switch {
	case errors.Is(err, errStaged):
		return kernel.Snooze(0), nil // what the transaction has staged is what counts
	case errors.As(err, &l):
		return e.hold(l), nil
	}
	return out, err
}

// runAlone runs, undoes or compensates one step.
func (e *engine) runAlone(ctx context.Context, a stepArgs) (kernel.Outcome, error) {
	e.keys = strings.TrimSuffix(a.Key, "/"+a.Path)
	if err := e.restore(ctx); err != nil {
		return kernel.Outcome{}, err
	}
	own := e.at(a.Path)
	if e.run.Task().Asked != "" && a.Mode == runMode {
		return e.stopped(a, own), nil
	}
	if err := e.borrow(ctx, a); err != nil {
		if errors.Is(err, kernel.ErrNotFound) {
			return kernel.Cancelled("its saga is gone"), nil
		}
		return kernel.Outcome{}, err
	}
	in, err := e.find(a.Path)
	if err != nil {
		return kernel.Outcome{}, &lacking{[]string{err.Error()}}
	}
	e.alone = &alone{in, a.Mode}
	if a.Mode == runMode {
		e.rec[a.Path] = own
		err = e.apply(ctx, e.attempt(ctx, in, own.Attempt))
	} else {
		r := e.at(a.Path)
		r.Back, r.BackAttempt, r.BackNextAt, r.BackFault, r.Events = own.Back, own.BackAttempt, own.BackNextAt, own.BackFault, own.Events
		u := unit{in: in, index: -1, kind: a.Mode}
		err = e.applyBack(ctx, u, e.backOnce(ctx, u, own.BackAttempt))
	}
	if err != nil {
		return kernel.Outcome{}, err
	}
	if e.rec[a.Path].State == begun && errors.Is(context.Cause(ctx), kernel.ErrAsked) {
		return e.stopped(a, e.rec[a.Path]), nil
	}
	return e.alone.outcome(e), nil
}

// stopped ends the task of a step whose saga wants it no more.
func (e *engine) stopped(a stepArgs, r *record) kernel.Outcome {
	if r.Attempt > 0 || e.unclean {
		r.State = failed
		if r.Attempt == 0 {
			r.Outcome, r.Fault = OutcomeUnknown, &fault{Message: "its process died while it may have been under way"}
			e.event(a.Path, EventUnknown, 0, "")
		}
	}
	out := kernel.Cancelled(unwindingReason)
	out.Result = toJSON(stepResult{Record: r})
	return out
}

// borrow reads what the saga has on record: the step takes its arguments from there. It is read, never written.
func (e *engine) borrow(ctx context.Context, a stepArgs) error {
	of, err := e.k.Get(ctx, a.Of)
	if err != nil {
		return err
	}
	if of.State.Terminal() {
		return fmt.Errorf("%w: the saga has ended", kernel.ErrNotFound)
	}
	entries, err := e.k.Load(ctx, of)
	if err != nil {
		return err
	}
	delete(entries, lifeEntry)
	if err := e.take(entries); err != nil {
		return err
	}
	e.wiped = nil // they are the saga's
	if of.Kind == e.base.kind() {
		err = json.Unmarshal(of.Args, &e.args)
	} else {
		var was stepArgs
		err = json.Unmarshal(of.Args, &was)
		e.args = args{Hash: was.Hash, Shape: was.Shape, In: was.In}
	}
	if err != nil {
		return &lacking{[]string{"the saga does not decode: " + err.Error()}}
	}
	return e.openInput(ctx)
}
