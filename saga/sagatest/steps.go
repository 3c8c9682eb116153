package sagatest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/saga"
)

// FailAt returns the saga with a step whose first attempts fail with err, without the step being called; times below 0: all of them.
func FailAt[In, Out any](def *saga.Def[In, Out], step string, times int, err error) *saga.Def[In, Out] {
	return failing(def, step, saga.CallRun, times, err)
}

// FailUndo is FailAt for the undo of a step.
func FailUndo[In, Out any](def *saga.Def[In, Out], step string, times int, err error) *saga.Def[In, Out] {
	return failing(def, step, saga.CallUndo, times, err)
}

// FailCompensate is FailAt for the compensation of a step.
func FailCompensate[In, Out any](def *saga.Def[In, Out], step string, times int, err error) *saga.Def[In, Out] {
	return failing(def, step, saga.CallCompensate, times, err)
}

func failing[In, Out any](def *saga.Def[In, Out], step, what string, times int, err error) *saga.Def[In, Out] {
	var mu sync.Mutex
	return def.Around(func(ctx context.Context, c saga.Invocation, next func(context.Context) (any, error)) (any, error) {
		if c.Step != step || c.What != what {
			return next(ctx)
		}
		mu.Lock()
		fails := times != 0
		if times > 0 {
			times--
		}
		mu.Unlock()
		if fails {
			return nil, err
		}
		return next(ctx)
	})
}

// Mock returns the saga with a step that is not called: its result is v.
func Mock[In, Out, R any](def *saga.Def[In, Out], step string, v R) *saga.Def[In, Out] {
	return def.Around(func(ctx context.Context, c saga.Invocation, next func(context.Context) (any, error)) (any, error) {
		if c.Step == step && c.What == saga.CallRun {
			return v, nil
		}
		return next(ctx)
	})
}

// Calls notes the calls of a saga's functions, as "what step", in their order.
type Calls struct {
	mu   sync.Mutex
	list []string
}

// Watch returns the saga with its calls noted.
func Watch[In, Out any](def *saga.Def[In, Out]) (*saga.Def[In, Out], *Calls) {
	c := &Calls{}
	return def.Around(func(ctx context.Context, i saga.Invocation, next func(context.Context) (any, error)) (any, error) {
		c.mu.Lock()
		c.list = append(c.list, i.What+" "+i.Step)
		c.mu.Unlock()
		return next(ctx)
	}), c
}

// List returns what was noted.
func (c *Calls) List() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.list...)
}

// Count returns how often a call was noted.
func (c *Calls) Count(call string) int {
	n := 0
	for _, l := range c.List() {
		if l == call {
			n++
		}
	}
	return n
}

// Completed waits for a saga, and fails the test if its result is not want.
func Completed[Out any](t testing.TB, h *saga.Handle[Out], want Out) {
	t.Helper()
	if got, err := h.Wait(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Wait = %+v, %v; want %+v", got, err, want)
	}
}

// Failed waits for a saga, and fails the test unless it ends in the given state, at the given step. It returns its error.
func Failed[Out any](t testing.TB, h *saga.Handle[Out], state saga.State, step string) *saga.Error {
	t.Helper()
	_, err := h.Wait(t.Context())
	var e *saga.Error
	if !errors.As(err, &e) {
		t.Fatalf("Wait = %v, want a *saga.Error", err)
	}
	if e.State != state || e.Step != step {
		t.Errorf("the saga is %s at step %q, want %s at %q: %v", e.State, e.Step, state, step, e)
	}
	return e
}
