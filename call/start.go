package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/internal/safedial"
	"github.com/outlast-go/outlast/kernel"
)

// Forget as Retention keeps nothing of a request that was answered, once its callback has ended.
const Forget = kernel.Forget

// Options are of one start. The zero value sends the request at once.
type Options struct {
	// Args go to the callback: whatever encodes as JSON. ArgsOf reads them. Default: none.
	Args any
	// FailOnStatus makes an answer other than 200 to 299 an error, whatever Config says.
	FailOnStatus bool
	// Retry says when to try again. Default: the client's.
	Retry kernel.Retry

	// Delay is how long it waits at least; At is a time before which it is not sent. The later of both counts.
	Delay time.Duration
	At    time.Time
	// Key keeps a second start with the same key out until the first has ended, or for KeyFor: see job.Options. Keys of
	// different calls do not meet.
	Key        string
	OnConflict kernel.Conflict
	KeyFor     time.Duration
	// Labels are shown and searched for, and not sealed. Default: none.
	Labels map[string]string
	// Correlation ties together what belongs together. Default: none.
	Correlation string

	// Priority, StartBy and Retention stand, unless they are zero, for those of the Config.
	Priority  int
	StartBy   time.Duration
	Retention time.Duration
	// ID is the task's, and what the server is told by X-Request-Id. The same ID again has no effect. Default: a fresh one.
	ID kernel.ID
}

// Start stores a request and returns when it is durable: from then on the callback comes, whatever dies. On kernel.ErrDuplicate the handle
// is that of the request that stands; on kernel.ErrInDoubt that of the request that may: start it again with its ID. On any
// other error nothing was stored and the handle is nil; an *InvalidError says what is wrong with the request.
func (c *Call) Start(ctx context.Context, k *kernel.Kernel, req Request, opts Options) (*Handle, error) {
	if c.client.cfg.Inline {
		return c.inline(ctx, req, opts)
	}
	spec, clean, err := c.spec(ctx, k, req, opts)
	if err != nil {
		return nil, fmt.Errorf("start call %s: %w", c.name, err)
	}
	if err := c.client.putLimit(ctx, k, spec.Lane); err != nil {
		clean(ctx)
		return nil, fmt.Errorf("start call %s: %w", c.name, err)
	}
	stands, err := k.Submit(ctx, spec)
	started := c.started(ctx, k, kernelAnswer{spec: spec, stands: stands, err: err, clean: clean})
	return started.Handle, started.Err
}

// Check says what is wrong with a request, as Start would, and stores nothing.
func (c *Call) Check(ctx context.Context, req Request) error {
	_, _, err := c.prepare(ctx, req, Options{})
	return err
}

// Get starts a GET.
func (c *Call) Get(ctx context.Context, k *kernel.Kernel, url string, opts Options) (*Handle, error) {
	return c.Start(ctx, k, Request{Method: http.MethodGet, URL: url}, opts)
}

// Delete starts a DELETE.
func (c *Call) Delete(ctx context.Context, k *kernel.Kernel, url string, opts Options) (*Handle, error) {
	return c.Start(ctx, k, Request{Method: http.MethodDelete, URL: url}, opts)
}

// Post starts a POST of a value as JSON.
func (c *Call) Post(ctx context.Context, k *kernel.Kernel, url string, json any, opts Options) (*Handle, error) {
	return c.Start(ctx, k, Request{Method: http.MethodPost, URL: url, JSON: json}, opts)
}

// Put starts a PUT of a value as JSON.
func (c *Call) Put(ctx context.Context, k *kernel.Kernel, url string, json any, opts Options) (*Handle, error) {
	return c.Start(ctx, k, Request{Method: http.MethodPut, URL: url, JSON: json}, opts)
}

// Patch starts a PATCH of a value as JSON.
func (c *Call) Patch(ctx context.Context, k *kernel.Kernel, url string, json any, opts Options) (*Handle, error) {
	return c.Start(ctx, k, Request{Method: http.MethodPatch, URL: url, JSON: json}, opts)
}

// spec checks a request and makes its task, and the task of its callback. clean takes back what was kept beside the store.
func (c *Call) spec(ctx context.Context, k *kernel.Kernel, req Request, opts Options) (kernel.Spec, func(context.Context), error) {
	clean := func(context.Context) {}
	d, back, err := c.prepare(ctx, req, opts)
	if err != nil {
		return kernel.Spec{}, clean, err
	}
	spec := c.task(d, opts)
	if spec.ID.IsZero() {
		spec.ID = k.NewID()
	}
	if spec.OnEnd.Args, err = json.Marshal(back); err != nil {
		return kernel.Spec{}, clean, invalid("Args", "%v", err)
	}
	if spec.Args, clean, err = c.client.pack(ctx, k, d, spec.ID); err != nil {
		return kernel.Spec{}, clean, err
	}
	if err := checkSpec(spec); err != nil {
		clean(ctx)
		return kernel.Spec{}, clean, err
	}
	return spec, clean, nil
}

// prepare finds all that is wrong with a request before anything is kept of it.
func (c *Call) prepare(ctx context.Context, req Request, opts Options) (*draft, wireCallback, error) {
	d, err := c.client.draft(c.cfg.Template, req)
	if err != nil {
		return nil, wireCallback{}, err
	}
	d.request.FailOnStatus = c.cfg.FailOnStatus || opts.FailOnStatus
	if err := checkRetry(opts.Retry); err != nil {
		return nil, wireCallback{}, err
	}
	back := wireCallback{Method: d.request.Method, URL: d.request.URL}
	if opts.Args != nil {
		if back.Args, err = encode.JSON(opts.Args); err != nil {
			return nil, back, invalid("Args", "%v", err)
		}
	}
	return d, back, c.client.mayCall(ctx, d)
}

// mayCall asks the guard before anything is stored. A name that does not resolve now may do so later.
func (c *Client) mayCall(ctx context.Context, d *draft) error {
	g := c.cfg.Guard
	if g == nil {
		return nil
	}
	err := g.Host(d.name, d.port)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err = g.Resolve(ctx, c.cfg.Resolver, d.name)
	}
	if errors.Is(err, safedial.ErrRefused) {
		return &InvalidError{Field: "URL", Problem: err.Error(), Err: ErrRefused}
	}
	return nil
}

// task makes the task of a request, without its args, and that of its callback.
func (c *Call) task(d *draft, o Options) kernel.Spec {
	retry := c.client.cfg.Retry
	if o.Retry != (kernel.Retry{}) {
		retry = fillRetry(o.Retry)
	}
	retention := firstOf(o.Retention, c.cfg.Retention)
	timeout := kernel.NoTimeout
	if d.request.Timeouts.Total > 0 {
		timeout = d.request.Timeouts.Total + attemptMargin
	}
	return kernel.Spec{
		ID: o.ID, Kind: c.client.Kind(), Queue: c.client.cfg.Queue, Lane: d.host, Limit: limitKey(d.host),
		Delay: o.Delay, DueAt: o.At, Retry: retry, Timeout: timeout, Retention: retention,
		Unique:      kernel.Unique{Key: c.key(o.Key), OnConflict: o.OnConflict, For: o.KeyFor},
		Priority:    firstOf(o.Priority, c.cfg.Priority),
		StartBy:     firstOf(o.StartBy, c.cfg.StartBy),
		Labels:      maps.Clone(o.Labels),
		Correlation: o.Correlation,
		OnEnd: &kernel.Spec{
			Kind: c.Kind(), Queue: c.client.cfg.CallbackQueue, Retry: c.cfg.CallbackRetry, Timeout: c.cfg.CallbackTimeout,
			Retention: retention, Correlation: o.Correlation, Priority: firstOf(o.Priority, c.cfg.Priority),
		},
	}
}

// key keeps the keys of different calls apart: their requests are of one kind.
func (c *Call) key(key string) string {
	if key == "" {
		return ""
	}
	return c.name + "/" + key
}

// attemptMargin is what the kernel gives an attempt beyond its Total: by then it has ended by itself.
const attemptMargin = 30 * time.Second

func firstOf[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

func checkSpec(s kernel.Spec) error {
	s.Timeout = max(s.Timeout, 0)
	next := *s.OnEnd
	next.Timeout = max(next.Timeout, 0)
	s.OnEnd = &next
	if err := s.Validate(); err != nil {
		return &InvalidError{Field: "Options", Problem: err.Error()}
	}
	return nil
}

// pack makes the args of a request's task. A body that is too large for the record goes to the kernel's blobs; without them it is
// ErrTooLarge.
func (c *Client) pack(ctx context.Context, k *kernel.Kernel, d *draft, id kernel.ID) ([]byte, func(context.Context), error) {
	clean := func(context.Context) {}
	bound, keeper := k.MaxPayload(), keeperOf(k)
	large := bound
	if keeper != nil && (bound < 0 || keeper.over < int64(bound)) {
		large = int(keeper.over)
	}
	body, rest := d.body, io.Reader(nil)
	if d.reader != nil {
		var err error
		if body, rest, err = peek(d.reader, large); err != nil {
			return nil, clean, &InvalidError{Field: "Reader", Problem: "cannot be read: " + err.Error(), Err: err}
		}
	} else if large >= 0 && len(body) > large {
		body, rest = nil, bytes.NewReader(body)
	}
	if rest != nil && keeper == nil {
		return nil, clean, tooLarge(bound)
	}
	if rest != nil {
		ref, err := keeper.put(ctx, id, rest)
		if err != nil {
			return nil, clean, fmt.Errorf("keep the body: %w", err)
		}
		clean = func(ctx context.Context) {
			if err := k.DropBlob(context.WithoutCancel(ctx), *ref); err != nil {
				c.log.Warn("body of a request that was not started is left to the sweep", "task", id.String(), "err", err)
			}
		}
		d.request.Ref, body = ref, nil
	}
	args, err := frame(d.request, body)
	if err == nil && bound >= 0 && len(args) > bound {
		err = tooLarge(bound)
	}
	if err != nil {
		clean(ctx)
	}
	return args, clean, err
}

func tooLarge(bound int) error {
	return &InvalidError{
		Field: "Body", Err: ErrTooLarge,
		Problem: fmt.Sprintf("is too large: request, header and body may have %d bytes together; raise kernel.Config.MaxPayload, or set kernel.Config.Blobs", bound),
	}
}

// peek reads up to limit bytes; rest is all that was read and what comes after it, or nil if nothing comes. A negative limit reads all.
func peek(r io.Reader, limit int) (all []byte, rest io.Reader, err error) {
	if limit < 0 {
		all, err = io.ReadAll(r)
		return all, nil, err
	}
	all, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil || len(all) <= limit {
		return all, nil, err
	}
	return nil, io.MultiReader(bytes.NewReader(all), r), nil
}
