package sim

import (
	"context"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// scenario is a small piece of work that is run under every schedule of faults.
type scenario struct {
	name string
	work func(w *workload)
}

// ms are thousandths of a second.
const ms = time.Millisecond

// scenarios are all of them.
var scenarios = slices.Concat(kernelScenarios, sagas, calls, batches, ticks, blobs, drains, endpoints)

// kernelScenarios are all ways in which a task can come, wait, run and end, each as small as it can be.
var kernelScenarios = []scenario{
	{"done", func(w *workload) { w.want(nil) }},
	{"at once", func(w *workload) {
		w.clients[0].works = true // idle, it takes what it submits
		w.then(200*ms, func(context.Context, *kernel.Kernel) error { return nil })
		w.want(nil)
	}},
	{"retry", func(w *workload) { w.want(func(_ *store.Spec, sc *script) { sc.failures = 2 }) }},
	{"fail", func(w *workload) {
		w.want(func(t *store.Spec, sc *script) {
			sc.failures, sc.permanent = 1, true
			t.OnEnd = &store.Spec{Kind: kindEnd, Queue: kernel.DefaultQueue}
		})
	}},
	{"panic", func(w *workload) { w.want(func(_ *store.Spec, sc *script) { sc.failures, sc.panics = 1, true }) }},
	{"snooze", func(w *workload) { w.want(func(_ *store.Spec, sc *script) { sc.snoozes = 1 }) }},
	{"save", func(w *workload) { w.want(func(_ *store.Spec, sc *script) { sc.saves = 2 }) }},
	{"delay", func(w *workload) { w.want(func(t *store.Spec, _ *script) { t.Delay = 200 * ms }) }},
	{"timeout", func(w *workload) {
		w.want(func(t *store.Spec, sc *script) { t.Timeout, sc.run, t.Retry.Max = 150*ms, 300*ms, 2 })
	}},
	{"deaf", func(w *workload) {
		w.want(func(t *store.Spec, sc *script) { t.Timeout, sc.run, sc.deaf, sc.hears = 200*ms, 180*ms, true, 2 })
	}},
	{"start-by", func(w *workload) { w.want(func(t *store.Spec, _ *script) { t.StartBy = 50 * ms }) }},
	{"on-end", func(w *workload) {
		w.want(func(t *store.Spec, _ *script) { t.OnEnd = &store.Spec{Kind: kindEnd, Queue: kernel.DefaultQueue} })
	}},
	{"forget", func(w *workload) { w.want(func(t *store.Spec, _ *script) { t.Retention = kernel.Forget }) }},
	{"stage", func(w *workload) { w.want(func(_ *store.Spec, sc *script) { sc.stage = true }) }},
	{"messages", func(w *workload) {
		id := w.want(func(t *store.Spec, sc *script) { t.Kind, sc.messages = kindWaiter, 2 })
		for i := range 2 {
			w.post(id, i)
		}
	}},
	{"children", func(w *workload) {
		w.want(func(t *store.Spec, sc *script) { t.Kind, sc.children = kindParent, 2 })
	}},
	{"owned", func(w *workload) { w.want(func(t *store.Spec, _ *script) { t.Kind, t.Owned = kindSaga, true }) }},
	{"owned, cancelled", func(w *workload) {
		id := w.want(func(t *store.Spec, sc *script) { t.Kind, t.Owned, sc.run = kindSaga, true, 200*ms })
		w.cancel(id)
	}},
	{"cancel", func(w *workload) {
		id := w.want(func(_ *store.Spec, sc *script) { sc.run = 300 * ms })
		w.cancel(id)
	}},
	{"cancel, waiting", func(w *workload) {
		id := w.want(func(t *store.Spec, _ *script) { t.Delay = time.Second })
		w.cancel(id)
	}},
	{"again", func(w *workload) {
		id := w.want(func(_ *store.Spec, sc *script) { sc.failures, sc.permanent = 1, true })
		w.then(200*ms, func(ctx context.Context, k *kernel.Kernel) error { return k.Retry(ctx, id) })
	}},
	{"unique", func(w *workload) {
		for _, c := range []store.Conflict{store.Keep, store.Replace, store.Reject} {
			w.want(func(t *store.Spec, _ *script) { t.Unique, t.Delay = store.Unique{Key: "one", OnConflict: c}, 100*ms })
		}
	}},
	{"limit", func(w *workload) {
		w.bound(store.Limit{Key: "limit0", Running: 1})
		for range 2 {
			w.want(func(t *store.Spec, _ *script) { t.Limit = "limit0" })
		}
	}},
	{"rate", func(w *workload) {
		w.bound(store.Limit{Key: "limit1", Rates: []store.Rate{{N: 2, Per: time.Second, Burst: 1}}})
		for range 2 {
			w.want(func(t *store.Spec, _ *script) { t.Limit = "limit1" })
		}
	}},
	{"order", func(w *workload) {
		for i := range 3 {
			w.want(func(t *store.Spec, sc *script) {
				t.Order, t.Lane, sc.failures, sc.permanent = store.OrderSkip, "line", i%2, true
			})
		}
	}},
	{"group", func(w *workload) {
		w.crowd(store.NewGroup{OnClose: &store.Spec{Kind: kindClose, Queue: kernel.DefaultQueue}}, false)
	}},
	{"group, held", func(w *workload) {
		w.crowd(store.NewGroup{Hold: true, OnClose: &store.Spec{Kind: kindClose, Queue: kernel.DefaultQueue}}, false)
	}},
	{"group, aborted", func(w *workload) {
		w.crowd(store.NewGroup{OnClose: &store.Spec{Kind: kindClose, Queue: kernel.DefaultQueue}}, true)
	}},
	{"schedule", func(w *workload) {
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			_, err := k.PutSchedule(ctx, store.Schedule{Name: "clock", Rule: "every 1s", Task: store.Spec{Kind: kindTick, Queue: kernel.DefaultQueue}})
			return err
		})
		w.then(1200*ms, func(ctx context.Context, k *kernel.Kernel) error { return k.DeleteSchedule(ctx, "clock") })
	}},
	{"pause", func(w *workload) {
		scope := store.Scope{Queue: kernel.DefaultQueue, Kind: kindPlain}
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error { return k.Pause(ctx, scope, 0, "a pause") })
		w.want(nil)
		w.then(100*ms, func(ctx context.Context, k *kernel.Kernel) error { return k.Resume(ctx, scope) })
	}},
	{"wait", func(w *workload) {
		id := w.want(nil)
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error { return w.await(ctx, k, id) })
	}},
}

// then gives the client its next step.
func (w *workload) then(pause time.Duration, do func(ctx context.Context, k *kernel.Kernel) error) {
	c := w.clients[0]
	c.steps = append(c.steps, step{pause: pause, do: do})
}

// want lets the client submit a task that runs for a moment, as edit says.
func (w *workload) want(edit func(t *store.Spec, sc *script)) store.ID {
	t := store.Spec{
		ID: w.id(), Kind: kindPlain, Queue: kernel.DefaultQueue, Retention: time.Hour,
		Retry: store.Retry{Max: 3, Base: 50 * ms, Cap: 100 * ms},
	}
	sc := &script{run: 20 * ms}
	if edit != nil {
		edit(&t, sc)
	}
	w.scripts[t.ID] = sc
	w.tasks = append(w.tasks, t.ID)
	w.then(ms, func(ctx context.Context, k *kernel.Kernel) error {
		res, err := k.Submit(ctx, t)
		if err == nil && res.ID == t.ID {
			w.s.acked(t)
		}
		return err
	})
	return t.ID
}

// post lets the client send a message.
func (w *workload) post(to store.ID, n int) {
	m := store.Message{ID: w.id(), Task: to, Name: "go", Body: number(n)}
	w.letters = append(w.letters, m)
	w.then(30*ms, func(ctx context.Context, k *kernel.Kernel) error {
		_, err := k.Send(ctx, m)
		return err
	})
}

// cancel lets the client cancel a task that has had the time to begin.
func (w *workload) cancel(id store.ID) {
	w.then(100*ms, func(ctx context.Context, k *kernel.Kernel) error {
		_, err := k.Cancel(ctx, id, "")
		return err
	})
}

// bound lets the client set a limit.
func (w *workload) bound(l store.Limit) {
	w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
		_, err := k.PutLimit(ctx, l)
		return err
	})
}

// crowd lets the client make a group, fill it twice and seal it, and release or abort it if it is to be.
func (w *workload) crowd(g store.NewGroup, abort bool) {
	g.ID, g.Name = w.id(), "group"
	w.groups = append(w.groups, g.ID)
	member := func() []store.Spec {
		t := store.Spec{
			ID: w.id(), Kind: kindPlain, Queue: kernel.DefaultQueue, Group: g.ID, Retention: time.Hour, Retry: store.Retry{Max: 2, Base: 50 * ms},
		}
		w.scripts[t.ID] = &script{run: 20 * ms}
		w.tasks = append(w.tasks, t.ID)
		return []store.Spec{t}
	}
	first, second := member(), member()
	w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
		_, all, err := k.SubmitGroup(ctx, g, first)
		w.ackAll(first, all, err)
		return err
	})
	w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
		all, err := k.SubmitMany(ctx, second)
		w.ackAll(second, all, err)
		return err
	})
	verb := func(do func(k *kernel.Kernel, ctx context.Context, id store.ID) (store.Group, error)) {
		w.then(10*ms, func(ctx context.Context, k *kernel.Kernel) error {
			_, err := do(k, ctx, g.ID)
			return err
		})
	}
	verb((*kernel.Kernel).Seal)
	if g.Hold {
		verb((*kernel.Kernel).Release)
	}
	if abort {
		verb(func(k *kernel.Kernel, ctx context.Context, id store.ID) (store.Group, error) {
			return k.Abort(ctx, id, "")
		})
	}
}
