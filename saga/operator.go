package saga

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// The verbs of operators, as they stand in the inbox.
const (
	orderName    = "operator"
	orderAgain   = "undo again"
	orderResolve = "resolve"
	orderSkip    = "skip"
)

// order is what an operator wants.
type order struct {
	Verb  string          `json:"verb"`
	Step  string          `json:"step,omitempty"`
	Note  string          `json:"note,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// RetryUndo lets a stuck saga try again to undo what it could not: one step, or all if step is empty.
func RetryUndo(ctx context.Context, k *kernel.Kernel, id kernel.ID, step, note string) error {
	return command(ctx, k, id, order{Verb: orderAgain, Step: step, Note: note})
}

// Resolve tells a stuck saga that a step was put right by hand: it counts as undone, and what waited for it goes on.
func Resolve(ctx context.Context, k *kernel.Kernel, id kernel.ID, step, note string) error {
	return command(ctx, k, id, order{Verb: orderResolve, Step: step, Note: note})
}

// Release lets a saga go on that is held because its processes died: the step that may have killed them is tried again.
func Release(ctx context.Context, k *kernel.Kernel, id kernel.ID) error { return k.Free(ctx, id) }

// SkipStep gives a held saga the result of a step that cannot be run: it counts as skipped, and is never undone.
func SkipStep[R any](ctx context.Context, k *kernel.Kernel, id kernel.ID, step string, v R, note string) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("skip step %s: %w: %w", step, kernel.ErrInvalid, err)
	}
	return command(ctx, k, id, order{Verb: orderSkip, Step: step, Note: note, Value: data})
}

// command puts an order into the inbox of a held saga, and frees it. If only the first is done, it can be repeated.
func command(ctx context.Context, k *kernel.Kernel, id kernel.ID, o order) error {
	t, err := k.Get(ctx, id)
	if err != nil {
		return err
	}
	if t.State != "held" {
		return fmt.Errorf("%s: %w: saga %s is %s, not held for an operator", o.Verb, kernel.ErrState, id, t.State)
	}
	if _, err := k.Send(ctx, kernel.Message{Task: id, Name: orderName, Body: toJSON(o)}); err != nil {
		return err
	}
	return k.Free(ctx, id)
}

// obey does what operators want. Each order is consumed with the save or outcome that records what it did.
func (e *engine) obey() {
	stuck := len(e.life.Stuck) > 0
	orders := 0
	for _, m := range e.inbox {
		var o order
		if m.Name != orderName || json.Unmarshal(m.Body, &o) != nil {
			continue
		}
		orders++
		e.consume = append(e.consume, m.ID)
		switch {
		case o.Verb == orderSkip && e.life.Phase == forward:
			e.skipStep(o)
		case o.Verb == orderResolve && e.life.Phase == unwinding:
			e.resolveStep(o)
		case o.Verb == orderAgain && e.life.Phase == unwinding:
			e.undoAgain(o)
		}
	}
	if stuck && orders == 0 {
		e.undoAgain(order{}) // freed by hand: that is an order, too
	}
	if stuck {
		e.life.Stuck = nil
		e.dirty[lifeEntry] = true
	}
}

func (e *engine) skipStep(o order) {
	in, err := e.find(o.Step)
	if err != nil || e.over(in) {
		return
	}
	r := e.at(o.Step)
	r.Result, r.Shape, r.Note, r.decoded = o.Value, in.n.shape, o.Note, false
	e.concluded(in, skipped)
	e.unclean = false
}

// resolveStep counts a step as undone, whether its undo has failed or kills those who call it.
func (e *engine) resolveStep(o order) {
	units, _ := e.units() // of a definition that lacks something nothing is resolved
	for _, u := range units {
		if state := *e.back(u).state; u.path() != o.Step || state != backFailed && state != notBack {
			continue
		}
		b := e.back(u)
		*b.state = resolved
		e.at(u.in.path()).Note = o.Note
		e.note(u, EventResolved, 0, o.Note)
	}
	e.unsaved = true
}

func (e *engine) undoAgain(o order) {
	for _, u := range e.failedUnits(o.Step) {
		b := e.back(u)
		*b.state, *b.attempt, *b.fault = notBack, 0, nil
		e.note(u, EventAgain, 0, o.Note)
	}
	e.unsaved = true
}

// failedUnits lists what could not be undone: all of it, or one step.
func (e *engine) failedUnits(step string) []unit {
	units, err := e.units()
	if err != nil {
		return nil
	}
	var list []unit
	for _, u := range units {
		if *e.back(u).state == backFailed && (step == "" || u.path() == step) {
			list = append(list, u)
		}
	}
	return list
}
