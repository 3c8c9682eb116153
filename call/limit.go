package call

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// limitKey is the key of the limit that all requests to a host count against, whichever client sends them.
func limitKey(host string) string { return "call/" + host }

// hostLimit returns the limit of a host, which is given with its port.
func (c *Client) hostLimit(host string) HostLimit {
	if l, ok := c.cfg.Hosts[host]; ok {
		return l
	}
	for _, port := range []string{":80", ":443"} {
		if name, ok := strings.CutSuffix(host, port); ok {
			if l, ok := c.cfg.Hosts[name]; ok {
				return l
			}
		}
	}
	return c.cfg.PerHost
}

// putLimit writes the limit of a host before the first request to it that this process starts. Who has none to put leaves
// alone what others have put.
func (c *Client) putLimit(ctx context.Context, k *kernel.Kernel, host string) error {
	l := c.hostLimit(host)
	if l.Running == 0 && len(l.Rates) == 0 {
		return nil
	}
	c.mu.Lock()
	known := c.limits[host]
	c.mu.Unlock()
	if known || c.breakers.isBroken(ctx, k, host) {
		return nil // a broken circuit has a limit of its own, and puts this one back
	}
	if _, err := k.PutLimit(ctx, kernel.Limit{Key: limitKey(host), Running: l.Running, Rates: l.Rates}); err != nil {
		return fmt.Errorf("limit host %s: %w", host, err)
	}
	c.mu.Lock()
	c.limits[host] = true
	c.mu.Unlock()
	return nil
}
