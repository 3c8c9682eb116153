package sim

import "iter"

// strand is what coroutines run on, one after the other: its stack, once it has grown, serves them all.
type strand struct {
	fn    func() // what it runs when it is resumed the next time; it must not panic
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// loom keeps the strands that nothing runs on. It serves one run after the other, each of which gives back what it took; which strand a
// coroutine gets decides nothing. It is used by one run at a time.
type loom struct{ idle []*strand }

// take returns a strand for one function.
func (l *loom) take() *strand {
	if n := len(l.idle); n > 0 {
		st := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return st
	}
	st := &strand{}
	st.next, st.stop = iter.Pull(func(yield func(struct{}) bool) {
		st.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			st.fn()
		}
	})
	return st
}

// give takes back a strand whose function has returned.
func (l *loom) give(st *strand) {
	st.fn = nil // it holds the world that it was part of
	l.idle = append(l.idle, st)
}

// end ends the goroutines of all idle strands.
func (l *loom) end() {
	for _, st := range l.idle {
		st.stop()
	}
	l.idle = nil
}
