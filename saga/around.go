package saga

import "context"

// What is called of a step.
const (
	CallRun        = "run"
	CallUndo       = "undo"
	CallCompensate = "compensate"
)

// Invocation is a call of one of a step's functions. From(ctx) tells more of it.
type Invocation struct {
	Saga string
	Step string
	What string // CallRun, CallUndo or CallCompensate
}

// Around wraps calls of functions: for traces, metrics, values in the context, or to take their place in a test. next calls the
// function, or the next wrapper; what it returns is the step's result (of an undo and a compensation: nil), whose type must stay.
// An error that a wrapper makes is the step's.
type Around func(ctx context.Context, c Invocation, next func(context.Context) (any, error)) (any, error)

// Around returns the same saga with its calls wrapped, the first wrapper outermost: serve the one that is returned. It is the same
// saga to the store.
func (d *Def[In, Out]) Around(wrappers ...Around) *Def[In, Out] {
	g := *d.g
	g.around = append(append([]Around(nil), d.g.around...), wrappers...)
	return &Def[In, Out]{&g}
}

// call calls a function of a step through its wrappers. A panic of any of them is the step's.
func (e *engine) call(ctx context.Context, path, what string, fn func(context.Context) (any, error)) (v any, err error) {
	next := fn
	for i := len(e.base.around) - 1; i >= 0; i-- {
		wrap, inner := e.base.around[i], next
		next = func(ctx context.Context) (any, error) {
			return wrap(ctx, Invocation{Saga: e.base.name, Step: path, What: what}, inner)
		}
	}
	err = protect(func() (err error) {
		v, err = next(ctx)
		return err
	})
	return v, err
}

func (e *engine) callBack(ctx context.Context, path, what string, fn func(context.Context) error) error {
	_, err := e.call(ctx, path, what, func(ctx context.Context) (any, error) { return nil, fn(ctx) })
	return err
}
