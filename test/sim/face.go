package sim

import (
	"errors"

	"github.com/outlast-go/outlast/store"
)

// errNotYet lets a client repeat a step whose end has not come.
var errNotYet = errors.New("not yet")

// faults is how many befall this run: what may happen once more than it should may do so once for each.
func (w *workload) faults() int {
	if w.s.exact == nil {
		return 0
	}
	return len(w.s.exact.faults)
}

// judge looks at what is left in the end.
func (w *workload) judge(fn func()) { w.judges = append(w.judges, fn) }

// whenBusy does something to a worker that has been at work for a moment, once.
func (w *workload) whenBusy(do func(p *process)) {
	const look = 20 * ms
	var busy *process
	var again func()
	again = func() {
		p := w.s.busiest()
		switch {
		case w.s.healing:
		case p != nil && p == busy && !p.paused:
			do(p)
		default:
			busy = p
			w.s.after(look, nil, again)
		}
	}
	w.s.after(look, nil, again)
}

// struck reports whether a task was given up because three of its workers died: two by faults, and one by the scenario itself.
func struck(t *store.Task) bool {
	return t.State == store.Failed && t.Reason == store.ReasonCrashed && t.Crashes > store.Suspicion
}

// tally counts what has happened, by name.
type tally map[string]int

// atMost fails the run where something has happened more often than it may.
func (t tally) atMost(w *workload, id string, most int) {
	for name, n := range t {
		if n > most {
			w.s.fail(id, "%s %d times; %d are allowed", name, n, most)
		}
	}
}
