package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// Handle is a saga that was started, seen from any process.
type Handle[Out any] struct {
	k       *kernel.Kernel
	g       *graph
	id      kernel.ID
	existed bool
	ended   *ending // it ended in this process
}

// Handle returns a handle of a saga that was started before, here or elsewhere. Whether there is one is seen by its first use:
// kernel.ErrNotFound.
func (d *Def[In, Out]) Handle(k *kernel.Kernel, id kernel.ID) *Handle[Out] {
	return &Handle[Out]{k: k, g: d.g, id: id}
}

// ByKey returns the id of the newest saga that was started under a key.
func (d *Def[In, Out]) ByKey(ctx context.Context, k *kernel.Kernel, key string) (kernel.ID, error) {
	page, err := k.List(ctx, kernel.Filter{Kinds: []string{d.g.kind()}, Unique: key}, kernel.PageRequest{Limit: 1})
	if err == nil && len(page.Items) == 0 {
		err = fmt.Errorf("saga %s with the key %q: %w", d.g.name, key, kernel.ErrNotFound)
	}
	if err != nil {
		return kernel.ID{}, err
	}
	return page.Items[0].ID, nil
}

// ID returns the id of the saga's task.
func (h *Handle[Out]) ID() kernel.ID { return h.id }

// Existed reports whether nothing was stored, because the Key was held or the ID was known.
func (h *Handle[Out]) Existed() bool { return h.existed }

// Wait returns the result once the saga has ended. If it did not end well, or is stuck, the error is an *Error; if ctx ends
// first, its cause.
func (h *Handle[Out]) Wait(ctx context.Context) (Out, error) {
	var out Out
	if h.ended != nil {
		return as[Out](h.ended.value), h.ended.err
	}
	task, err := h.k.WaitFor(ctx, h.id, func(t *kernel.Task) bool { return t.State == "held" && t.Reason == stuckReason })
	if err == nil {
		err = h.mine(&task)
	}
	switch {
	case err != nil:
		return out, fmt.Errorf("wait for saga %s: %w", h.g.name, err)
	case task.State == "done" && task.Reason != haltedReason:
		return h.decode(&task)
	}
	return out, h.failure(ctx, &task)
}

func (h *Handle[Out]) decode(t *kernel.Task) (Out, error) {
	var out Out
	if t.Stripped {
		if reflect.TypeFor[Out]().Size() == 0 {
			return out, nil
		}
		return out, fmt.Errorf("wait for saga %s: task %s: %w", h.g.name, h.id, ErrForgotten)
	}
	if err := json.Unmarshal(t.Result, &out); err != nil {
		return out, fmt.Errorf("wait for saga %s: task %s is done; its result does not decode: %w", h.g.name, h.id, err)
	}
	return out, nil
}

// failure makes the error of a saga that did not end well.
func (h *Handle[Out]) failure(ctx context.Context, t *kernel.Task) error {
	e := &Error{Saga: h.g.name, ID: t.ID, State: stateOf(t, &life{}), Reason: t.Reason}
	if t.State == "held" {
		l, _, err := loadSaga(ctx, h.k, t)
		if err != nil {
			return err
		}
		e.Reason, e.Rollback = "", l.Stuck
		if f := l.Failure; f != nil {
			e.Step, e.Outcome, e.Fields, e.Reason = f.Step, f.Outcome, f.Fields, f.Cancel
			if f.Fault != nil {
				e.Message, e.Type = f.Fault.Message, f.Fault.Type
			}
		}
		return e
	}
	if json.Unmarshal(t.Result, e) == nil {
		e.Saga, e.ID = h.g.name, t.ID
	} else if t.Error != nil {
		e.Message, e.Type = t.Error.Message, t.Error.Type
	}
	return e
}

// mine refuses a task that is of another kind: its id came from somewhere else.
func (h *Handle[Out]) mine(t *kernel.Task) error {
	if t.Kind != h.g.kind() {
		return fmt.Errorf("%w: task %s is of kind %s, not %s", kernel.ErrNotFound, h.id, t.Kind, h.g.kind())
	}
	return nil
}

// CancelMode says what becomes of the work of a saga that is cancelled.
type CancelMode string

// The modes of Cancel.
const (
	Rollback CancelMode = "rollback" // what was done is undone
	Abandon  CancelMode = "abandon"  // it stays as it is
)

// Cancel ends a saga before its time: one that waits within moments, one that runs within a second or so, after the step under way. The
// reason is shown; empty: "cancelled". It is refused with kernel.ErrState while the saga is being rolled back, and with ErrPivot after
// its point of no return. A saga that has ended is left as it is.
func (h *Handle[Out]) Cancel(ctx context.Context, mode CancelMode, reason string) error {
	if mode != Rollback && mode != Abandon {
		return fmt.Errorf("cancel saga %s: %w: the mode is %q; use Rollback or Abandon", h.g.name, kernel.ErrInvalid, mode)
	}
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err != nil {
		return fmt.Errorf("cancel saga %s: %w", h.g.name, err)
	}
	if task.State.Terminal() {
		return nil
	}
	l, rec, err := loadSaga(ctx, h.k, &task)
	if err != nil {
		return fmt.Errorf("cancel saga %s: %w", h.g.name, err)
	}
	if l.Phase != forward {
		return fmt.Errorf("cancel saga %s: %w: it is being rolled back", h.g.name, kernel.ErrState)
	}
	for _, n := range h.g.nodes {
		if n.pivot && rec[n.name].over() {
			return fmt.Errorf("cancel saga %s: %w", h.g.name, ErrPivot)
		}
	}
	if reason == "" {
		reason = "cancelled"
	}
	_, err = h.k.Cancel(ctx, h.id, string(mode)+": "+reason)
	return err
}

// cancelMode reads what Cancel has written. Who cancels the task by other means wants it rolled back.
func cancelMode(reason string) (abandon bool, text string) {
	if text, ok := strings.CutPrefix(reason, string(Abandon)+": "); ok {
		return true, text
	}
	return false, strings.TrimPrefix(reason, string(Rollback)+": ")
}

// loadSaga reads the checkpoint of a saga that somebody else runs.
func loadSaga(ctx context.Context, k *kernel.Kernel, t *kernel.Task) (*life, map[string]*record, error) {
	entries, err := k.Load(ctx, *t)
	if errors.Is(err, kernel.ErrNotFound) {
		return &life{}, nil, nil // its payload was not kept
	}
	if err != nil {
		return nil, nil, err
	}
	e := &engine{life: &life{}, rec: map[string]*record{}, vault: map[string]json.RawMessage{}}
	err = e.take(entries)
	return e.life, e.rec, err
}
