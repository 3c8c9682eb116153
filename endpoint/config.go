package endpoint

import (
	"fmt"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Config says how an endpoint takes requests and how their tasks are run. Its zero value works.
type Config struct {
	// Site is what accepting shares with Status. Default: the zero Site.
	Site Site

	// Queue is where tasks wait. Default "default". It is served by processes whose kernel.Config.Slots name it.
	Queue string
	// Priority goes first if it is higher. Default 0.
	Priority int
	// MaxRetries is how often a failed attempt is tried again. Default 3; negative: not at all.
	MaxRetries int
	// RetryBase is the base of the wait before the n-th retry: 2^n × RetryBase, so at first twice of it. Default 2 s.
	RetryBase time.Duration
	// Timeout of one attempt. Its context ends then; a run that does not heed that is taken from its worker a minute later. Default
	// 30 minutes; negative: none.
	Timeout time.Duration
	// CrashSpendsAttempt makes the death of a worker count as a failed attempt, with its wait. Default: it costs nothing.
	CrashSpendsAttempt bool
	// StartBy cancels a task that was not started so long after it was accepted. Default: never.
	StartBy time.Duration
	// Retention is how long a task is kept once completed or canceled. Default: the kernel's (24 h); negative: for ever. A
	// failed one is kept until it is retried or deleted.
	Retention time.Duration

	// MaxBody bounds the body, in bytes. Default: what the kernel stores (kernel.Config.MaxPayload); it can be more only if the kernel
	// has a place for blobs.
	MaxBody int64
	// MaxWaiting bounds how many tasks wait in the queue, about: each accepting process counts a few times a second. What comes
	// on top is refused. Default 0: no bound.
	MaxWaiting int
	// FullStatus is how it is refused: 503, the default, or 429.
	FullStatus int

	// Headers names what headers are stored and given to the function beside Accept, Accept-Language, Content-Language, Content-Type,
	// User-Agent and X-Request-Id. Default: none.
	Headers []string
	// Params names path values to keep, for routers that leave http.Request.Pattern empty. Default: the names in the pattern.
	Params []string
	// RequireKey refuses requests without an Idempotency-Key. Default: it may be missing.
	RequireKey bool
}

func (c Config) withDefaults() Config {
	c.Site = c.Site.withDefaults()
	if c.Queue == "" {
		c.Queue = kernel.DefaultQueue
	}
	if c.MaxRetries == 0 {
		c.MaxRetries = 3
	}
	if c.RetryBase == 0 {
		c.RetryBase = 2 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Minute
	}
	if c.FullStatus == 0 {
		c.FullStatus = http.StatusServiceUnavailable
	}
	return c
}

// validate says what of a Config with its defaults cannot be.
func (c *Config) validate() error {
	switch {
	case c.FullStatus != http.StatusServiceUnavailable && c.FullStatus != http.StatusTooManyRequests:
		return fmt.Errorf("FullStatus is %d; give 429 or 503", c.FullStatus)
	case c.MaxWaiting < 0:
		return fmt.Errorf("MaxWaiting is %d; it must not be negative", c.MaxWaiting)
	case c.MaxBody < 0:
		return fmt.Errorf("MaxBody is %d; it must not be negative", c.MaxBody)
	}
	s := c.spec("endpoint.x")
	s.ID, s.Timeout = kernel.ID{1}, max(s.Timeout, 0)
	return s.Validate()
}

// spec makes the task that all requests have in common.
func (c *Config) spec(kind string) kernel.Spec {
	return kernel.Spec{
		Kind: kind, Queue: c.Queue, Priority: c.Priority, Timeout: c.Timeout, StartBy: c.StartBy, Retention: c.Retention,
		Retry: kernel.Retry{
			Max: max(c.MaxRetries, 0) + 1, Base: 2 * c.RetryBase, Factor: 2, Exact: true, CrashSpends: c.CrashSpendsAttempt,
		},
	}
}
