package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// settle waits until nothing of the saga runs any more: a rollback beside a step that goes on would miss what it does.
func (e *engine) settle(ctx context.Context) (*kernel.Outcome, error) {
	live, err := e.stopSent(ctx)
	if err != nil {
		return nil, err
	}
	e.dirty[lifeEntry] = true
	if e.life.Failure.Abandon {
		e.life.Phase = mended
		return nil, nil
	}
	if live {
		out := e.park(0)
		return &out, nil
	}
	if err := e.gather(ctx); err != nil {
		return nil, err
	}
	if e.sentAny() {
		return nil, nil // ended between the two looks, and were sent again: look once more
	}
	if e.pivoted() {
		e.goOn()
		return nil, nil
	}
	for path, r := range e.rec {
		if r.State == begun && r.Attempt > 0 {
			r.State = failed // it waited for its next attempt
			e.dirty[stepEntry+path] = true
		}
	}
	e.life.Phase = unwinding
	e.unsaved = true // that it has failed is on record before anything is undone
	return nil, nil
}

// goOn takes a failure back: while it was being settled the saga has passed its point of no return.
func (e *engine) goOn() {
	if r := e.rec[e.life.Failure.Step]; r != nil && r.State == failed {
		r.State, r.Unbegun, r.NextAt = begun, false, e.run.Now().Add(time.Second).UTC()
		e.dirty[stepEntry+e.life.Failure.Step] = true
	}
	e.life.Phase, e.life.Failure = forward, nil
}

// unit is one thing that a rollback does.
type unit struct {
	in    inst
	index int // of the element; -1: the step itself
	kind  string
	order int64
}

const (
	undoing      = "undo"
	compensating = "compensate"
)

func (u unit) path() string {
	if u.index < 0 {
		return u.in.path()
	}
	return fmt.Sprintf("%s/%d", u.in.path(), u.index)
}

// back is where the state of a unit is kept.
type back struct {
	state   *backState
	attempt *int
	nextAt  *time.Time
	fault   **fault
	task    *kernel.ID
}

func (e *engine) back(u unit) back {
	r := e.at(u.in.path())
	if u.index < 0 {
		return back{&r.Back, &r.BackAttempt, &r.BackNextAt, &r.BackFault, &r.Task}
	}
	it := &r.Items[u.index]
	return back{&it.Back, &it.BackAttempt, &it.BackNextAt, &it.BackFault, &it.Undo}
}

// units lists all that a rollback has to do or has done, in its order: compensations first, then undos, what was done last first.
func (e *engine) units() ([]unit, error) {
	var list []unit
	for path, r := range e.rec {
		in, err := e.find(path)
		if err != nil {
			return nil, &lacking{[]string{err.Error()}}
		}
		n := in.n
		switch {
		case n.fans():
			for i, it := range r.Items {
				if it.State == done {
					list = append(list, unit{in, i, undoing, cmp.Or(r.Seq, lastSeq(r))})
				}
			}
		case r.State == failed && !r.Unbegun && !in.s.tolerant() && (n.compensate != nil || n.nullSafe && n.undo != nil && r.Outcome == OutcomeUnknown):
			list = append(list, unit{in, -1, compensating, lastSeq(r)})
		case r.State == done && n.undoable():
			list = append(list, unit{in, -1, undoing, r.Seq})
		}
	}
	slices.SortFunc(list, func(a, b unit) int {
		if a.kind != b.kind {
			return cmp.Compare(a.kind, b.kind)
		}
		return cmp.Or(cmp.Compare(b.order, a.order), cmp.Compare(b.index, a.index), cmp.Compare(b.in.n.index, a.in.n.index))
	})
	return list, nil
}

// lastSeq is when a step last failed.
func lastSeq(r *record) int64 {
	var seq int64
	for _, ev := range r.Events {
		if ev.Kind == EventFailed || ev.Kind == EventStopped || ev.Kind == EventUnknown || ev.Kind == EventSent {
			seq = max(seq, ev.Seq)
		}
	}
	return seq
}

// unwind does the next thing of the rollback.
func (e *engine) unwind(ctx context.Context) (*kernel.Outcome, error) {
	units, err := e.units()
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		b := e.back(u)
		switch *b.state {
		case compensated, undone, backFailed, resolved:
			continue
		case backSent:
			out := e.park(0)
			return &out, nil
		}
		if e.heldBack(u, units) {
			continue
		}
		if wait := b.nextAt.Sub(e.run.Now()); wait > 0 {
			if e.here {
				return nil, e.pause(ctx, *b.nextAt)
			}
			out := e.park(wait)
			return &out, nil
		}
		if u.in.n.queue != "" {
			return e.sendBack(u) // all that has changed is saved with it
		}
		if e.unsaved {
			if err := e.save(ctx); err != nil {
				return nil, err
			}
		}
		return nil, e.applyBack(ctx, u, e.backOnce(ctx, u, *b.attempt))
	}
	if failures := e.failures(units); len(failures) > 0 {
		return e.stuck(ctx, failures)
	}
	e.life.Phase = mended
	e.dirty[lifeEntry] = true
	return nil, nil
}

// heldBack reports whether something that was built on this could not be undone, so that it has to stay.
func (e *engine) heldBack(u unit, units []unit) bool {
	for _, f := range units {
		if *e.back(f).state != backFailed {
			continue
		}
		switch e.g.policy {
		case Stop:
			return true
		case Ancestors:
			if builtOn(f.in, u.in) {
				return true
			}
		}
	}
	return false
}

// builtOn reports whether a was built on b: at the innermost scope that holds both.
func builtOn(a, b inst) bool {
	as, bs := lineage(a), lineage(b)
	for i := 0; i < len(as) && i < len(bs); i++ {
		if as[i].s != bs[i].s {
			return false
		}
		if as[i].n != bs[i].n {
			return as[i].n.ancestors()[bs[i].n]
		}
	}
	return false
}

// lineage lists the nodes that hold an instance, outermost first, itself last.
func lineage(in inst) []inst {
	list := []inst{in}
	for s := in.s; s.of != nil; s = s.of {
		list = append(list, inst{s.of, s.node})
	}
	slices.Reverse(list)
	return list
}

// backOnce calls an undo or a compensation once.
func (e *engine) backOnce(ctx context.Context, u unit, tried int) error {
	n, path := u.in.n, u.in.path()
	r := e.at(path)
	ctx, cancel := n.bound(ctx)
	defer cancel()
	ctx = context.WithValue(ctx, stepKey{}, &Step{e: e, path: path, key: e.key(path) + "/undo", attempt: tried + 1})
	if u.kind == compensating && n.compensate != nil {
		f := Failure{Step: path, Outcome: r.Outcome, Key: e.key(path), Attempt: r.Attempt}
		if r.Fault != nil {
			f.Err = r.Fault
		}
		return e.callBack(ctx, path, CallCompensate, func(ctx context.Context) error { return n.compensate(ctx, f) })
	}
	var v any
	if u.kind == undoing {
		var err error
		if v, err = e.decodeResult(u.in, r); err != nil {
			return err
		}
	}
	if n.undoTx != nil {
		err := e.callBack(ctx, path, CallUndo, func(ctx context.Context) error {
			return n.undoTx(ctx, v, func(any) (kernel.Completion, error) {
				e.wentBack(u)
				return e.run.Completion(e.staged())
			})
		})
		if err == nil {
			return errStaged
		}
		return err
	}
	return e.callBack(ctx, path, CallUndo, func(ctx context.Context) error { return n.undo(ctx, v) })
}

// wentBack records that a unit is undone.
func (e *engine) wentBack(u unit) {
	b := e.back(u)
	if u.kind == compensating {
		*b.state = compensated
		e.note(u, EventCompensated, 0, "")
	} else {
		*b.state = undone
		e.note(u, EventUndone, 0, "")
	}
	*b.nextAt, e.unsaved = time.Time{}, true
}

// note writes an event of a unit: one of an element stands in the record of its map.
func (e *engine) note(u unit, kind string, attempt int, text string) {
	e.event(u.in.path(), kind, attempt, text)
	if u.index >= 0 {
		r := e.at(u.in.path())
		r.Events[len(r.Events)-1].Step = u.path()
	}
}

// applyBack records how an attempt to undo has ended.
func (e *engine) applyBack(ctx context.Context, u unit, err error) error {
	var staged *stagedError
	var l *lacking
	switch {
	case err == nil:
		e.wentBack(u)
		return nil
	case errors.Is(err, errStaged), errors.As(err, &staged), errors.As(err, &l), lost(ctx, err):
		return err
	}
	e.backFailed(u, err)
	return nil
}

// backFailed records a failed attempt to undo, and decides between another one and an operator.
func (e *engine) backFailed(u unit, err error) {
	b, p := e.back(u), u.in.n.undoPolicy()
	*b.attempt++
	*b.fault = asFault(err)
	e.note(u, EventUndoFailed, *b.attempt, err.Error())
	e.unsaved = true
	m := marks(err)
	if m.permanent || *b.attempt >= p.max {
		*b.state = backFailed
		return
	}
	wait := p.wait.after(*b.attempt)
	if m.delayed {
		wait = m.after
	}
	*b.nextAt = e.run.Now().Add(wait).UTC()
}

// failures lists what was not undone.
func (e *engine) failures(units []unit) []RollbackFailure {
	var list []RollbackFailure
	for _, u := range units {
		b := e.back(u)
		switch *b.state {
		case backFailed:
			list = append(list, RollbackFailure{u.path(), u.kind, (*b.fault).Message})
		case notBack:
			list = append(list, RollbackFailure{u.path(), u.kind, ""})
		}
	}
	return list
}

// stuck lets the saga wait for an operator.
func (e *engine) stuck(ctx context.Context, failures []RollbackFailure) (*kernel.Outcome, error) {
	e.event("", EventStuck, 0, "")
	e.life.Clean = e.run.Fence().Epoch
	e.life.Stuck = failures
	e.result.state = Stuck
	e.result.err = e.failure(Stuck)
	e.tell(ctx, Alert{State: Stuck, Failures: failures})
	out := e.with(kernel.Hold(stuckReason))
	return &out, nil
}

const (
	stuckReason  = "stuck"
	haltedReason = "halted"
)

// failure makes the error of a saga that does not end well.
func (e *engine) failure(state State) *Error {
	f := e.life.Failure
	err := &Error{Saga: e.g.name, ID: e.id, State: state, Step: f.Step, Outcome: f.Outcome, Reason: f.Cancel, Fields: f.Fields, Rollback: e.life.Stuck, err: e.result.err}
	if f.Fault != nil {
		err.Message, err.Type = f.Fault.Message, f.Fault.Type
	}
	return err
}

// end writes the ending of a saga that does not end well.
func (e *engine) end(ctx context.Context) (*kernel.Outcome, error) {
	f := e.life.Failure
	if err := e.letGo(ctx); err != nil {
		return nil, err
	}
	var out kernel.Outcome
	switch {
	case f.Outcome == haltOutcome:
		e.result.state = Halted
		e.event("", EventHalted, 0, f.Cancel)
		out = kernel.Outcome{Kind: "done", Reason: haltedReason, Result: e.stored(Halted)}
	case f.Fault == nil:
		e.result.state = Cancelled
		e.event("", EventCancelled, 0, f.Cancel)
		out = kernel.Outcome{Kind: "cancel", Reason: f.Cancel, Result: e.stored(Cancelled)}
	default:
		e.result.state = Failed
		e.event("", EventFailed, 0, f.Fault.Message)
		var cause error = f.Fault
		if f.Fault.Type != "" {
			cause = kernel.Typed(f.Fault.Type, cause)
		}
		out = kernel.Failed("", cause, e.stored(Failed))
	}
	e.result.err = e.failure(e.result.state)
	out = e.wipe(e.with(out))
	return &out, nil
}

// stored is the failure as the task's result keeps it.
func (e *engine) stored(state State) json.RawMessage { return toJSON(e.failure(state)) }
