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

// facts are what the sending of a request needs of its task.
type facts struct {
	host     string
	round    int
	attempts int
	epoch    int64
	retry    kernel.Retry
	args     []byte
}

// factsOf reads them. It is a function of its own so that the record, which is large, is off the stack while the request waits:
// thousands do at the same time.
//
//go:noinline
func factsOf(run *kernel.Run) facts {
	t := run.Task()
	return facts{host: t.Lane, round: t.Round, attempts: t.Attempts, epoch: t.Epoch, retry: t.Retry, args: t.Args}
}

// send is the handler of requests. The claim is durable before it is called: whatever dies from here on, the request is on record.
func (c *Client) send(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
	failpoint.Hit("call.claimed")
	task := factsOf(run)
	a, resends, err := c.prepare(run, task.args)
	if err != nil {
		return c.failed(run, &Error{Type: TypeInvalid, Message: err.Error()}, "invalid")
	}
	if !resends {
		unknown, err := task.mark(ctx, run)
		if err != nil {
			return kernel.Outcome{}, err
		}
		if unknown {
			return c.failed(run, &Error{
				Type: TypeUnknown, URL: a.request.URL, MaySent: true,
				Message: task.host + ": it may have been sent by a process that died or lost it, and is not sent again",
			}, string(TypeUnknown))
		}
	}
	turn := c.breakers.begin(ctx, run.Kernel(), task.host)
	c.stats.begin(c, a, task.host)
	ans, failure := a.run(ctx)
	if failure != nil && ctx.Err() != nil {
		c.stats.abandon(c, a, task.host)
		return kernel.Outcome{}, context.Cause(ctx) // the kernel knows better what has ended it
	}
	c.stats.end(c, a, task.host, ans, failure)
	turn.end(ctx, troubled(ans, failure))
	return c.conclude(ctx, run, a, conclusion{facts: task, answer: ans, failure: failure, resends: resends})
}

// prepare reads a request. resends tells whether it is sent again if its fate is unknown. Like factsOf it keeps the stack small.
//
//go:noinline
func (c *Client) prepare(run *kernel.Run, args []byte) (a *attempt, resends bool, err error) {
	a = &attempt{client: c, id: run.ID(), number: run.Attempt(), keeper: keeperOf(run.Kernel())}
	if a.body, err = unframe(args, &a.request); err != nil {
		return nil, false, err
	}
	keyed := a.setKey(run.Key())
	return a, firstOf(a.request.OnUnknown, c.cfg.OnUnknown).resends(a.request.Method, keyed), nil
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
func (f facts) mark(ctx context.Context, run *kernel.Run) (unknown bool, err error) {
	now := strconv.Itoa(f.round) + "/" + strconv.Itoa(f.attempts)
	if f.epoch > 1 {
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
		return e.Type != TypeBody && e.retryable()
	}
	return ans.Status >= 500 || ans.Status == http.StatusTooManyRequests
}

// conclusion is how an attempt went.
type conclusion struct {
	facts
	answer  *answer
	failure *Error
	resends bool // if its fate is unknown
}

// conclude makes an outcome of an attempt: the answer, another attempt, or the end.
func (c *Client) conclude(ctx context.Context, run *kernel.Run, a *attempt, end conclusion) (kernel.Outcome, error) {
	var resp *Response
	if end.answer != nil {
		resp = response(run.Kernel(), end.answer)
	}
	again, after := c.judge(resp, end.failure)
	if end.failure != nil && end.failure.MaySent && !end.resends {
		again = false
	}
	if again && !end.retry.Spent(end.attempts+1) {
		c.drop(ctx, run.Kernel(), end.answer)
		return kernel.Outcome{}, retryError(end, after)
	}
	if end.failure != nil {
		reason := "permanent"
		if again {
			reason = "attempts"
		}
		return c.failed(run, end.failure, reason)
	}
	return c.answered(ctx, run, a, end)
}

// retryError is what the kernel is told of an attempt that is followed by another.
func retryError(end conclusion, after time.Duration) error {
	kind, err := string(TypeHTTP), error(nil)
	if end.failure != nil {
		kind, err = string(end.failure.Type), end.failure
	} else {
		err = fmt.Errorf("%s: status %d", end.host, end.answer.Status)
	}
	if after > 0 {
		// A little later than was asked for, each at another time: those who were sent away together must not come back together.
		err = kernel.RetryAfter(after+time.Duration(rand.Float64()*float64(after)/10), err)
	}
	return kernel.Typed(kind, err)
}

// drop lets go of an answer that nobody will see.
func (c *Client) drop(ctx context.Context, k *kernel.Kernel, ans *answer) {
	if ans == nil || ans.Ref == nil {
		return
	}
	if err := k.DropBlob(ctx, *ans.Ref); err != nil {
		c.log.Warn("body of an answer that is not kept is left to the sweep", "err", err)
	}
}

// answered ends a request with its answer: done, or failed if FailOnStatus makes it an error.
func (c *Client) answered(ctx context.Context, run *kernel.Run, a *attempt, end conclusion) (kernel.Outcome, error) {
	ans := end.answer
	out, err := c.pour(run.Kernel().MaxPayload(), wireOutcome{Response: &ans.wireResponse}, ans.body)
	if err != nil {
		c.drop(ctx, run.Kernel(), ans)
		return c.failed(run, &Error{Type: TypeTooLarge, URL: ans.URL, MaySent: true, Message: end.host + ": " + err.Error(), Duration: ans.Duration}, "permanent")
	}
	if a.request.FailOnStatus && (ans.Status < 200 || ans.Status > 299) {
		failed := kernel.Failed(string(TypeHTTP), kernel.Typed(string(TypeHTTP), fmt.Errorf("%s: status %d", end.host, ans.Status)), out.Result)
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
		return kernel.Outcome{}, errors.New("the answer does not fit into the store: raise kernel.Config.MaxPayload, or set kernel.Config.Blobs")
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
