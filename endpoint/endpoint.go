package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/outlast-go/outlast/kernel"
)

// Endpoint is a function that HTTP requests start to run in the background. Make one with Define; once set up it may be used
// from any goroutine.
type Endpoint[T, R any] struct {
	name  string
	fn    func(context.Context, Request[T]) (R, error)
	check func(http.ResponseWriter, *http.Request, Request[T]) error
}

// Define gives a function a name under which its tasks are stored, and so must keep for as long as tasks of it may be left. T is
// the body: whatever decodes from JSON or a form, []byte, or None. R is the result: whatever encodes as JSON, a Response, []byte, or
// None. It panics on a programmer's mistake: a name of other than ASCII letters, digits and . _ - : /, no function.
func Define[T, R any](name string, fn func(context.Context, Request[T]) (R, error)) *Endpoint[T, R] {
	if name == "" {
		panic("endpoint.Define: the name is empty; give the endpoint a name of ASCII letters, digits and . _ - : /")
	}
	if fn == nil {
		panic(fmt.Sprintf("endpoint.Define(%q): the function is nil", name))
	}
	e := &Endpoint[T, R]{name: name, fn: fn}
	spec := kernel.Spec{ID: kernel.ID{1}, Kind: e.Kind(), Queue: kernel.DefaultQueue}
	if err := spec.Validate(); err != nil {
		panic(fmt.Sprintf("endpoint.Define(%q): %v", name, err))
	}
	return e
}

// Validate looks at each request before it is stored, in the process that accepts it, and returns e. Raw bytes and files that are so large
// that they lie in a blob are not in it, only their size. An error refuses the request:
// with itself if it is a Problem, else with 422 and its text. A hook that has written to w has answered by itself. In both cases nothing
// is stored. It must be called before Handler.
func (e *Endpoint[T, R]) Validate(check func(w http.ResponseWriter, r *http.Request, in Request[T]) error) *Endpoint[T, R] {
	e.check = check
	return e
}

// Name returns the name that Define was given.
func (e *Endpoint[T, R]) Name() string { return e.name }

// Kind returns the kind of the endpoint's tasks: "endpoint." and the name.
func (e *Endpoint[T, R]) Kind() string { return kindPrefix + e.name }

const kindPrefix = "endpoint."

// Serve says that this process works for the endpoint. It must be called before k.Run, once; otherwise it panics.
func (e *Endpoint[T, R]) Serve(k *kernel.Kernel) { k.Handle(e.Kind(), e.run) }

// run is the handler of the endpoint's tasks.
func (e *Endpoint[T, R]) run(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	s, err := open(ctx, kr)
	if err != nil {
		return kernel.Outcome{}, err
	}
	in, err := request[T](s)
	if err != nil { // accepted by a program that knew another type
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("endpoint %s: %w", e.name, err)))
	}
	out, err := e.fn(context.WithValue(ctx, runKey{}, &Run{run: kr}), in)
	if err != nil {
		return failed(ctx, kr, err)
	}
	result, err := encodeResult(out)
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("encode", fmt.Errorf("endpoint %s: the result %w", e.name, err)))
	}
	return kernel.Done(result), nil
}

// failed decides what is kept of a failed attempt. A Problem that is the last word is kept whole, as the result. While the context has
// ended it is the kernel's to say what the error means.
func failed(ctx context.Context, kr *kernel.Run, err error) (kernel.Outcome, error) {
	p := asProblem(err)
	if p == nil {
		return kernel.Outcome{}, err
	}
	var marked lasting
	permanent := p.lasting() || errors.As(err, &marked)
	typed := err
	if p.Code != "" {
		typed = kernel.Typed(p.Code, err)
	}
	text, bad := json.Marshal(p)
	spent := kr.Task().Retry.Spent(kr.Attempt())
	switch {
	case ctx.Err() != nil || bad != nil:
		return kernel.Outcome{}, typed
	case permanent:
		return kernel.Failed("permanent", typed, text), nil
	case spent:
		return kernel.Failed("attempts", typed, text), nil
	}
	return kernel.Outcome{}, typed
}

// lasting marks an error that no further attempt can mend.
type lasting struct{ err error }

func (l lasting) Error() string { return l.err.Error() }
func (l lasting) Unwrap() error { return l.err }

// Permanent marks an error that no further attempt can mend: the task fails at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return kernel.Permanent(lasting{err})
}
