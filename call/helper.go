package call

import (
	"context"
	"fmt"
	"sync"

	"github.com/outlast-go/outlast/kernel"
)

// Handler starts a request that ends in the callback of a name. Client.Handler makes one.
type Handler interface {
	Request(ctx context.Context, callback string, req Request, opts Options) (*Handle, error)
}

var registered struct {
	mu sync.Mutex
	h  Handler
}

// Register makes a handler the one of the process, for code that has no kernel at hand: Send uses it. A program registers one when it
// starts, and calls remove when it stops. ErrRegistered if there is one already.
func Register(h Handler) (remove func(), err error) {
	if h == nil {
		return nil, invalid("Handler", "is nil")
	}
	registered.mu.Lock()
	defer registered.mu.Unlock()
	if registered.h != nil {
		return nil, ErrRegistered
	}
	mine := &one{h}
	registered.h = mine
	return func() {
		registered.mu.Lock()
		defer registered.mu.Unlock()
		if registered.h == mine { // not one that came after it
			registered.h = nil
		}
	}, nil
}

// one makes two registrations of the same handler two things.
type one struct{ Handler }

// Send starts a request through the handler of the process. ErrNoHandler if there is none.
func Send(ctx context.Context, callback string, req Request, opts Options) (*Handle, error) {
	registered.mu.Lock()
	h := registered.h
	registered.mu.Unlock()
	if h == nil {
		return nil, ErrNoHandler
	}
	return h.Request(ctx, callback, req, opts)
}

// Handler returns a handler that starts requests on a kernel, by the name of their callback.
func (c *Client) Handler(k *kernel.Kernel) Handler { return &onKernel{c, k} }

type onKernel struct {
	client *Client
	k      *kernel.Kernel
}

// Request starts a request.
func (o *onKernel) Request(ctx context.Context, callback string, req Request, opts Options) (*Handle, error) {
	c, err := o.client.Call(callback)
	if err != nil {
		return nil, err
	}
	return c.Start(ctx, o.k, req, opts)
}

// Call returns the call that was defined under a name. ErrUnknownCallback if none was.
func (c *Client) Call(name string) (*Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.calls[name]; known != nil {
		return known, nil
	}
	return nil, &InvalidError{Field: "Callback", Problem: fmt.Sprintf("%.80q was not defined", name), Err: ErrUnknownCallback}
}
