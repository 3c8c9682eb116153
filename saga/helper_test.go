package saga_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

var errNo = errors.New("says no")

// world is what the effects of steps are kept in. As a receiver that tells repeats by their keys does, it counts each effect once.
type world struct {
	mu    sync.Mutex
	lines []string
	keys  map[string]bool
}

func (w *world) do(ctx context.Context, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string]bool{}
	}
	if key := what + " " + saga.Key(ctx); !w.keys[key] {
		w.keys[key] = true
		w.lines = append(w.lines, what)
	}
}

func (w *world) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.lines...)
}

// add returns a step that adds one.
func (w *world) add(name string) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		w.do(ctx, name)
		return n + 1, nil
	}
}

// refuse returns a step that fails.
func (w *world) refuse(name string) func(context.Context, int) (int, error) {
	return func(ctx context.Context, _ int) (int, error) {
		w.do(ctx, "try "+name)
		return 0, fmt.Errorf("%s %w", name, errNo)
	}
}

func (w *world) undo(name string) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		w.do(ctx, "undo "+name)
		return nil
	}
}

func (w *world) compensate(name string) func(context.Context, saga.Failure) error {
	return func(ctx context.Context, f saga.Failure) error {
		w.do(ctx, "compensate "+name+" "+string(f.Outcome))
		return nil
	}
}

// start starts a saga by Start or by Run.
func start[In, Out any](t testing.TB, here bool, def *saga.Def[In, Out], k *kernel.Kernel, in In) *saga.Handle[Out] {
	t.Helper()
	if !here {
		h, err := def.Start(t.Context(), k, in, saga.Options{})
		if err != nil {
			t.Fatalf("Start = %v", err)
		}
		return h
	}
	h, err := def.Run(t.Context(), k, in, saga.Options{})
	var e *saga.Error
	if err != nil && !errors.As(err, &e) || h == nil {
		t.Fatalf("Run = %v, %v", h, err)
	}
	return h
}

// bubble runs a test in virtual time, by Start and by Run.
func bubble(t *testing.T, test func(t *testing.T, here bool)) {
	t.Helper()
	for _, here := range []bool{false, true} {
		t.Run(fmt.Sprintf("here=%v", here), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, here) })
		})
	}
}

// fleet is one worker on an empty store.
func fleet(t testing.TB, defs ...sagatest.Def) *kernel.Kernel {
	t.Helper()
	return sagatest.Start(t, sagatest.Config{}, defs...).Kernel
}
