package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// gatherElements takes in a portion of a map whose tasks have all ended.
func (e *engine) gatherElements(ctx context.Context, in inst) error {
	r := e.rec[in.path()]
	g, err := e.k.Group(ctx, r.Group)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if err == nil && g.State != "closed" {
		return nil
	}
	broken := ""
	for i := range r.Items {
		it := &r.Items[i]
		if it.State != begun {
			continue
		}
		t, err := e.k.Get(ctx, it.Task)
		switch {
		case err != nil && !errors.Is(err, kernel.ErrNotFound):
			return err
		case err == nil && t.State == "done" && t.Reason != haltedReason:
			it.State = done
		default:
			it.State, it.Err = failed, elementError(&t, err)
			if broken == "" && t.Reason != skippedReason {
				broken = fmt.Sprintf("element %d: %s", i, it.Err)
			}
		}
	}
	e.dirty[stepEntry+in.path()] = true
	e.unsaved = true
	r.State = begun
	if e.life.Phase != forward {
		return nil
	}
	if broken != "" && !in.n.each {
		r.State, r.Outcome, r.Fault = failed, OutcomeFailed, &fault{Message: broken}
		e.event(in.path(), EventFailed, 1, broken)
		e.fail(in.path(), OutcomeFailed, r.Fault, nil)
		return nil
	}
	list, err := in.s.items(in.n)
	if err != nil || len(r.Items) < len(list) {
		return err // the next portion is due
	}
	return e.allElements(ctx, in, r.Items)
}

const skippedReason = "skipped"

// elementError says why an element has no result.
func elementError(t *kernel.Task, err error) string {
	if err != nil {
		return err.Error()
	}
	var failure Error
	if json.Unmarshal(t.Result, &failure) == nil && failure.Message != "" {
		return failure.Message
	}
	return string(t.State) + " (" + t.Reason + ")"
}

// allElements makes the result of a map whose elements have all ended.
func (e *engine) allElements(ctx context.Context, in inst, items []item) error {
	values, errs := make([]any, len(items)), make([]error, len(items))
	for i, it := range items {
		if it.State != done {
			errs[i] = errors.New(it.Err)
			continue
		}
		t, err := e.k.Get(ctx, it.Task)
		if err != nil {
			return err
		}
		if values[i], err = in.n.child.out.decode(t.Result); err != nil {
			return &lacking{[]string{fmt.Sprintf("the result of %s/%d does not decode: %v", in.path(), i, err)}}
		}
	}
	v := in.n.collect(values, errs)
	if err := e.keep(in, v); err != nil {
		e.event(in.path(), EventFailed, 1, err.Error())
		e.at(in.path()).State = failed
		e.fail(in.path(), OutcomeUnknown, err, nil)
		return nil
	}
	e.concluded(in, done)
	return nil
}

// runElement runs an element of a map as a saga of its own, or undoes one that is done.
func (e *engine) runElement(ctx context.Context, a stepArgs) (kernel.Outcome, error) {
	e.keys = a.Key
	if err := e.restore(ctx); err != nil {
		return kernel.Outcome{}, err
	}
	if a.Mode == unelementMode {
		return e.runUnelement(ctx, a)
	}
	e.args = args{Hash: a.Hash, Shape: a.Shape, In: a.In}
	if err := e.openInput(ctx); err != nil {
		return kernel.Outcome{}, err
	}
	if !a.Each && e.run.Fence().Epoch == 1 && e.life.Phase == forward {
		// Another one has failed: this one need not begin.
		g, err := e.k.Group(ctx, a.Group)
		if err != nil {
			return kernel.Outcome{}, err
		}
		if g.Failed > 0 {
			return kernel.Cancelled(skippedReason), nil
		}
	}
	return e.drive(ctx)
}

func (e *engine) runUnelement(ctx context.Context, a stepArgs) (kernel.Outcome, error) {
	of, err := e.k.Get(ctx, a.Of)
	if err != nil {
		return kernel.Outcome{}, err
	}
	var was stepArgs
	if err := json.Unmarshal(of.Args, &was); err != nil {
		return kernel.Outcome{}, &lacking{[]string{"the element does not decode: " + err.Error()}}
	}
	e.args = args{Hash: was.Hash, Shape: was.Shape, In: was.In}
	if e.life.Phase == forward {
		entries, err := e.k.Load(ctx, of)
		if err != nil {
			return kernel.Outcome{}, err
		}
		if err := e.take(entries); err != nil {
			return kernel.Outcome{}, err
		}
		for path := range e.rec {
			e.dirty[stepEntry+path] = true // from here on they are this task's own
		}
		e.life = &life{Phase: unwinding, Failure: &failure{Cancel: "undone with its map"}}
		e.dirty[lifeEntry] = true
	}
	if err := e.openInput(ctx); err != nil {
		return kernel.Outcome{}, err
	}
	return e.drive(ctx)
}

// openInput decodes what the saga works on, and sees whether this process can go on with it.
func (e *engine) openInput(ctx context.Context) error {
	if e.args.Hash != e.g.hash || e.life.Hash != e.g.hash {
		if what := e.missing(); len(what) > 0 {
			return &lacking{what}
		}
	}
	if e.args.Vault {
		if err := e.openVault(ctx); err != nil {
			return err
		}
	}
	v, err := e.read(e.args.In, e.g.inShape, e.args.Shape, e.g.decodeIn, e.g.migrations)
	if err != nil {
		return &lacking{[]string{"the input does not decode"}}
	}
	e.root.in = v
	e.found()
	return nil
}
