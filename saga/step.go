package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// errArgument marks an error that came before the body of a step began: there is nothing to compensate.
var errArgument = errors.New("argument")

// add makes a node and notes what is wrong with it.
func add[R any](w Wiring, kind nodeKind, name string, refs ...Dep) *Node[R] {
	g := w.graphOf()
	n := &node{g: g, index: len(g.nodes), name: name, kind: kind, out: typeOf[R]()}
	n.shape, n.secret = mark(shape(n.out)), hasSecrets(n.out)
	n.decode = func(data []byte) (any, error) {
		var v R
		err := json.Unmarshal(data, &v)
		return v, err
	}
	if !validName(name) {
		n.fault("has no usable name; use 1 to 100 ASCII letters, digits and . _ -")
	}
	if g.byName[name] != nil {
		n.fault("is declared twice")
	}
	for _, r := range refs {
		if r == nil {
			n.fault("takes a nil argument")
			continue
		}
		if o := ownerOf(r); o != nil && o != g {
			n.fault("takes a value of saga %q", o.name)
			continue
		}
		n.args = append(n.args, r.nodes()...)
	}
	g.byName[name] = n
	g.nodes = append(g.nodes, n)
	return &Node[R]{n}
}

func validName(name string) bool {
	if name == "" || len(name) > 100 {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

// take resolves one argument. A panic of a Field is an error as well: the body has not begun.
func take[T any](s *scope, r Ref[T]) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", errArgument, p)
		}
	}()
	if v, err = r.value(s); err != nil {
		err = fmt.Errorf("%w: %w", errArgument, err)
	}
	return v, err
}

func step[R any](w Wiring, name string, isNil bool, run func(context.Context, *scope) (R, error), refs ...Dep) *Node[R] {
	x := add[R](w, stepNode, name, refs...)
	if isNil {
		x.n.fault("has no function")
	}
	x.n.run = func(ctx context.Context, s *scope) (any, error) { return run(ctx, s) }
	return x
}

// Step0 adds a step that takes nothing.
func Step0[R any](b Wiring, name string, fn func(context.Context) (R, error)) *Node[R] {
	return step(b, name, fn == nil, func(ctx context.Context, _ *scope) (R, error) { return fn(ctx) })
}

// Step1 adds a step that takes one value.
func Step1[A, R any](b Wiring, name string, fn func(context.Context, A) (R, error), a Ref[A]) *Node[R] {
	return step(b, name, fn == nil, func(ctx context.Context, s *scope) (R, error) {
		va, err := take(s, a)
		if err != nil {
			return *new(R), err
		}
		return fn(ctx, va)
	}, a)
}

// Step2 adds a step that takes two values.
func Step2[A, B, R any](b Wiring, name string, fn func(context.Context, A, B) (R, error), a Ref[A], bb Ref[B]) *Node[R] {
	return step(b, name, fn == nil, func(ctx context.Context, s *scope) (R, error) {
		va, err1 := take(s, a)
		vb, err2 := take(s, bb)
		if err := errors.Join(err1, err2); err != nil {
			return *new(R), err
		}
		return fn(ctx, va, vb)
	}, a, bb)
}

// Step3 adds a step that takes three values.
func Step3[A, B, C, R any](b Wiring, name string, fn func(context.Context, A, B, C) (R, error), a Ref[A], bb Ref[B], c Ref[C]) *Node[R] {
	return step(b, name, fn == nil, func(ctx context.Context, s *scope) (R, error) {
		va, err1 := take(s, a)
		vb, err2 := take(s, bb)
		vc, err3 := take(s, c)
		if err := errors.Join(err1, err2, err3); err != nil {
			return *new(R), err
		}
		return fn(ctx, va, vb, vc)
	}, a, bb, c)
}

// Step4 adds a step that takes four values. One that takes more takes a struct: see StepWith.
func Step4[A, B, C, D, R any](b Wiring, name string, fn func(context.Context, A, B, C, D) (R, error), a Ref[A], bb Ref[B], c Ref[C], d Ref[D]) *Node[R] {
	return step(b, name, fn == nil, func(ctx context.Context, s *scope) (R, error) {
		va, err1 := take(s, a)
		vb, err2 := take(s, bb)
		vc, err3 := take(s, c)
		vd, err4 := take(s, d)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return *new(R), err
		}
		return fn(ctx, va, vb, vc, vd)
	}, a, bb, c, d)
}

// Sleep lets the saga wait for a time without holding a slot. Steps come after it by After.
func Sleep(b Wiring, name string, d time.Duration) *Node[struct{}] {
	return SleepFor(b, name, Const(d))
}

// SleepFor is Sleep for a time that is known only when it begins.
func SleepFor(b Wiring, name string, d Ref[time.Duration]) *Node[struct{}] {
	x := add[struct{}](b, sleepNode, name, d)
	x.n.sleep = func(s *scope) (time.Duration, error) { return take(s, d) }
	return x
}

// Call runs another saga inside this one: its steps are saved with this saga's, and undone by their own undos if a later step
// of this one fails. It is never retried as a whole.
func Call[A, R any](b Wiring, name string, def *Def[A, R], in Ref[A]) *Node[R] {
	x := add[R](b, callNode, name, in)
	if def == nil {
		x.n.fault("calls a nil saga")
		return x
	}
	x.n.child = def.g
	x.n.items = func(s *scope) ([]any, error) {
		v, err := take(s, in)
		return []any{v}, err
	}
	x.n.collect = func(values []any, _ []error) any { return as[R](values[0]) }
	return x
}

// Map runs a saga for each element of a list, and gives the list of their results, in order. In this run they come one after the
// other; with Async each is a task of its own, and many run at once. If one fails the map fails: no further one is
// started, and those that are done are undone, the last first.
func Map[A, R any](b Wiring, name string, list Ref[[]A], def *Def[A, R]) *Node[[]R] {
	x := add[[]R](b, mapNode, name, list)
	if def == nil {
		x.n.fault("maps by a nil saga")
		return x
	}
	x.n.child, x.n.items = def.g, elements(list)
	x.n.collect = func(values []any, _ []error) any {
		all := make([]R, len(values))
		for i, v := range values {
			all[i] = as[R](v)
		}
		return all
	}
	return x
}

// Result is what became of one element of MapEach.
type Result[R any] struct {
	Value R
	Err   string // empty: it is done
}

// MapEach is Map that goes on when an element fails, and tells what became of each. An element that failed has undone itself.
func MapEach[A, R any](b Wiring, name string, list Ref[[]A], def *Def[A, R]) *Node[[]Result[R]] {
	x := add[[]Result[R]](b, mapNode, name, list)
	if def == nil {
		x.n.fault("maps by a nil saga")
		return x
	}
	x.n.child, x.n.items, x.n.each = def.g, elements(list), true
	x.n.collect = func(values []any, errs []error) any {
		all := make([]Result[R], len(values))
		for i, v := range values {
			if errs[i] != nil {
				all[i].Err = errs[i].Error()
				continue
			}
			all[i].Value = as[R](v)
		}
		return all
	}
	return x
}

// Each makes a saga of one step, for Map: the step is called as the saga is.
func Each[A, R any](name string, fn func(context.Context, A) (R, error), with ...func(*Node[R])) *Def[A, R] {
	return Define(name, func(b *Builder[A]) *Node[R] {
		x := Step1(b, name, fn, b.In())
		for _, w := range with {
			w(x)
		}
		return x
	})
}

func elements[A any](list Ref[[]A]) func(s *scope) ([]any, error) {
	return func(s *scope) ([]any, error) {
		v, err := take(s, list)
		all := make([]any, len(v))
		for i := range v {
			all[i] = v[i]
		}
		return all, err
	}
}
