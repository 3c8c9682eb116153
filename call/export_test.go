package call

import (
	"context"
	"syscall"
)

// OnDial calls fn for every connection that the client is about to make, in the turn of its dial.
func (c *Client) OnDial(fn func(ctx context.Context, address string)) {
	c.transport.dialer.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		fn(ctx, address)
		return nil
	}
}
