package history

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// alive is what the model knows of a worker.
type alive int

const (
	unborn alive = iota
	living
	gone // dead or left: for ever
)

// workerModel is porcupine's model of a worker: it joins once, and dies once.
func workerModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{unborn} },
		Step: func(state, in, out any) []any {
			var next []any
			for _, a := range stepWorker(state.(alive), in.(input), out.(output)) { //nolint:errcheck,forcetypeassert // nothing else is ever in it
				next = append(next, a)
			}
			return next
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v -> %v", in, out) },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
	return m.ToModel()
}

// stepWorker are the states in which a call may leave a worker if its caller was told this.
func stepWorker(a alive, in input, out output) []alive {
	after, told := a, ""
	switch in.Op {
	case opJoin:
		if a != unborn {
			told = duplicate
		}
		after = max(a, living)
	case opLeave:
		if a == living {
			after = gone
		}
	case opRecover: // it tells that it has declared the worker dead
		if a != living && !out.Unknown {
			return nil
		}
		if a == living {
			after = gone
		}
	default: // a beat or a claim
		if a != living {
			told = dead
		}
	}
	switch {
	case out.Unknown && after == a:
		return []alive{a}
	case out.Unknown:
		return []alive{a, after}
	case out.Answer.Err != told:
		return nil
	}
	return []alive{after}
}
