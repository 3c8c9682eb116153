package job

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Tx is a transaction on the store in which a run can end: store/sqlite and store/postgres have one each.
type Tx interface {
	Stage(ctx context.Context, c kernel.Completion) error
}

// EndIn ends the run inside a transaction of the user's: the result, what Then has started and the user's own writes become
// durable together, or not at all. After an error roll back: kernel.ErrFenced says that the job belongs to another process by now.
// After the commit the function returns the same result; an error that it returns then no longer counts. Outside a run it is
// ErrNoRun.
func EndIn[Out any](ctx context.Context, tx Tx, result Out) error {
	r := From(ctx)
	if r == nil {
		return ErrNoRun
	}
	encoded, err := encode.JSON(result)
	if err != nil {
		return fmt.Errorf("the result %w", err)
	}
	out := kernel.Done(encoded)
	out.Follow = r.end()
	c, err := r.run.Completion(out)
	if err != nil {
		return err
	}
	return tx.Stage(ctx, c)
}
