package batch

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// Query is a slow query: a batch of one row, for a caller who asks, is told to come back later, and comes back.
type Query[R, In, Out any] struct{ b *Batch[R, In, Out] }

// DefineQuery gives a slow query its name, as Define does. Queries and batches may have the same names; they may share a Resource.
func DefineQuery[R, In, Out any](name string, p Processor[R, In, Out], cfg Config) *Query[R, In, Out] {
	return &Query[R, In, Out]{b: define("query", name, p, cfg)}
}

// Name returns the name, in lower case.
func (q *Query[R, In, Out]) Name() string { return q.b.name }

// Serve says that this process answers the query. It must be called before k.Run, once; otherwise it panics.
func (q *Query[R, In, Out]) Serve(k *kernel.Kernel) { q.b.Serve(k) }

// Submit asks, and returns under which id the answer will be. With a Key the same question again is the same query. Hold and Bad have no
// meaning here.
func (q *Query[R, In, Out]) Submit(ctx context.Context, k *kernel.Kernel, in In, opts Options) (kernel.ID, error) {
	opts.Hold, opts.Bad = false, nil
	h, err := q.b.Submit(ctx, k, Inputs(in), opts)
	if err != nil {
		return kernel.ID{}, err
	}
	return h.ID(), nil
}

// Handle returns the query as a batch.
func (q *Query[R, In, Out]) Handle(k *kernel.Kernel, id kernel.ID) *Handle[In, Out] {
	return q.b.Handle(k, id)
}

// TryLater is the state of an answer that is not there yet.
const TryLater State = "try later"

// Answer is what a query was answered.
type Answer[Out any] struct {
	State    State // TryLater, Success, Failed or Aborted
	Out      Out
	Messages []Message
	Files    []File // open them by Handle
}

// Done tells the answer, or to try later: until Processor.Done has been called as well.
func (q *Query[R, In, Out]) Done(ctx context.Context, k *kernel.Kernel, id kernel.ID) (Answer[Out], error) {
	h := q.b.Handle(k, id)
	s, err := h.Status(ctx)
	if err != nil {
		return Answer[Out]{}, err
	}
	return q.answer(ctx, h, s)
}

// Wait waits for the answer. If ctx ends first, the error is its cause.
func (q *Query[R, In, Out]) Wait(ctx context.Context, k *kernel.Kernel, id kernel.ID) (Answer[Out], error) {
	h := q.b.Handle(k, id)
	s, err := h.Wait(ctx)
	if err != nil {
		return Answer[Out]{State: TryLater}, err
	}
	return q.answer(ctx, h, s)
}

func (q *Query[R, In, Out]) answer(ctx context.Context, h *Handle[In, Out], s Status) (Answer[Out], error) {
	a := Answer[Out]{State: s.State}
	if !s.State.Ended() {
		a.State = TryLater
		return a, nil
	}
	page, err := h.Rows(ctx, RowsOptions{Limit: 1})
	if err != nil {
		return a, err
	}
	if len(page.Rows) == 0 {
		return a, fmt.Errorf("query %s: %w: its answer is no longer kept", h.id, kernel.ErrNotFound)
	}
	a.Out, a.Messages = page.Rows[0].Out, page.Rows[0].Messages
	a.Files, err = h.Files(ctx)
	return a, err
}

// Abort ends a query that was not answered. ErrState says that it was.
func (q *Query[R, In, Out]) Abort(ctx context.Context, k *kernel.Kernel, id kernel.ID, reason string) error {
	s, err := q.b.Handle(k, id).Abort(ctx, reason)
	if err == nil && (s.State == Success || s.State == Failed) {
		err = fmt.Errorf("abort query %s: %w: it has ended as %s", id, ErrState, s.State)
	}
	return err
}
