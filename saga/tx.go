package saga

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// Tx is a transaction on the store: that of store/sqlite is one; for store/postgres put its Tx and the Commit and Rollback of the user's own
// transaction into one value. What a step writes in it and the record that the step is done
// become durable together, or not at all.
type Tx interface {
	Stage(ctx context.Context, c kernel.Completion) error
	Commit() error
	Rollback() error
}

// errStaged says that a transaction has ended the run: what it staged is what counts.
var errStaged = errors.New("the run has ended inside a transaction")

// stager makes the completion by which a transaction ends the run. v is the result; of an undo it is nil.
type stager func(v any) (kernel.Completion, error)

// stagedError is an error that came after a completion was made: whether it counts is for the store to say, so the run begins anew.
type stagedError struct{ err error }

func (s *stagedError) Error() string { return s.err.Error() }
func (s *stagedError) Unwrap() error { return s.err }

// TxNode is a step in a transaction.
type TxNode[T Tx, R any] struct {
	*Node[R]
	begin func(context.Context) (T, error)
}

// Tx1 adds a step that runs inside a transaction on the store, which begin begins: Begin of store/sqlite, for one. Its effects come
// exactly once, whatever dies. It must be quick, as long as the transaction is open others may wait.
func Tx1[T Tx, A, R any](b Wiring, name string, begin func(context.Context) (T, error), fn func(context.Context, T, A) (R, error), a Ref[A]) *TxNode[T, R] {
	x := &TxNode[T, R]{add[R](b, txNode, name, a), begin}
	if begin == nil || fn == nil {
		x.n.fault("has no function, or none that begins a transaction")
	}
	x.n.tx = func(ctx context.Context, s *scope, stage stager) (any, error) {
		va, err := take(s, a)
		if err != nil {
			return nil, err
		}
		return inTx(ctx, begin, stage, func(tx T) (any, error) { return fn(ctx, tx, va) })
	}
	return x
}

// Tx2 is Tx1 with two values.
func Tx2[T Tx, A, B, R any](b Wiring, name string, begin func(context.Context) (T, error), fn func(context.Context, T, A, B) (R, error), a Ref[A], bb Ref[B]) *TxNode[T, R] {
	x := &TxNode[T, R]{add[R](b, txNode, name, a, bb), begin}
	if begin == nil || fn == nil {
		x.n.fault("has no function, or none that begins a transaction")
	}
	x.n.tx = func(ctx context.Context, s *scope, stage stager) (any, error) {
		va, err1 := take(s, a)
		vb, err2 := take(s, bb)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return inTx(ctx, begin, stage, func(tx T) (any, error) { return fn(ctx, tx, va, vb) })
	}
	return x
}

// UndoTx takes back what the step has done, in a transaction as well: it is undone exactly once.
func (x *TxNode[T, R]) UndoTx(fn func(context.Context, T, R) error) *TxNode[T, R] {
	x.n.undoTx = func(ctx context.Context, v any, stage stager) error {
		_, err := inTx(ctx, x.begin, stage, func(tx T) (any, error) { return nil, fn(ctx, tx, as[R](v)) })
		return err
	}
	return x
}

// inTx runs fn in a transaction that also ends the run. A panic rolls back, too.
func inTx[T Tx](ctx context.Context, begin func(context.Context) (T, error), stage stager, fn func(tx T) (any, error)) (v any, err error) {
	tx, err := begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // has no effect after Commit
	if v, err = fn(tx); err != nil {
		return v, err
	}
	c, err := stage(v)
	if err != nil {
		return v, err
	}
	if err = tx.Stage(ctx, c); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return v, &stagedError{err}
	}
	return v, nil
}

// stageStep makes the completion that records a step as done.
func (e *engine) stageStep(in inst) stager {
	return func(v any) (kernel.Completion, error) {
		if err := e.accept(result{in: in, value: v}, done); err != nil {
			return kernel.Completion{}, Permanent(err)
		}
		return e.run.Completion(e.staged())
	}
}

// staged is the outcome that a transaction writes: of a saga, that it goes on; of a step with a task of its own, that it is done.
func (e *engine) staged() kernel.Outcome {
	if e.alone != nil {
		return e.alone.outcome(e)
	}
	return e.again(0)
}
