package call

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/internal/failpoint"
	"github.com/outlast-go/outlast/kernel"
)

// entries of a request's checkpoint.
const (
	entrySent = "sent" // the round and attempt in which it was about to be sent
	entryBody = "body" // the body of an answer that does not fit into the result
)

// send is the handler of requests. The claim is durable before it is called: whatever dies from here on, the request is on record.
func (c *Client) send(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
	failpoint.Hit("call.claimed")
	task := run.Task()
	a := &attempt{client: c, id: run.ID(), number: run.Attempt(), place: fmt.Sprintf("%s/response-%d", run.ID(), run.Fence().Epoch)}
	body, err := unframe(task.Args, &a.request)
	if err != nil {
		return c.failed(run, &Error{Type: TypeInvalid, Message: err.Error()}, "invalid")
	}
	a.body = body
	keyed := a.setKey(run.Key())
	resends := firstOf(a.request.OnUnknown, c.cfg.OnUnknown).resends(a.request.Method, keyed)
	if !resends {
		unknown, err := mark(ctx, run)
		if err != nil {
			return kernel.Outcome{}, err
		}
		if unknown {
			return c.failed(run, &Error{
				Type: TypeUnknown, URL: a.request.URL, MaySent: true,
				Message: task.Lane + ": it may have been sent by a process that died or lost it, and is not sent again",
			}, string(TypeUnknown))
		}
	}
	turn := c.breakers.begin(ctx, run.Kernel(), task.Lane)
	c.stats.begin(c, a, task.Lane)
	ans, failure := a.run(ctx)
	if failure != nil && ctx.Err() != nil {
		c.stats.abandon(c, a, task.Lane)
		return kernel.Outcome{}, context.Cause(ctx) // the kernel knows better what has ended it
	}
	c.stats.end(c, a, task.Lane, ans, failure)
	turn.end(ctx, troubled(ans, failure))
	return c.conclude(ctx, run, a, conclusion{ans, failure, resends})
}

// setKey decides which Idempotency-Key goes along, if any, and reports whether one does.
func (a *attempt) setKey(own string) bool {
	if a.request.Header.Get(headerKey) != "" {
		return true
	}
	if a.request.NoKey || safe(a.request.Method) {
		return false
	}
	a.key = own
	return true
}

// mark writes down, durably, that this attempt is about to be sent, and reports whether an attempt before it has done so and was
// never heard of again. A request that may be sent twice pays nothing for this; one that may not pays one write.
func mark(ctx context.Context, run *kernel.Run) (unknown bool, err error) {
	task := run.Task()
	now := strconv.Itoa(task.Round) + "/" + strconv.Itoa(task.Attempts)
	if task.Epoch > 1 {
		entries, err := run.Load(ctx, entrySent)
		if err != nil {
			return false, err
		}
		if string(entries[entrySent]) == now {
			return true, nil // an attempt that ends in any way is counted
		}
	}
	err = run.Save(ctx, map[string][]byte{entrySent: []byte(now)})
	failpoint.Hit("call.marked")
	return false, err
}

// troubled reports whether an attempt speaks against its host.
func troubled(ans *answer, e *Error) bool {
	if e != nil {
		return e.retryable()
	}
	return ans.Status >= 500 || ans.Status == http.StatusTooManyRequests
}

// conclusion is how an attempt went.
type conclusion struct {
	answer  *answer
	failure *Error
	resends bool // if its fate is unknown
}

// conclude makes an outcome of an attempt: the answer, another attempt, or the end.
func (c *Client) conclude(ctx context.Context, run *kernel.Run, a *attempt, end conclusion) (kernel.Outcome, error) {
	var resp *Response
	if end.answer != nil {
		resp = c.response(end.answer)
	}
	again, after := c.judge(resp, end.failure)
	task := run.Task()
	if end.failure != nil && end.failure.MaySent && !end.resends {
		again = false
	}
	if again && !task.Retry.Spent(task.Attempts+1) {
		c.drop(ctx, end.answer)
		return kernel.Outcome{}, retryError(end, task.Lane, after)
	}
	if end.failure != nil {
		reason := "permanent"
		if again {
			reason = "attempts"
		}
		return c.failed(run, end.failure, reason)
	}
	return c.answered(ctx, run, a, end.answer)
}

// retryError is what the kernel is told of an attempt that is followed by another.
func retryError(end conclusion, host string, after time.Duration) error {
	kind, err := string(TypeHTTP), error(nil)
	if end.failure != nil {
		kind, err = string(end.failure.Type), end.failure
	} else {
		err = fmt.Errorf("%s: status %d", host, end.answer.Status)
	}
	if after > 0 {
		// A little later than was asked for, each at another time: those who were sent away together must not come back together.
		err = kernel.RetryAfter(after+time.Duration(rand.Float64()*float64(after)/10), err)
	}
	return kernel.Typed(kind, err)
}

// drop lets go of an answer that nobody will see.
func (c *Client) drop(ctx context.Context, ans *answer) {
	if ans == nil || ans.Ref == "" {
		return
	}
	if err := c.cfg.Bodies.Remove(ctx, ans.Ref); err != nil {
		c.log.Warn("body of an answer that is not kept is left", "err", err)
	}
}

// answered ends a request with its answer: done, or failed if FailOnStatus makes it an error.
func (c *Client) answered(ctx context.Context, run *kernel.Run, a *attempt, ans *answer) (kernel.Outcome, error) {
	out, err := c.pour(run.Kernel().MaxPayload(), wireOutcome{Response: &ans.wireResponse}, ans.body)
	if err != nil {
		c.drop(ctx, ans)
		return c.failed(run, &Error{Type: TypeTooLarge, URL: ans.URL, MaySent: true, Message: run.Task().Lane + ": " + err.Error(), Duration: ans.Duration}, "permanent")
	}
	if a.request.FailOnStatus && (ans.Status < 200 || ans.Status > 299) {
		failed := kernel.Failed(string(TypeHTTP), kernel.Typed(string(TypeHTTP), fmt.Errorf("%s: status %d", run.Task().Lane, ans.Status)), out.Result)
		failed.Entries = out.Entries
		out = failed
	}
	failpoint.Hit("call.ending")
	return out, nil
}

// pour puts a result into an outcome, and its body into an entry if both do not fit.
func (c *Client) pour(bound int, head wireOutcome, body []byte) (kernel.Outcome, error) {
	result, err := frame(head, body)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if bound < 0 || len(result) <= bound {
		return kernel.Done(result), nil
	}
	head.Response.Entry = true
	if result, err = frame(head, nil); err != nil {
		return kernel.Outcome{}, err
	}
	if len(result) > bound || len(body) > bound {
		return kernel.Outcome{}, errors.New("the answer does not fit into the store: raise kernel.Config.MaxPayload, or set ClientConfig.Bodies")
	}
	out := kernel.Done(result)
	out.Entries = map[string][]byte{entryBody: body}
	return out, nil
}

// failed ends a request without an answer.
func (c *Client) failed(run *kernel.Run, e *Error, reason string) (kernel.Outcome, error) {
	result, err := frame(wireOutcome{Error: &wireError{
		Type: e.Type, Phase: e.Phase, Message: e.Message, URL: e.URL, Redirects: e.Redirects, Duration: e.Duration, MaySent: e.MaySent,
	}}, nil)
	if bound := run.Kernel().MaxPayload(); err != nil || bound >= 0 && len(result) > bound {
		result = nil // the type and the text are in the task's error as well
	}
	failpoint.Hit("call.ending")
	return kernel.Failed(reason, kernel.Typed(string(e.Type), e), result), nil
}
