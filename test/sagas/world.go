package sagas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

var errNo = errors.New("says no")

// World is where the effects of steps go, in the order they come.
type World struct {
	Here bool // sagas are started by Run

	engine engine
	store  func() store.Store // opens the store, as a process does; nil: there is none yet

	mu      sync.Mutex
	effects []string
	failing map[string]int // how often a call fails: below 0 always
	errs    map[string]error
	keys    map[string][]string
}

// Fail lets a call fail so often; below 0: always. Calls are called "a", "undo a" and "compensate a".
func (w *World) Fail(call string, times int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing == nil {
		w.failing, w.errs = map[string]int{}, map[string]error{}
	}
	w.failing[call], w.errs[call] = times, err
}

func (w *World) call(ctx context.Context, call string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string][]string{}
	}
	w.keys[call] = append(w.keys[call], saga.Key(ctx))
	w.effects = append(w.effects, call)
	if n := w.failing[call]; n != 0 {
		w.failing[call] = n - 1
		return w.errs[call]
	}
	return nil
}

// Effects returns the calls that were made.
func (w *World) Effects() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.effects)
}

// Keys returns the keys that a call was given.
func (w *World) Keys(call string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.keys[call])
}

// Step is a step that adds its name to a text.
func (w *World) Step(name string) func(context.Context, string) (string, error) {
	return func(ctx context.Context, in string) (string, error) {
		if err := w.call(ctx, name); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		return in + name, nil
	}
}

// Undo is the undo of a step. It refuses a result that is not the step's.
func (w *World) Undo(name string) func(context.Context, string) error {
	return func(ctx context.Context, out string) error {
		if out != "" && out[len(out)-len(name):] != name {
			return saga.Permanent(fmt.Errorf("undo of %s got %q", name, out))
		}
		return w.call(ctx, "undo "+name)
	}
}

// Compensate is the compensation of a step.
func (w *World) Compensate(name string) func(context.Context, saga.Failure) error {
	return func(ctx context.Context, f saga.Failure) error {
		if f.Step != name || f.Err == nil || f.Key != f.Key[:36]+"/"+name {
			return saga.Permanent(fmt.Errorf("compensation of %s got %+v", name, f))
		}
		return w.call(ctx, "compensate "+name)
	}
}

// node adds a step with all that can be called of it.
func (w *World) node(b *saga.Builder[string], name string, after saga.Ref[string]) *saga.Node[string] {
	return saga.Step1(b, name, w.Step(name), after).Undo(w.Undo(name)).Compensate(w.Compensate(name))
}

// start starts a saga as the world says.
func start[In, Out any](t *testing.T, w *World, def *saga.Def[In, Out], k *kernel.Kernel, in In, opts saga.Options) *saga.Handle[Out] {
	t.Helper()
	run := def.Start
	if w.Here {
		run = def.Run
	}
	h, err := run(t.Context(), k, in, opts)
	var e *saga.Error
	if err != nil && !errors.As(err, &e) || h == nil {
		t.Fatalf("start = %v, %v", h, err)
	}
	return h
}

// effects fails the test if the calls that were made are not exactly these.
func effects(t *testing.T, w *World, want ...string) {
	t.Helper()
	if got := w.Effects(); !slices.Equal(got, want) {
		t.Errorf("calls\n got %q\nwant %q", got, want)
	}
}
