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
	var back wireCallback
	if _, err := unframe(run.Task().Args, &back); err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("callback %s: %w", c.name, err)))
	}
	task, err := run.Ended(ctx)
	if errors.Is(err, kernel.ErrState) {
		return kernel.Outcome{}, nil // it was retried before it was told of: the ending of that round is the one to tell
	}
	v, err := c.verdict(ctx, run, task, back, err)
	if err != nil {
		return kernel.Outcome{}, fmt.Errorf("callback %s: %w", c.name, err)
	}
	failpoint.Hit("callback.calling")
	if err := c.tell(ctx, v); err != nil {
		return kernel.Outcome{}, err
	}
	failpoint.Hit("callback.called")
	return kernel.Outcome{}, nil
}

// verdict reads how the request ended. What cannot be read is tried again, and told as such by the last attempt: a callback always
// comes.
func (c *Call) verdict(ctx context.Context, run *kernel.Run, task kernel.Task, back wireCallback, err error) (*verdict, error) {
	own := run.Task()
	if errors.Is(err, kernel.ErrNotFound) {
		return lostRecord(own.Parent, back, err), nil
	}
	var v *verdict
	if err == nil {
		v, err = c.client.verdict(ctx, run.Kernel(), task, back)
	}
	if err != nil && ctx.Err() == nil && own.Retry.Spent(own.Attempts+1) {
		return lostRecord(own.Parent, back, err), nil
	}
	return v, err
}

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
