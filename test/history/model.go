package history

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/outlast-go/outlast/store"
)

// kind says what the tasks of a cell share.
type kind string

const (
	plain  kind = "plain"  // nothing but the queue
	group  kind = "group"  // a group, which may be aborted
	unique kind = "unique" // a unique key
	skip   kind = "skip"   // a lane in which the next one runs after a failed one
	block  kind = "block"  // a lane in which none does
)

// lane says that the tasks of a cell run in order.
func (k kind) lane() bool { return k == skip || k == block }

// apart says that each task of a cell is judged by itself.
func (k kind) apart() bool { return k == plain || k == group }

// model is porcupine's model of a cell.
func (k kind) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{world{}} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, w := range k.step(state.(world), in.(input), out.(output)) { //nolint:errcheck,forcetypeassert // nothing else is ever in it
				next = append(next, w)
			}
			return next
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v -> %v", in, out) },
		DescribeState:     describe,
	}
	return m.ToModel()
}

func describe(state any) string {
	w, ok := state.(world)
	if !ok {
		return fmt.Sprint(state)
	}
	var b strings.Builder
	if w.Holder > 0 {
		fmt.Fprintf(&b, "key: %d ", w.Holder)
	}
	for i, t := range w.Tasks {
		if t.State != "" {
			fmt.Fprintf(&b, "%d: %s %d %s %s wakes %d round %d asked %v entry %q inbox %q; ", i, t.State, t.Epoch, short(t.Nonce), t.Worker, t.Wakes, t.Round, t.Asked, t.Entry, t.Inbox)
		}
	}
	return b.String()
}

// result is one thing that a call may do, and what its caller is told then.
type result struct {
	world
	answer
}

// step are the worlds that a call may leave if its caller was told this; none: it cannot have been told. If that is allowed, a call
// need not have seen an abort that had not returned when it began.
func (k kind) step(w world, in input, out output) []world {
	next := k.seeing(w, in, out)
	if in.Loose && w.Aborted > in.Call && in.Op != opAbort {
		blind := w
		blind.Aborted = 0
		for _, after := range k.seeing(blind, in, out) {
			after.Aborted = w.Aborted
			next = append(next, after)
		}
	}
	return next
}

// seeing is step for a call that sees all.
func (k kind) seeing(w world, in input, out output) []world {
	switch {
	case in.Op == opClaim && !out.Unknown:
		return k.take(w, in, out.Tasks)
	case in.Op == opRepeat:
		return repeated(w, in, out)
	case in.Op == opRecover && !out.Unknown:
		return recovered(w, in, out)
	}
	results := k.apply(w, in)
	var next []world
	if out.Unknown {
		next = append(next, w)
	}
	for _, r := range results {
		if out.Unknown || r.answer == out.Answer {
			next = append(next, r.world)
		}
	}
	return next
}

// apply lists what a call may do.
func (k kind) apply(w world, in input) []result {
	switch in.Op {
	case opClaim:
		return k.mayTake(w, in)
	case opLeave:
		return left(w, in)
	case opRecover:
		return mayRecover(w)
	case opSubmit:
		return k.submit(w, in)
	case opAbort:
		return abort(w, in)
	default:
		var all []result
		for _, now := range w.times(in.Task, in.Still) {
			all = append(all, k.one(now, now.Tasks[in.Task], in))
		}
		return all
	}
}

// take are the worlds after a claim that gave these tasks.
func (k kind) take(w world, in input, tasks []taken) []world {
	for _, got := range tasks {
		ready := false
		for _, now := range w.times(got.Task, in.Still) {
			if t := now.Tasks[got.Task]; k.mayRun(now, got.Task, t, in) && t.claimed(in).view == got.View {
				w, ready = now.with(got.Task, t.claimed(in)), true
				break
			}
		}
		if !ready {
			return nil
		}
	}
	if in.Still && len(k.mayTake(w, in)) > 0 {
		return nil // it left something
	}
	return []world{w}
}

// mayTake is what a claim may take, one task at a time.
func (k kind) mayTake(w world, in input) []result {
	var all []result
	for i := 1; i <= room; i++ {
		if in.Task > 0 && i != in.Task {
			continue
		}
		for _, now := range w.times(i, in.Still) {
			if t := now.Tasks[i]; k.mayRun(now, i, t, in) {
				all = append(all, result{world: now.with(i, t.claimed(in))})
			}
		}
	}
	return all
}

// mayRun reports whether a claim may take a task.
func (k kind) mayRun(w world, i int, t task, in input) bool {
	if t.State != store.Ready || w.Aborted > 0 && !in.Own || t.suspect() != in.Suspects {
		return false
	}
	if !k.lane() {
		return true
	}
	for j, other := range w.Tasks {
		switch {
		case j == i || other.State == "":
		case other.State == store.Running:
			return false
		case in.Loose && other.Since > in.Call: // it came while the claim was under way
		case j < i && (!other.State.Terminal() || k == block && other.State == store.Failed):
			return false
		}
	}
	return true
}

// repeated is the claim that was sent again: it tells what still runs under its nonce, all of it and nothing else.
func repeated(w world, in input, out output) []world {
	if out.Unknown {
		return []world{w} // it takes nothing
	}
	if in.Task > 0 {
		return repeatedOne(w, in, out)
	}
	told := map[int]view{}
	for _, got := range out.Tasks {
		told[got.Task] = got.View
	}
	for i, t := range w.Tasks {
		if v, ok := told[i]; ok != t.under(in) || ok && v != t.view {
			return nil
		}
	}
	return []world{w}
}

// repeatedOne is the same for a task that is judged by itself.
func repeatedOne(w world, in input, out output) []world {
	var next []world
	for _, now := range w.times(in.Task, in.Still) {
		t := now.Tasks[in.Task]
		if ok := len(out.Tasks) > 0; ok == t.under(in) && (!ok || out.Tasks[0].View == t.view) {
			next = append(next, now)
		}
	}
	return next
}

// under reports whether a task runs under the worker and the nonce of a claim.
func (t task) under(in input) bool {
	return t.State == store.Running && t.Nonce == in.Fence.Nonce && t.Worker == in.Worker
}

// left is the world after a worker has left: what it held is put back. Where that is allowed, it may have been declared dead before, by a
// pass that left a task to another call.
func left(w world, in input) []result {
	worlds := []world{w}
	for i, t := range w.Tasks {
		if t.State != store.Running || t.Worker != in.Worker {
			continue
		}
		var next []world
		for _, before := range worlds {
			for _, now := range before.times(i, in.Still) {
				next = append(next, now.putBack(i, false)...)
				if in.Loose {
					next = append(next, now.putBack(i, true)...)
				}
			}
		}
		worlds = next
	}
	return results(worlds)
}

func results(worlds []world) []result {
	var all []result
	for _, w := range worlds {
		all = append(all, result{world: w})
	}
	return all
}

// recovered are the worlds after Recover has told of a task.
func recovered(w world, in input, out output) []world {
	var next []world
	for _, now := range w.times(in.Task, in.Still) {
		if t := now.Tasks[in.Task]; t.State != store.Running || t.Worker != in.Worker {
			continue
		}
		for _, after := range now.putBack(in.Task, out.Crash) {
			if after.Tasks[in.Task].State == out.Answer.State {
				next = append(next, after)
			}
		}
	}
	return next
}

// mayRecover is what Recover may have done where nobody knows.
func mayRecover(w world) []result {
	worlds := []world{w}
	for i, t := range w.Tasks {
		if t.State != store.Running {
			continue
		}
		for _, before := range worlds {
			for _, now := range before.times(i, false) {
				worlds = append(worlds, now.putBack(i, false)...)
				worlds = append(worlds, now.putBack(i, true)...)
			}
		}
	}
	return results(worlds)
}
