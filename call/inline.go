package call

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// inline sends a request and calls back within Start. The error is what is wrong with the request, or what the callback said; how the
// request went is the callback's to know, and the handle's.
func (c *Call) inline(ctx context.Context, req Request, opts Options) (*Handle, error) {
	d, back, err := c.prepare(ctx, req, opts)
	if err != nil {
		return nil, fmt.Errorf("start call %s: %w", c.name, err)
	}
	id := opts.ID
	if id.IsZero() {
		_, _ = rand.Read(id[:]) // never fails
	}
	a := &attempt{client: c.client, request: d.request, body: d.body, id: id, number: 1}
	if d.reader != nil {
		if a.body, _, err = peek(d.reader, -1); err != nil {
			return nil, &InvalidError{Field: "Reader", Problem: "cannot be read: " + err.Error(), Err: err}
		}
	}
	a.setKey(id.String())
	c.client.stats.begin(c.client, a, d.host)
	ans, failure := a.run(ctx)
	c.client.stats.end(c.client, a, d.host, ans, failure)
	v := inlineVerdict(&kernel.Task{Spec: kernel.Spec{ID: id}, State: stateDone}, ans, failure, &a.request, back)
	if err := c.tell(ctx, v); err != nil {
		return nil, fmt.Errorf("start call %s: the callback: %w", c.name, err)
	}
	return &Handle{call: c, id: id, inline: v}, nil
}

func inlineVerdict(task *kernel.Task, ans *answer, failure *Error, r *wireRequest, back wireCallback) *verdict {
	if failure != nil {
		task.Attempts, task.Reason = 1, "attempts"
		return &verdict{failure: describe(task, back, failure)}
	}
	if r.FailOnStatus && (ans.Status < 200 || ans.Status > 299) {
		task.State, task.Reason, task.Attempts = stateFailed, string(TypeHTTP), 1
	}
	return complete(nil, task, ans, back)
}
