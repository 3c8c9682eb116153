package call

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// The kinds of tasks.
const (
	kindSend     = "call.send"
	kindCallback = "call.callback."
)

// Callback is what is called once a request has ended, in a task of its own. Exactly one of both is called for each request: an
// error makes it try again, as the callback's Retry says.
type Callback struct {
	// OnComplete is called with the answer, whatever its status.
	OnComplete func(ctx context.Context, r *Response) error
	// OnError is called if there is no answer, or one that FailOnStatus makes an error.
	OnError func(ctx context.Context, e *Error) error
}

// Config is what holds for every start of a call. The zero value works.
type Config struct {
	// Client sends the requests. Default: the one that all calls share that name none.
	Client *Client
	// Template is what the requests have in common. Default: nothing.
	Template Template
	// FailOnStatus makes an answer other than 200 to 299 an error. Default: every answer is a completion. (raise_error_responses)
	FailOnStatus bool

	// CallbackRetry says when to call back again after an error. Default: the kernel's (25 attempts).
	CallbackRetry kernel.Retry
	// CallbackTimeout of one attempt to call back. Default: the kernel's (30 minutes); negative: none.
	CallbackTimeout time.Duration

	// Priority goes first if it is higher. Default 0.
	Priority int
	// StartBy ends a request that was not begun so long after Start, TypeExpired. Default: never.
	StartBy time.Duration
	// Retention is how long request and answer are kept once both have ended. Default: the kernel's (24 h). A failed request is
	// kept until it is retried or deleted.
	Retention time.Duration
}

// Call is a callback with a name, and requests that end in it. Make one with Define; it may be used from any goroutine.
type Call struct {
	name   string
	cb     Callback
	cfg    Config
	client *Client
}

// Define gives a callback a name under which it is stored, and so must keep for as long as requests of it may be left. It panics on
// a programmer's mistake, so that none shows only when a callback is due: a name of other than ASCII letters, digits and . _ - : /, a name that the client
// has already, a function that is missing, a Config that no call can have.
func Define(name string, cb Callback, cfg Config) *Call {
	c := &Call{name: name, cb: cb, cfg: cfg, client: cfg.Client}
	if c.client == nil {
		c.client = Default()
	}
	spec := kernel.Spec{ID: kernel.ID{1}, Kind: kindCallback + name, Queue: "q", StartBy: cfg.StartBy}
	switch {
	case name == "":
		panic("call.Define: the name is empty; give the callback a name of ASCII letters, digits and . _ - : /")
	case cb.OnComplete == nil:
		panic(fmt.Sprintf("call.Define(%q): OnComplete is nil", name))
	case cb.OnError == nil:
		panic(fmt.Sprintf("call.Define(%q): OnError is nil", name))
	}
	for _, err := range []error{spec.Validate(), checkRetry(cfg.CallbackRetry), c.client.checkTemplate(cfg.Template)} {
		if err != nil {
			panic(fmt.Sprintf("call.Define(%q): %v", name, err))
		}
	}
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	if c.client.calls[name] != nil {
		panic(fmt.Sprintf("call.Define(%q): the client has a callback of that name", name))
	}
	c.client.calls[name] = c
	return c
}

// checkTemplate finds what is wrong with a template before the first request.
func (c *Client) checkTemplate(t Template) error {
	probe := t
	if probe.BaseURL == "" {
		probe.BaseURL = "https://example.com/"
	}
	_, err := c.draft(probe, Request{})
	return err
}

// Name returns the name that Define was given.
func (c *Call) Name() string { return c.name }

// Client returns the client that sends the requests.
func (c *Call) Client() *Client { return c.client }

// Kind returns the kind of the callback's tasks.
func (c *Call) Kind() string { return kindCallback + c.name }

// Serve says that this process sends requests and calls back. Which of both it does is for the kernel's Slots to say: requests wait
// in the queue "calls", callbacks in "callbacks". It must be called before k.Run, once; otherwise it panics.
func (c *Call) Serve(k *kernel.Kernel) {
	c.client.serve(k)
	k.Handle(c.Kind(), c.callback)
}
