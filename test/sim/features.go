package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// limits sets one bound on running tasks and one rate, and changes them at times.
func (w *workload) limits() {
	if !w.s.plan.mix.limits {
		return
	}
	put := func(l store.Limit) func(ctx context.Context, k *kernel.Kernel) error {
		return func(ctx context.Context, k *kernel.Kernel) error {
			_, err := k.PutLimit(ctx, l)
			return err
		}
	}
	running := store.Limit{Key: "limit0", Running: 1 + w.r.IntN(2)}
	rated := store.Limit{Key: "limit1", Rates: []store.Rate{{N: 1 + w.r.IntN(4), Per: time.Second * time.Duration(1+w.r.IntN(2)), Burst: w.r.IntN(3)}}}
	for _, l := range []store.Limit{running, rated} {
		w.anyone(put(l))
	}
	if w.chance(2) {
		running.Running = 1 + w.r.IntN(3)
		w.later(put(running))
	}
}

// addGroup makes a group that is filled in several submits, sealed, perhaps held and released, perhaps aborted.
func (w *workload) addGroup() {
	id := w.id()
	g := store.NewGroup{ID: id, Name: "group", Hold: w.chance(3)}
	if w.chance(2) {
		g.OnClose = &store.Spec{Kind: kindClose, Queue: kernel.DefaultQueue}
	}
	w.groups = append(w.groups, id)
	c := w.clients[w.r.IntN(len(w.clients))]
	then := func(do func(ctx context.Context, k *kernel.Kernel) error) {
		c.steps = append(c.steps, step{pause: w.some(3 * time.Second), do: do})
	}
	first := w.members(id, w.r.IntN(4))
	then(func(ctx context.Context, k *kernel.Kernel) error {
		_, all, err := k.SubmitGroup(ctx, g, first)
		w.ackAll(first, all, err)
		return err
	})
	for range w.r.IntN(3) {
		more := w.members(id, 1+w.r.IntN(3))
		then(func(ctx context.Context, k *kernel.Kernel) error {
			all, err := k.SubmitMany(ctx, more)
			w.ackAll(more, all, err)
			return err
		})
	}
	verb := func(do func(ctx context.Context, k *kernel.Kernel) (store.Group, error)) func(ctx context.Context, k *kernel.Kernel) error {
		return func(ctx context.Context, k *kernel.Kernel) error {
			_, err := do(ctx, k)
			return err
		}
	}
	if w.chance(4) {
		w.later(verb(func(ctx context.Context, k *kernel.Kernel) (store.Group, error) { return k.Abort(ctx, id, "") }))
	}
	then(verb(func(ctx context.Context, k *kernel.Kernel) (store.Group, error) { return k.Seal(ctx, id) }))
	if g.Hold {
		then(verb(func(ctx context.Context, k *kernel.Kernel) (store.Group, error) { return k.Release(ctx, id) }))
	}
}

func (w *workload) members(group store.ID, n int) []store.Spec {
	specs := make([]store.Spec, n)
	for i := range specs {
		spec, sc := w.plain()
		spec.Group, spec.Line, spec.Unique = group, int64(i), store.Unique{}
		w.scripts[spec.ID] = sc
		w.tasks = append(w.tasks, spec.ID)
		specs[i] = spec
	}
	return specs
}

// ackAll records what a client was told of several tasks.
func (w *workload) ackAll(specs []store.Spec, all []store.Submitted, err error) {
	if err != nil {
		return
	}
	for i, res := range all {
		if res.Err == nil && res.ID == specs[i].ID {
			w.s.acked(specs[i])
		}
	}
}

// addOrdered makes a lane that runs one task after the other.
func (w *workload) addOrdered() {
	order := []store.Order{store.OrderSkip, store.OrderBlock, store.OrderFail}[w.r.IntN(3)]
	for range 2 + w.r.IntN(5) {
		spec, sc := w.plain()
		spec.Order, spec.Lane, spec.Limit, spec.Unique, spec.StartBy = order, "line", "", store.Unique{}, 0
		sc.deaf = false
		w.scripts[spec.ID] = sc
		w.submit(spec)
	}
}

func (w *workload) addSchedule() {
	sched := store.Schedule{
		Name: "clock", Rule: fmt.Sprintf("every %ds", 2+w.r.IntN(5)), CatchUp: []string{kernel.CatchUpLast, kernel.CatchUpAll, kernel.CatchUpNone}[w.r.IntN(3)],
		Overlap: []store.Overlap{store.OverlapSkip, store.OverlapAllow}[w.r.IntN(2)],
		Task:    store.Spec{Kind: kindTick, Queue: kernel.DefaultQueue},
	}
	w.anyone(func(ctx context.Context, k *kernel.Kernel) error {
		_, err := k.PutSchedule(ctx, sched)
		return err
	})
}

// nuisances are what operators do: pauses that end, retries of tasks whether they can be retried or not, frees.
func (w *workload) nuisances() {
	m := w.s.plan.mix
	if m.pauses {
		scope := store.Scope{Queue: kernel.DefaultQueue, Kind: []string{"", kindPlain, kindChild}[w.r.IntN(3)]}
		w.later(func(ctx context.Context, k *kernel.Kernel) error {
			return k.Pause(ctx, scope, w.s.plan.deadAfter/2, "a pause")
		})
		w.later(func(ctx context.Context, k *kernel.Kernel) error { return k.Resume(ctx, scope) })
	}
	if m.retries {
		for range 3 {
			id := w.tasks[w.r.IntN(len(w.tasks))]
			w.later(func(ctx context.Context, k *kernel.Kernel) error { return k.Retry(ctx, id) })
			w.later(func(ctx context.Context, k *kernel.Kernel) error { return k.Free(ctx, id) })
		}
	}
}
