package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// repair starts the operator of the healing phase: it does what the work waits for and only somebody outside can do.
func (w *workload) repair() {
	s := w.s
	p := s.newProcess(roleOperator, "operator")
	k, err := kernel.New(p.store, s.kernelConfig(p))
	if err != nil {
		s.fail("SIM", "operator: %v", err)
		return
	}
	p.kernel = k
	w.operator = p
	pause := time.Second
	if s.exact != nil {
		pause = s.plan.deadAfter // there is seldom anything to mend, and each look is part of millions of runs
	}
	p.main(func(ctx context.Context) {
		for ctx.Err() == nil {
			if err := w.mend(ctx, k); err != nil && ctx.Err() == nil && !expected(err) {
				s.fail("K6", "the operator was told %v", err)
			}
			w.mended = true
			s.travel(ctx, pause)
		}
		k.Close()
	})
}

// expected reports whether an error is one that an operator gets who acts on what he saw a moment ago.
func expected(err error) bool {
	return errors.Is(err, store.ErrState) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDuplicate)
}

// mend looks once over everything.
func (w *workload) mend(ctx context.Context, k *kernel.Kernel) error {
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	if w.s.exact == nil || w.s.eye.blocked() {
		do(k.DeleteSchedule(ctx, "clock"))
		for _, kind := range []string{"", kindPlain, kindChild} {
			do(k.Resume(ctx, store.Scope{Queue: kernel.DefaultQueue, Kind: kind}))
		}
	}
	var free, again, seal, release []store.ID
	live := map[store.ID]bool{}
	w.walk(func(t *store.Task) {
		live[t.ID] = !t.State.Terminal()
		switch {
		case t.State == store.Held && t.Reason != store.ReasonGroup:
			free = append(free, t.ID)
		case t.State == store.Failed && t.Order == store.OrderBlock:
			again = append(again, t.ID)
		}
	}, func(g *store.Group) {
		switch g.State {
		case store.GroupFilling:
			seal = append(seal, g.ID)
		case store.GroupHeld:
			release = append(release, g.ID)
		}
	})
	for _, ids := range [][]store.ID{free, again, seal, release} {
		slices.SortFunc(ids, func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }) // they were met in no order
	}
	for _, id := range free {
		do(k.Free(ctx, id))
	}
	for _, id := range again {
		do(k.Retry(ctx, id))
	}
	if w.served() {
		for _, id := range seal {
			_, err := k.Seal(ctx, id)
			do(err)
		}
		for _, id := range release {
			_, err := k.Release(ctx, id)
			do(err)
		}
	}
	for _, m := range w.letters {
		if live[m.Task] {
			_, err := k.Send(ctx, m)
			do(err)
		}
	}
	return unexpected(errs)
}

func unexpected(errs []error) error {
	for _, err := range errs {
		if err != nil && !expected(err) {
			return err
		}
	}
	return nil
}

// walk looks at all tasks and groups behind everybody's back.
func (w *workload) walk(task func(t *store.Task), group func(g *store.Group)) {
	err := w.s.eye.walk(func(e store.Entry) {
		switch {
		case e.Task != nil:
			task(e.Task)
		case e.Group != nil:
			group(e.Group)
		}
	})
	if err != nil {
		w.s.fail("SIM", "export: %v", err)
	}
}

// served reports whether the clients have had all they asked for.
func (w *workload) served() bool {
	for _, c := range w.clients {
		if c.at < len(c.steps) {
			return false
		}
	}
	return true
}

// over reports whether all that was asked for has come, and ended.
func (w *workload) over() bool {
	if !w.served() {
		return false
	}
	over := true
	w.walk(func(t *store.Task) { over = over && t.State.Terminal() }, func(g *store.Group) { over = over && g.State == store.GroupClosed })
	return over
}

// finished reports whether nothing is left to do, nor for an operator.
func (w *workload) finished() bool { return w.mended && w.over() }

// pending lists up to limit things that have not ended.
func (w *workload) pending(limit int) []string {
	var left []string
	note := func(format string, args ...any) {
		if len(left) < limit {
			left = append(left, fmt.Sprintf(format, args...))
		}
	}
	w.walk(func(t *store.Task) {
		if !t.State.Terminal() {
			note("%s %v is %s %s (attempts %d, crashes %d, suspect %v, solo %v, asked %q, due %v, worker %s)",
				t.Kind, t.ID, t.State, t.Reason, t.Attempts, t.Crashes, t.Suspect, t.Solo, t.Asked, t.DueAt.Sub(w.s.storeNow()), t.Worker)
		}
	}, func(g *store.Group) {
		if g.State != store.GroupClosed {
			note("group %v is %s with %d alive", g.ID, g.State, g.Live())
		}
	})
	return left
}

func (w *workload) unfinished() string {
	for i, c := range w.clients {
		if c.at < len(c.steps) {
			return fmt.Sprintf("client %d is at step %d of %d", i, c.at, len(c.steps))
		}
	}
	return strings.Join(w.pending(5), "; ")
}

// longest is what the work itself may take once nothing goes wrong any more.
func (w *workload) longest() time.Duration {
	var sum time.Duration
	for _, id := range w.tasks {
		sum += 4*w.scripts[id].run + 2*time.Second
	}
	return 2*time.Minute + sum
}

// occupy gives the healthy workers something to hold.
func (w *workload) occupy() {
	for range 2 * w.s.plan.slots * w.s.plan.workers {
		spec := store.Spec{ID: w.id(), Kind: kindHog, Queue: kernel.DefaultQueue, Retry: store.Retry{Max: 1}, Retention: time.Hour}
		w.scripts[spec.ID] = &script{}
		w.tasks = append(w.tasks, spec.ID)
		w.hogs = append(w.hogs, spec)
	}
	p := w.operator
	w.s.start(p, func() {
		ctx := w.s.root()
		all, err := p.kernel.SubmitMany(ctx, w.hogs)
		w.ackAll(w.hogs, all, err)
		if err != nil {
			w.s.fail("I8", "a submit among the healthy: %v", err)
		}
	})
}
