package saga_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/memory"
)

type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, s)
}

func step(l *log, name string, fail bool) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) {
		l.add(name)
		if fail {
			return 0, errors.New(name + " says no")
		}
		return n + 1, nil
	}
}

func undo(l *log, name string) func(context.Context, int) error {
	return func(context.Context, int) error { l.add("undo " + name); return nil }
}

func comp(l *log, name string) func(context.Context, saga.Failure) error {
	return func(_ context.Context, f saga.Failure) error {
		l.add("compensate " + name + " " + string(f.Outcome))
		return nil
	}
}

func TestSmoke(t *testing.T) {
	for _, fail := range []bool{false, true} {
		for _, here := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l := &log{}
				def := saga.Define("s", func(b *saga.Builder[int]) *saga.Node[int] {
					a := saga.Step1(b, "a", step(l, "a", false), b.In()).Undo(undo(l, "a"))
					bb := saga.Step1(b, "b", step(l, "b", false), a).Undo(undo(l, "b")).Async("q")
					return saga.Step1(b, "c", step(l, "c", fail), bb).Undo(undo(l, "c")).Compensate(comp(l, "c"))
				})
				k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 4, "q": 4}})
				def.Serve(k)
				kerneltest.Run(t, k)
				start := def.Start
				if here {
					start = def.Run
				}
				h, err := start(t.Context(), k, 1, saga.Options{})
				if err != nil {
					t.Fatal(err)
				}
				v, err := h.Wait(t.Context())
				t.Log(v, err)
				st, err := h.Status(t.Context())
				t.Log(st.State, err)
				for _, ev := range st.Timeline {
					t.Log(ev.Seq, ev, ev.Text)
				}
				t.Log(l.lines)
				if fail != slices.Contains(l.lines, "undo a") {
					t.Error("wrong")
				}
			})
		}
	}
}
