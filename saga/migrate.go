package saga

import (
	"context"
	"encoding/json"
	"fmt"
)

// migration makes a value of today of one that an older definition has stored.
type migration struct {
	decode  func([]byte) (any, error)
	convert func(any) (any, error)
}

func newMigration[Old, New any](fn func(Old) (New, error)) migration {
	return migration{
		decode: func(data []byte) (any, error) {
			var v Old
			err := json.Unmarshal(data, &v)
			return v, err
		},
		convert: func(old any) (v any, err error) {
			err = protect(func() error {
				v, err = fn(as[Old](old))
				return err
			})
			return v, err
		},
	}
}

// Migrate lets sagas go on whose step was recorded when its result had another type: fn makes today's of it, wherever it is read,
// for later steps and for Undo. What is stored stays as it is. Give one for each type that may still be on record. It returns the node.
//
//	saga.Migrate(total, func(cents int) (Money, error) { return Money{Cents: cents, Currency: "EUR"}, nil })
func Migrate[Old, R any](x *Node[R], fn func(Old) (R, error)) *Node[R] {
	if fn == nil {
		x.n.fault("has a nil Migrate")
		return x
	}
	was := mark(shape(typeOf[Old]()))
	if was == mark(shape(x.n.out)) {
		x.n.fault("migrates from %s, which looks the same as what it has now: nobody could tell them apart", typeOf[Old]())
	}
	if x.n.migrations == nil {
		x.n.migrations = map[string]migration{}
	}
	x.n.migrations[was] = newMigration(fn)
	return x
}

// MigrateIn is Migrate for the input of sagas that were started when it had another type.
func MigrateIn[Old, In any](b *Builder[In], fn func(Old) (In, error)) {
	if fn == nil {
		b.g.fault("MigrateIn has no function")
		return
	}
	was := mark(shape(typeOf[Old]()))
	if was == mark(shape(b.g.in)) {
		b.g.fault("the input migrates from %s, which looks the same as what it is now: nobody could tell them apart", typeOf[Old]())
	}
	if b.g.migrations == nil {
		b.g.migrations = map[string]migration{}
	}
	b.g.migrations[was] = newMigration(fn)
}

// read decodes a value that was stored under a shape, and fills in its secrets.
func (e *engine) read(data []byte, now, was string, decode func([]byte) (any, error), migrations map[string]migration) (any, error) {
	m, old := migrations[was]
	if old = old && was != now; old {
		decode = m.decode
	}
	v, err := decode(data)
	if err == nil {
		err = e.resolve(v)
	}
	if err == nil && old {
		if v, err = m.convert(v); err != nil {
			err = fmt.Errorf("its migration: %w", err)
		}
	}
	return v, err
}

// Arg is one value that goes into the argument of a StepWith.
type Arg[A any] struct {
	dep  Dep
	fill func(s *scope, into *A) error
}

// Set puts a value into a field of the argument.
//
//	saga.Set(order, func(a *ChargeArgs, o Order) { a.Order = o })
func Set[A, V any](v Ref[V], into func(*A, V)) Arg[A] {
	return Arg[A]{v, func(s *scope, a *A) (err error) {
		got, err := take(s, v)
		if err != nil {
			return err
		}
		if err := protect(func() error { into(a, got); return nil }); err != nil {
			return fmt.Errorf("%w: %w", errArgument, err)
		}
		return nil
	}}
}

// StepWith adds a step that takes more values than Step4: a struct, which is filled by Set, one value after the other.
func StepWith[A, R any](b Wiring, name string, fn func(context.Context, A) (R, error), args ...Arg[A]) *Node[R] {
	deps := make([]Dep, len(args))
	for i, a := range args {
		deps[i] = a.dep
	}
	return step(b, name, fn == nil, func(ctx context.Context, s *scope) (R, error) {
		var a A
		for _, arg := range args {
			if err := arg.fill(s, &a); err != nil {
				return *new(R), err
			}
		}
		return fn(ctx, a)
	}, deps...)
}
