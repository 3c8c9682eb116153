package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// Push delivers tasks to HTTP endpoints: each run of a task of one of its kinds is a POST of the task's args to the endpoint of the kind. The
// task belongs to the delivery under its fence until the endpoint has answered; if the daemon dies meanwhile it is delivered again.
//
// An answer of 200 to 299 is done, with the body as the result; save for 202, which says that the endpoint goes on by itself: it completes the task over
// HTTP, under the fence of the delivery, and saves (an empty save will do) to show that it lives. If it is silent for too long, that is a failed attempt. 408, 425, 429 and 500 to 599 are a failed attempt, tried again after Retry-After if
// there is one, else as the task's Retry says. Any other is a failure for good.
type Push struct {
	send    *call.Call
	signed  bool
	silence time.Duration
}

// PushConfig says how tasks are delivered. Its zero value works.
type PushConfig struct {
	// Client is what sends.
	Client call.ClientConfig
	// Secrets sign deliveries, as Standard Webhooks says. Default: none, they are not signed.
	Secrets []string
	// Silence is how long an endpoint that has answered 202 may say nothing of a task. Default 30 s.
	Silence time.Duration
}

// Headers of a delivery.
const (
	HeaderTask     = "Outlast-Task"
	HeaderKind     = "Outlast-Kind"
	HeaderFence    = "Outlast-Fence"    // grows with each run of the task: a receiver that keeps the highest can refuse late ones
	HeaderAttempt  = "Outlast-Attempt"  // 1 for the first attempt
	HeaderDeadline = "Outlast-Deadline" // when the delivery is given up
	HeaderSilence  = "Outlast-Silence"  // after a 202: how many seconds may pass without a save
)

// NewPush serves kinds by endpoints: call it before the kernel runs, once. targets are URLs by kind.
func NewPush(ctx context.Context, k *kernel.Kernel, targets map[string]string, cfg PushConfig) (*Push, error) {
	// The kernel retries, and waits as long as the task may run.
	cfg.Client.Inline, cfg.Client.MaxRedirects = true, call.NoRedirects
	if len(cfg.Secrets) > 0 {
		cfg.Client.Signers = map[string][]string{signer: cfg.Secrets}
	}
	client, err := call.NewClient(cfg.Client)
	if err != nil {
		return nil, err
	}
	p := &Push{signed: len(cfg.Secrets) > 0, silence: cmp.Or(max(cfg.Silence, 0), 30*time.Second)}
	p.send = call.Define("push", call.Callback{
		OnComplete: func(context.Context, *call.Response) error { return nil },
		OnError:    func(context.Context, *call.Error) error { return nil },
	}, call.Config{Client: client})
	for kind, target := range targets {
		// What the guard refuses now it refuses later, and is better told before the first task.
		if err := p.send.Check(ctx, call.Request{Method: http.MethodPost, URL: target}); err != nil {
			return nil, fmt.Errorf("push %s: %w", kind, err)
		}
		k.Handle(kind, p.handler(target))
	}
	return p, nil
}

// pushMargin is what is left of a task's time for the outcome of its delivery.
const pushMargin = time.Second

func (p *Push) handler(target string) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		t := run.Task()
		req := call.Request{
			Method: http.MethodPost, URL: target, Body: t.Args, NoIdempotencyKey: true, Header: http.Header{
				"Content-Type": {"application/octet-stream"}, "Idempotency-Key": {run.Key()},
				HeaderTask: {t.ID.String()}, HeaderKind: {t.Kind}, HeaderFence: {fenceText(run.Fence())}, HeaderAttempt: {strconv.Itoa(run.Attempt())},
				HeaderSilence: {strconv.Itoa(int(math.Ceil(p.silence.Seconds())))},
			},
		}
		if plain, _ := shown(t.Args); plain != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		if until, ok := ctx.Deadline(); ok {
			req.Timeouts = call.Timeouts{Total: max(time.Until(until)-pushMargin, pushMargin), Idle: max(time.Until(until), pushMargin)}
			req.Header.Set(HeaderDeadline, until.UTC().Format(time.RFC3339))
		}
		if p.signed {
			req.Sign = signer
		}
		h, err := p.send.Start(ctx, run.Kernel(), req, call.Options{ID: t.ID})
		if err != nil {
			return kernel.Outcome{}, kernel.Permanent(err)
		}
		r, err := h.Wait(ctx)
		if ctx.Err() != nil {
			return kernel.Outcome{}, context.Cause(ctx)
		}
		if err == nil && r.Status == http.StatusAccepted {
			return p.await(ctx, run)
		}
		return delivered(r, err)
	}
}

// await waits for an endpoint that has taken a task over. What it says may come through any daemon on the store: the record tells.
func (p *Push) await(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
	k, fence := run.Kernel(), run.Fence()
	follower := k.Follow(fence.ID)
	defer follower.Close()
	heard, version := time.Now(), int64(-1)
	for {
		t, err := k.Get(ctx, fence.ID)
		switch {
		case ctx.Err() != nil:
			return kernel.Outcome{}, context.Cause(ctx)
		case err != nil: // the store is away: nothing can be heard
			heard = time.Now()
		case t.Epoch != fence.Epoch || string(t.State) != "running":
			return settled(&t)
		case t.Version != version:
			heard, version = time.Now(), t.Version
		case time.Since(heard) > p.silence:
			return kernel.Outcome{}, kernel.Typed("silent", fmt.Errorf("the endpoint accepted the task, and has said nothing of it for %v", p.silence))
		}
		follower.Wait(ctx, p.silence/4)
	}
}

// settled says again what the endpoint has said: the same outcome under the same fence has no second effect, and any other has none.
func settled(t *kernel.Task) (kernel.Outcome, error) {
	switch string(t.State) {
	case "done":
		return kernel.Done(t.Result), nil
	case "cancelled":
		return kernel.Cancelled(t.Reason), nil
	case "failed":
		return kernel.Failed(t.Reason, errors.New(t.Error.Message), t.Result), nil
	}
	return kernel.Outcome{}, kernel.Typed("elsewhere", errors.New("the endpoint has ended this run"))
}

// delivered makes an outcome of an answer.
func delivered(r *call.Response, err error) (kernel.Outcome, error) {
	var failure *call.Error
	if errors.As(err, &failure) {
		err := kernel.Typed(string(failure.Type), failure)
		if failure.Type == call.TypeRefused || failure.Type == call.TypeInvalid {
			err = kernel.Permanent(err)
		}
		return kernel.Outcome{}, err
	}
	if err != nil {
		return kernel.Outcome{}, err
	}
	if r.OK() {
		return kernel.Done(r.Body), nil
	}
	err = kernel.Typed("http", fmt.Errorf("the endpoint answered %d", r.Status))
	switch {
	case r.Status >= 500, r.Status == http.StatusRequestTimeout, r.Status == http.StatusTooEarly, r.Status == http.StatusTooManyRequests:
		if after := retryAfter(r); after > 0 {
			err = kernel.RetryAfter(after, err)
		}
		return kernel.Outcome{}, err
	}
	return kernel.Outcome{}, kernel.Permanent(err)
}

// maxRetryAfter is the longest that an endpoint is waited for.
const maxRetryAfter = time.Hour

// retryAfter reads when an endpoint wants to be asked again: seconds, or a date.
func retryAfter(r *call.Response) time.Duration {
	text := r.Header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return min(time.Duration(max(n, 0))*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter)
	}
	return 0
}
