package call

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/internal/failpoint"
	"github.com/outlast-go/outlast/kernel"
)

// callback is the handler of callbacks: a request has ended, by whichever road, and this is the one task that tells of it.
func (c *Call) callback(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
	failpoint.Hit("callback.claimed")
	v, err := c.learn(ctx, run)
	if err != nil || v == nil {
		return kernel.Outcome{}, err
	}
	failpoint.Hit("callback.calling")
	if err := c.tell(ctx, v); err != nil {
		return kernel.Outcome{}, err
	}
	failpoint.Hit("callback.called")
	return kernel.Outcome{}, nil
}

// learn reads how the request ended. What cannot be read is tried again, and told as such by the last attempt: a callback always
// comes. Without an error and without a verdict there is nothing to tell.
func (c *Call) learn(ctx context.Context, run *kernel.Run) (*verdict, error) {
	var back wireCallback
	args, last := backOf(run)
	if _, err := unframe(args, &back); err != nil {
		return nil, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("callback %s: %w", c.name, err)))
	}
	task, err := run.Ended(ctx)
	switch {
	case errors.Is(err, kernel.ErrState):
		return nil, nil //nolint:nilnil // it was retried before it was told of: the ending of that round is the one to tell
	case errors.Is(err, kernel.ErrNotFound):
		return lostRecord(parentOf(run), back, err), nil
	}
	var v *verdict
	if err == nil {
		v, err = c.client.verdict(ctx, run.Kernel(), task, back)
	}
	switch {
	case err == nil:
		return v, nil
	case last && ctx.Err() == nil:
		return lostRecord(parentOf(run), back, err), nil
	}
	return nil, fmt.Errorf("callback %s: %w", c.name, err)
}

// backOf reads the args of a callback, and whether this attempt is its last. Like factsOf it keeps the stack small.
//
//go:noinline
func backOf(run *kernel.Run) (args []byte, last bool) {
	t := run.Task()
	return t.Args, t.Retry.Spent(t.Attempts + 1)
}

func parentOf(run *kernel.Run) kernel.ID { return run.Task().Parent }

// tell runs the hooks of the client, then the user's callback.
func (c *Call) tell(ctx context.Context, v *verdict) error {
	if v.failure != nil {
		for _, hook := range c.client.cfg.BeforeError {
			if err := hook(ctx, v.failure); err != nil {
				return fmt.Errorf("hook before the error callback %s: %w", c.name, err)
			}
		}
		return c.cb.OnError(ctx, v.failure)
	}
	for _, hook := range c.client.cfg.BeforeComplete {
		if err := hook(ctx, v.response); err != nil {
			return fmt.Errorf("hook before the callback %s: %w", c.name, err)
		}
	}
	return c.cb.OnComplete(ctx, v.response)
}
