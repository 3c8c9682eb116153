package saga_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store/memory"
)

// poisoned is a fleet whose processes die when they run a certain step.
type poisoned struct {
	store  *memory.Store
	deaths atomic.Int32
	cured  atomic.Bool
}

// worker runs a process that dies of the step "poison".
func (p *poisoned) worker(t *testing.T, defs ...*saga.Def[int, int]) {
	handle, dead, over := p.store.Process(), make(chan struct{}), make(chan struct{})
	k := kerneltest.New(t, handle, kernel.Config{Slots: map[string]int{"default": 4, "q": 4}})
	for _, def := range defs {
		def.Around(func(ctx context.Context, c saga.Invocation, next func(context.Context) (any, error)) (any, error) {
			if c.Step != "poison" || c.What != saga.CallRun || p.cured.Load() {
				return next(ctx)
			}
			p.deaths.Add(1)
			handle.Crash()
			close(dead)
			<-ctx.Done()
			return nil, ctx.Err()
		}).Serve(k)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = k.Run(ctx) })
	group.Go(func() {
		select {
		case <-dead:
			k.Close()
		case <-over:
		}
	})
	t.Cleanup(func() {
		close(over)
		cancel()
		group.Wait()
	})
}

// A step that kills its process is held for the operator after three workers, four at most; others are not affected. The operator lets
// it be tried again, skips it, or rolls back: then nobody knows what the step has done. FT-15, RR-032
func TestAPoisonStepIsHeldForTheOperator(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"", "q"} {
		for verb, c := range map[string]struct {
			act  func(ctx context.Context, p *poisoned, k *kernel.Kernel, h *saga.Handle[int], task kernel.ID) error
			want []string
		}{
			"release": {func(ctx context.Context, p *poisoned, k *kernel.Kernel, _ *saga.Handle[int], task kernel.ID) error {
				p.cured.Store(true)
				return saga.Release(ctx, k, task)
			}, []string{"done poison", "completed"}},
			"roll back": {func(ctx context.Context, _ *poisoned, _ *kernel.Kernel, h *saga.Handle[int], _ kernel.ID) error {
				return h.Cancel(ctx, saga.Rollback, "it kills")
			}, []string{"compensated poison", "undone a", "cancelled"}},
		} {
			t.Run(verb+queue, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { poison(t, queue, c.act, c.want) })
			})
		}
	}
}

func poison(t *testing.T, queue string, act func(context.Context, *poisoned, *kernel.Kernel, *saga.Handle[int], kernel.ID) error, want []string) {
	w, p := &world{}, &poisoned{store: memory.New(memory.Config{})}
	def := saga.Define("poison", func(b *saga.Builder[int]) *saga.Node[int] {
		a := saga.Step1(b, "a", w.add("a"), b.In()).Undo(w.undo("a"))
		n := saga.Step1(b, "poison", w.add("poison"), a).Compensate(w.compensate("poison"))
		if queue != "" {
			n.Async(queue)
		}
		return n
	})
	other := saga.Define("other", func(b *saga.Builder[int]) *saga.Node[int] {
		nap := saga.Sleep(b, "nap", time.Second)
		return saga.Step1(b, "x", w.add("x"), b.In()).After(nap)
	})
	for range 6 {
		p.worker(t, def, other)
	}
	k := kerneltest.New(t, p.store.Process(), kernel.Config{})
	h, beside := start(t, false, def, k, 0), start(t, false, other, k, 0)
	sagatest.Completed(t, beside, 1)
	sagatest.Pass(t, 10*time.Minute)
	st, err := h.Status(t.Context())
	if n := p.deaths.Load(); err != nil || st.State != saga.Quarantined || n > 4 {
		t.Fatalf("after %d deaths the saga is %s, %v; want quarantined after four at most", n, st.State, err)
	}
	sagatest.Completed(t, start(t, false, other, k, 0), 1)
	task := h.ID()
	if queue != "" {
		task = st.Steps[1].Task
	}
	if err := act(t.Context(), p, k, h, task); err != nil {
		t.Fatal(err)
	}
	_, _ = h.Wait(t.Context())
	if got := sagatest.Events(t, h); !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("events %q, want %q at the end", got, want)
	}
	if want[0] == "compensated poison" && !slices.Contains(w.list(), "compensate poison unknown") {
		t.Errorf("effects %q, want the compensation told that nobody knows", w.list())
	}
}

// An operator gives the result of a step that cannot be run.
func TestAPoisonStepCanBeSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := &world{}, &poisoned{store: memory.New(memory.Config{})}
		def := saga.Define("skip", func(b *saga.Builder[int]) *saga.Node[int] {
			n := saga.Step1(b, "poison", w.add("poison"), b.In())
			return saga.Step1(b, "z", w.add("z"), n)
		})
		for range 6 {
			p.worker(t, def)
		}
		k := kerneltest.New(t, p.store.Process(), kernel.Config{})
		h := start(t, false, def, k, 0)
		sagatest.Pass(t, 10*time.Minute)
		if err := saga.SkipStep(t.Context(), k, h.ID(), "poison", 41, "done by hand"); err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, h, 42)
		sagatest.Sequence(t, h, "skipped poison", "done z", "completed")
	})
}
