package saga

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Ref is a value that a step takes: the input, the result of a step, a field of either, a constant. Taking the result of a step
// is what makes the edge: the step comes after it.
type Ref[T any] interface {
	Dep
	value(*scope) (T, error)
}

// Dep is what a step can come after.
type Dep interface{ nodes() []*node }

// Wiring is a Builder, whatever its input.
type Wiring interface{ graphOf() *graph }

// Builder collects the steps of a saga while its definition runs.
type Builder[In any] struct{ g *graph }

func (b *Builder[In]) graphOf() *graph { return b.g }

// In is the saga's input.
func (b *Builder[In]) In() Ref[In] { return inputRef[In]{b.g} }

// Validate adds a rule that inputs must keep. All rules are asked, and all that is wrong is told at once; it is never retried. An
// input that has a method Validate() error is asked by it, too.
func (b *Builder[In]) Validate(rule func(In) error) {
	b.g.rules = append(b.g.rules, func(v any) error { return rule(as[In](v)) })
}

// Parallel lets up to n ready steps without a queue run side by side. Default 1: one at a time, in the order they are written.
func (b *Builder[In]) Parallel(n int) { b.g.parallel = n }

// Deadline rolls the saga back if it has not completed so long after its start. The rollback has no deadline. Default: none.
func (b *Builder[In]) Deadline(d time.Duration) { b.g.deadline = d }

// Lock lets one saga at a time run under a name that is made of the input, in the whole fleet and whatever saga it is. It is taken
// before the first step and held until the saga has ended, rolled back or not. Waiting for it costs no attempt.
func (b *Builder[In]) Lock(name func(In) string) {
	b.g.locks = append(b.g.locks, func(v any) string { return name(as[In](v)) })
}

// OnUndoFailure says what a rollback does when something cannot be undone. Default Ancestors.
func (b *Builder[In]) OnUndoFailure(p Policy) { b.g.policy = p }

// OnOrphan says what becomes of a saga that Run began, and whose caller is gone before it came to where workers go on: its process
// died or was stopped, or its context has ended. Rollback undoes what was done; the step that may have been under way is compensated, as
// its outcome is unknown. Default: a worker goes on with it. It is no use to Start.
func (b *Builder[In]) OnOrphan(mode CancelMode) {
	if mode != Rollback {
		b.g.fault("OnOrphan is %q; use Rollback, or leave it out", mode)
	}
	b.g.orphan = true
}

// Queue is where the saga's own task waits. Default "default". It is run by processes whose kernel.Config.Slots name the queue.
func (b *Builder[In]) Queue(name string) { b.g.queue = name }

// Retention is how long the saga is kept once it has completed, halted or was cancelled. Default: the kernel's (24 h). One that has
// failed is kept until it is deleted, one that is stuck until it is resolved.
func (b *Builder[In]) Retention(d time.Duration) { b.g.keep = d }

// OnAlert is called when an operator is needed: a saga is stuck, or a step after the pivot keeps failing. It may be called more than once
// for one thing, and must not block.
func (b *Builder[In]) OnAlert(fn func(context.Context, Alert)) { b.g.alert = fn }

// Alert says why an operator is needed.
type Alert struct {
	Saga  string
	ID    kernel.ID
	State State
	Step  string // that does not succeed; empty when Failures tells
	Err   string
	// Failures lists what could not be undone, and what waits for it.
	Failures []RollbackFailure
}

// Policy says what a rollback does when something cannot be undone.
type Policy string

// The policies. Under each of them the saga is stuck in the end, and an operator can go on from there.
const (
	Ancestors Policy = ""         // what the step was built on stays as it is; independent branches are undone
	Continue  Policy = "continue" // everything else is undone
	Stop      Policy = "stop"     // nothing else is undone
)

type inputRef[T any] struct{ g *graph }

func (inputRef[T]) nodes() []*node  { return nil }
func (r inputRef[T]) owner() *graph { return r.g }

func (r inputRef[T]) value(s *scope) (T, error) {
	v, err := s.input()
	return as[T](v), err
}

// as is a type assertion that takes a nil for the zero value: an interface or a pointer that was stored as null.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

type fieldRef[A, B any] struct {
	of Ref[A]
	fn func(A) B
}

func (r fieldRef[A, B]) nodes() []*node { return r.of.nodes() }
func (r fieldRef[A, B]) owner() *graph  { return ownerOf(r.of) }

func (r fieldRef[A, B]) value(s *scope) (B, error) {
	a, err := r.of.value(s)
	if err != nil {
		return *new(B), err
	}
	return r.fn(a), nil
}

// Field takes a part of a value, or anything that is computed of it without effects: a method expression, as in
// saga.Field(order, Order.Zip), or a function. It is computed anew where it is needed, and not stored.
func Field[A, B any](of Ref[A], fn func(A) B) Ref[B] { return fieldRef[A, B]{of, fn} }

// Const is a value that is known when the saga is defined.
func Const[T any](v T) Ref[T] { return constRef[T]{v} }

type constRef[T any] struct{ v T }

func (constRef[T]) nodes() []*node            { return nil }
func (r constRef[T]) value(*scope) (T, error) { return r.v, nil }

func ownerOf(d Dep) *graph {
	if o, ok := d.(interface{ owner() *graph }); ok {
		return o.owner()
	}
	return nil
}

// Node is a step of a saga, and the Ref of its result. Its methods say how it is run; they return it, to be written one after
// the other.
type Node[R any] struct{ n *node }

func (x *Node[R]) nodes() []*node { return []*node{x.n} }
func (x *Node[R]) owner() *graph  { return x.n.g }

func (x *Node[R]) value(s *scope) (R, error) {
	v, err := s.e.lockedValue(s, x.n)
	if err != nil {
		return *new(R), err
	}
	return as[R](v), nil
}

// After puts the step after others whose results it does not take.
func (x *Node[R]) After(deps ...Dep) *Node[R] {
	for _, d := range deps {
		for _, n := range d.nodes() {
			if n.g != x.n.g {
				x.n.fault("comes after step %q of saga %q", n.name, n.g.name)
				continue
			}
			x.n.after = append(x.n.after, n)
		}
	}
	return x
}

// Async gives the step to a worker that serves the queue, as a task of its own; its undo and its compensation go there as well.
func (x *Node[R]) Async(queue string) *Node[R] {
	x.n.queue = queue
	return x
}

// Pure says that the step has no effects: it writes nothing of its own, may be run again at any time, and is never undone.
func (x *Node[R]) Pure() *Node[R] {
	x.n.pure = true
	return x
}

// Retry lets the step be tried n times in all. Default: once.
func (x *Node[R]) Retry(n int, wait Backoff) *Node[R] {
	x.n.retry = policy{n, wait}
	return x
}

// Timeout bounds one attempt, one undo, one compensation; of a Wait it bounds the waiting. Default for steps: 30 minutes, for
// waits: none. Negative: none.
func (x *Node[R]) Timeout(d time.Duration) *Node[R] {
	x.n.timeout = d
	return x
}

// Undo takes back what the step has done, if a later one fails. It gets the step's result. It may be called more than once.
func (x *Node[R]) Undo(fn func(context.Context, R) error) *Node[R] {
	if fn == nil {
		x.n.fault("has a nil Undo")
		return x
	}
	x.n.undo = func(ctx context.Context, v any) error { return fn(ctx, as[R](v)) }
	return x
}

// Compensate cleans up after the step itself has failed, or nobody knows. It is called after the last attempt, and only if one began.
func (x *Node[R]) Compensate(fn func(context.Context, Failure) error) *Node[R] {
	if fn == nil {
		x.n.fault("has a nil Compensate")
		return x
	}
	x.n.compensate = fn
	return x
}

// NullSafe says that Undo can be called with the zero value, for an effect that may never have come: it then stands for Compensate
// where the outcome is not known.
func (x *Node[R]) NullSafe() *Node[R] {
	x.n.nullSafe = true
	return x
}

// UndoRetry lets undo and compensation be tried n times in all. Default: 10 times, 1 s doubling up to 5 minutes.
func (x *Node[R]) UndoRetry(n int, wait Backoff) *Node[R] {
	x.n.undoRetry = policy{n, wait}
	return x
}

// Pivot is the point of no return: once the step has completed nothing is rolled back, and what comes later is tried until it
// succeeds.
func (x *Node[R]) Pivot() *Node[R] {
	x.n.pivot = true
	return x
}

// BestEffort says that the saga goes on if the step fails. No other step can take its result.
func (x *Node[R]) BestEffort() *Node[R] {
	x.n.bestEffort = true
	return x
}

// Check refuses results. The step has then failed for good; its Undo is called with the refused result.
func (x *Node[R]) Check(rule func(R) error) *Node[R] {
	x.n.checks = append(x.n.checks, func(v any) error { return rule(as[R](v)) })
	return x
}

// OnTimeout is the result of a Wait that nobody has answered in time. Without it that is a failure.
func (x *Node[R]) OnTimeout(v R) *Node[R] {
	x.n.fallback, x.n.hasFallback = v, true
	return x
}

// Portions lets a map that is Async submit at most n elements at a time: the next ones when these have ended. Default 1,000.
func (x *Node[R]) Portions(n int) *Node[R] {
	x.n.portion = n
	return x
}

// Backoff is how long to wait between attempts.
type Backoff struct {
	kind   string
	base   time.Duration
	cap    time.Duration
	jitter bool
}

// Exp waits base, then twice as long each time, up to 10 minutes.
func Exp(base time.Duration) Backoff { return Backoff{kind: "exp", base: base, cap: 10 * time.Minute} }

// Linear waits base, then twice base, then three times.
func Linear(base time.Duration) Backoff { return Backoff{kind: "linear", base: base} }

// Fixed waits the same each time.
func Fixed(base time.Duration) Backoff { return Backoff{kind: "fixed", base: base} }

// Cap bounds a wait.
func (b Backoff) Cap(d time.Duration) Backoff {
	b.cap = d
	return b
}

// Jitter takes up to half of each wait away, by chance, so that many do not come back at once.
func (b Backoff) Jitter() Backoff {
	b.jitter = true
	return b
}

// fault notes what is wrong with a step: all of it is told by Define.
func (n *node) fault(format string, args ...any) {
	n.g.fault("step %q %s", n.name, fmt.Sprintf(format, args...))
}

func (g *graph) fault(format string, args ...any) {
	g.faults = append(g.faults, fmt.Errorf(format, args...))
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
