package side

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
)

// noRows is a batch of rows that do nothing.
func noRows() *batch.Batch[struct{}, int64, int64] {
	return batch.Define("bench/rows", batch.Processor[struct{}, int64, int64]{
		Row: func(_ context.Context, _ struct{}, r batch.Row[int64]) (batch.Result[int64], error) {
			return batch.Result[int64]{Out: r.Input}, nil
		},
	}, batch.Config{})
}

// measureRows submits one batch, runs its rows in the same process until it is closed, and tells rows per second of all of it, and by
// how much the process grew while it submitted. A contestant that has no batches stores as many tasks and runs them.
func measureRows(ctx context.Context, o part.Order, w *part.Wire) (part.Report, error) {
	if o.Side != Ours {
		return part.Queues(Queues)(ctx, o, w)
	}
	st, err := engine.Open(ctx, o.URL)
	if err != nil {
		return part.Report{}, err
	}
	k, err := kernel.New(st, kernel.Config{Logger: quiet})
	if err != nil {
		return part.Report{}, err
	}
	op := noRows()
	op.Serve(k)
	n := int64(o.Tasks)
	source := batch.Seq(func(yield func(batch.Row[int64]) bool) {
		for i := int64(1); i <= n && yield(batch.Row[int64]{Line: i, Input: i}); i++ {
		}
	})
	r, err := part.Whole(o, func() (grown float64, err error) {
		var h *batch.Handle[int64, int64]
		grown, err = part.Peak(func() (err error) {
			h, err = op.Submit(ctx, k, source, batch.Options{})
			return err
		})
		if err != nil {
			return 0, err
		}
		return grown, runRows(ctx, k, h, n)
	})
	k.Close()
	return r, errors.Join(err, st.Close())
}

// runRows runs a batch until it is closed.
func runRows(ctx context.Context, k *kernel.Kernel, h *batch.Handle[int64, int64], n int64) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var ran error
	var group sync.WaitGroup
	group.Go(func() { ran = k.Run(running) })
	waiting, late := context.WithTimeout(ctx, 15*time.Minute)
	defer late()
	s, err := h.Wait(waiting)
	if err == nil && (s.State != batch.Success || s.Success != n) {
		err = fmt.Errorf("the batch ended as %s, with %d of %d rows", s.State, s.Success, n)
	}
	stop()
	group.Wait()
	if running.Err() != nil && errors.Is(ran, context.Canceled) {
		ran = nil
	}
	return errors.Join(err, ran)
}
