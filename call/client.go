package call

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/outlast-go/outlast/internal/safedial"
	"github.com/outlast-go/outlast/internal/webhook"
	"github.com/outlast-go/outlast/kernel"
)

// ClientConfig says how requests are sent. Its zero value works; every field tells its default. A negative value where none is told
// is kernel.ErrInvalid.
type ClientConfig struct {
	// Name tells clients on one kernel apart, each with its own TLS, proxy, guard and connections. Default: none. Requests of
	// a client with a name are sent only by processes that serve a client of that name.
	Name string
	// Queue is where requests wait. Default "calls". (request_queue)
	Queue string
	// CallbackQueue is where callbacks wait. Default "callbacks". (callback_queue)
	CallbackQueue string

	// Timeouts of requests that bring none. Default: 10 s to connect, 10 s for TLS, 60 s between bytes, 60 s in all.
	// (default_timeout, connection_timeout)
	Timeouts Timeouts
	// Retry of requests that bring none. Default: 5 attempts, 1 s doubling up to 5 minutes, full jitter. (max_retries, retry_wait)
	Retry kernel.Retry
	// MaxRetryAfter is the longest that a server's Retry-After is honoured. Default 1 h.
	MaxRetryAfter time.Duration
	// Classify may overrule what is tried again. Default: see Verdict.
	Classify func(*Response, *Error) Verdict
	// OnUnknown says what becomes of a request that may have reached the server when its process died. Default: AutoUnknown.
	OnUnknown Unknown
	// MaxRedirects is how many are followed. Default 5; NoRedirects, or negative: none.
	MaxRedirects int
	// UserAgent of requests that bring none. Default "outlast".
	UserAgent string

	// MaxResponse bounds the body of an answer, after it was decompressed. Default 1 MiB. (max_response_size)
	MaxResponse int64
	// MaxHeader bounds the header of an answer. Default 64 KiB.
	MaxHeader int64
	// MaxSpill bounds answers that go to the blobs of the kernel, beyond MaxResponse. Default 0, and without blobs: MaxResponse bounds all.
	MaxSpill int64

	// Proxy is the URL of an HTTP proxy, with or without a user. Default: none, whatever the environment says. (proxy_url)
	Proxy string
	// TLS is cloned. Default: the system's roots, TLS 1.2 at least.
	TLS *tls.Config
	// DisableHTTP2 speaks HTTP/1.1 alone. Default: HTTP/2 where a server offers it. (http2_enabled)
	DisableHTTP2 bool
	// MaxConnsPerHost bounds connections to a host; a request that waits for one uses up its Timeouts.Total. Default 0: 128 to hosts
	// that speak HTTP/2, and no bound to others.
	MaxConnsPerHost int
	// MaxDials and MaxDialsPerHost are how many connections are made at the same time. Default 256 and 64.
	MaxDials        int
	MaxDialsPerHost int
	// Transport carries the requests in place of the client's own connections, which are then not used: Proxy, TLS and what is said of
	// dials and connections mean nothing to it. The Guard looks at the host of a request alone. Default: the client's own.
	Transport http.RoundTripper
	// Resolver of names. Default: net.DefaultResolver.
	Resolver *net.Resolver
	// Guard refuses what must not be called. Default nil: everything may be.
	Guard *Guard

	// PerHost limits each host across the fleet; Hosts those that are named, as "example.com" or "example.com:8080". Default: none.
	PerHost HostLimit
	Hosts   map[string]HostLimit
	// Breaker pauses a host that fails. Its zero value does so after 10 failures in a row.
	Breaker Breaker

	// Signers are the secrets that a request may be signed with, by name: the first signs first, the others for as long as
	// receivers still have them. Default: none.
	Signers map[string][]string

	// BeforeComplete and BeforeError run before the callback of each request, in their order, in its run: an error of one is an
	// error of the callback. Default: none. (after_completion, after_error)
	BeforeComplete []func(context.Context, *Response) error
	BeforeError    []func(context.Context, *Error) error
	// Observers are told what happens in this process. They must not block; a panic of one is contained. Default: none.
	Observers []func(Event)
	// Inline sends each request within Start, and calls back before Start returns: for tests, and for handlers that wait for the answer
	// themselves. Nothing is stored, and nothing is tried again.
	Inline bool
	// Logger takes what no task's log can take. Default: slog.Default.
	Logger *slog.Logger
}

// Guard says what may be called: see package internal/safedial. Its zero value allows public addresses on ports 80 and 443. Behind a
// Proxy the target's name is resolved and looked at before the proxy is asked for it; what the proxy then finds under that name is
// for the proxy to look at.
type Guard = safedial.Guard

// HostLimit bounds the requests to one host across the fleet. The zero value is no bound.
type HostLimit struct {
	// Running at once.
	Running int
	// Rates of starts; all must be open.
	Rates []kernel.Rate
}

// Client sends requests: the connections of a process, its circuit breakers and its statistics. Make one with NewClient; it may be used
// from any goroutine.
type Client struct {
	cfg       ClientConfig
	transport *transport
	signers   map[string][]webhook.Secret
	breakers  *breakers
	stats     stats
	log       *slog.Logger

	mu     sync.Mutex
	served map[*kernel.Kernel]bool
	calls  map[string]*Call
	limits map[string]bool // hosts whose limit this process has put
}

// Default is the client of calls that name none: a ClientConfig with nothing in it.
var Default = sync.OnceValue(func() *Client {
	c, err := NewClient(ClientConfig{})
	if err != nil {
		panic(err) // the zero value works
	}
	return c
})

// NewClient makes a client. It starts nothing. The error is an *InvalidError that names the field.
func NewClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	signers, err := parseSigners(cfg.Signers)
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg: cfg, signers: signers, log: cfg.Logger,
		served: map[*kernel.Kernel]bool{}, calls: map[string]*Call{}, limits: map[string]bool{},
	}
	if c.transport, err = newTransport(cfg); err != nil {
		return nil, err
	}
	c.breakers = newBreakers(c)
	return c, nil
}

// Kind returns the kind of the client's requests: "call.send", or "call.send." and its name.
func (c *Client) Kind() string {
	if c.cfg.Name == "" {
		return kindSend
	}
	return kindSend + "." + c.cfg.Name
}

// Close lets go of connections that are not in use. The client can be used on.
func (c *Client) Close() { c.transport.close() }

// serve registers what sends requests, once per kernel.
func (c *Client) serve(k *kernel.Kernel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.served[k] {
		k.Handle(c.Kind(), c.send)
		c.served[k] = true
	}
}

func (c ClientConfig) withDefaults() ClientConfig {
	c.Queue = cmp.Or(c.Queue, "calls")
	c.CallbackQueue = cmp.Or(c.CallbackQueue, "callbacks")
	c.Timeouts = c.Timeouts.or(Timeouts{Connect: 10 * time.Second, TLS: 10 * time.Second, Idle: time.Minute, Total: time.Minute})
	c.Retry = fillRetry(c.Retry)
	c.MaxRetryAfter = cmp.Or(c.MaxRetryAfter, time.Hour)
	c.OnUnknown = cmp.Or(c.OnUnknown, AutoUnknown)
	c.MaxRedirects = cmp.Or(c.MaxRedirects, 5)
	c.UserAgent = cmp.Or(c.UserAgent, "outlast")
	c.MaxResponse = cmp.Or(c.MaxResponse, 1<<20)
	c.MaxHeader = cmp.Or(c.MaxHeader, 64<<10)
	c.MaxDials = cmp.Or(c.MaxDials, 256)
	c.MaxDialsPerHost = cmp.Or(c.MaxDialsPerHost, 64)
	c.Breaker = c.Breaker.withDefaults()
	c.Hosts = maps.Clone(c.Hosts)
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// fillRetry fills in the parts that are missing of a policy.
func fillRetry(r kernel.Retry) kernel.Retry {
	r.Max = cmp.Or(r.Max, 5)
	r.Base = cmp.Or(r.Base, time.Second)
	r.Factor = cmp.Or(r.Factor, 2)
	r.Cap = cmp.Or(r.Cap, max(5*time.Minute, r.Base))
	return r
}

func (c ClientConfig) validate() error {
	for _, f := range []struct {
		field string
		value int64
	}{
		{"MaxRetryAfter", int64(c.MaxRetryAfter)},
		{"MaxResponse", c.MaxResponse},
		{"MaxHeader", c.MaxHeader},
		{"MaxSpill", c.MaxSpill},
		{"MaxConnsPerHost", int64(c.MaxConnsPerHost)},
		{"MaxDials", int64(c.MaxDials)},
		{"MaxDialsPerHost", int64(c.MaxDialsPerHost)},
	} {
		if f.value < 0 {
			return invalid(f.field, "is negative; it must be positive, or 0 for the default")
		}
	}
	if err := checkRetry(c.Retry); err != nil {
		return err
	}
	if err := c.Timeouts.validate(); err != nil {
		return err
	}
	if !c.OnUnknown.valid() {
		return invalid("OnUnknown", "is %q; use auto, retry, fail or nothing", c.OnUnknown)
	}
	if err := c.Breaker.validate(); err != nil {
		return err
	}
	if c.Proxy != "" {
		if _, err := parseProxy(c.Proxy); err != nil {
			return err
		}
	}
	return c.validateNames()
}

func (c ClientConfig) validateNames() error {
	for field, name := range map[string]string{"Name": c.Name, "Queue": c.Queue, "CallbackQueue": c.CallbackQueue} {
		spec := kernel.Spec{ID: kernel.ID{1}, Kind: "k", Queue: cmp.Or(name, "q")}
		if err := spec.Validate(); err != nil {
			return invalid(field, "is %.80q; use ASCII letters, digits and . _ - : /", name)
		}
	}
	if !validHeaderValue(c.UserAgent) {
		return invalid("UserAgent", "contains a control character")
	}
	limits := maps.Clone(c.Hosts)
	if limits == nil {
		limits = map[string]HostLimit{}
	}
	limits["PerHost"] = c.PerHost
	for host, l := range limits {
		limit := kernel.Limit{Key: limitKey(host), Running: l.Running, Rates: l.Rates}
		if err := limit.Validate(); err != nil {
			return invalid("Hosts", "%s: %v", host, err)
		}
	}
	return nil
}

func checkRetry(r kernel.Retry) error {
	if r.Max < 0 || r.Base < 0 || r.Cap < 0 || r.Factor < 0 {
		return invalid("Retry", "is %+v; no part of it may be negative", r)
	}
	return nil
}

// parseProxy reads the URL of a proxy. The error does not repeat it, as it may have a password in it.
func parseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, invalid("Proxy", "is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, invalid("Proxy", "has the scheme %q; use http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, invalid("Proxy", "names no host")
	}
	return u, nil
}

func parseSigners(texts map[string][]string) (map[string][]webhook.Secret, error) {
	all := map[string][]webhook.Secret{}
	for name, list := range texts {
		for i, text := range list {
			s, err := webhook.ParseSecret(text)
			if err != nil {
				return nil, invalid("Signers", "%s, secret %d: %v", name, i+1, err)
			}
			all[name] = append(all[name], s)
		}
		if len(list) == 0 {
			return nil, invalid("Signers", "%s has no secret", name)
		}
	}
	return all, nil
}

var _ http.RoundTripper = (*transport)(nil)

// Settings tells how the client is set up, by the names of ClientConfig, with its defaults and without what is secret.
func (c *Client) Settings() map[string]string {
	cfg := c.cfg
	proxy := "none"
	if u := c.transport.proxy; u != nil {
		proxy = u.Redacted()
	}
	guard := "off"
	if cfg.Guard != nil {
		guard = "on"
	}
	return map[string]string{
		"Name": cfg.Name, "Queue": cfg.Queue, "CallbackQueue": cfg.CallbackQueue, "Timeouts": fmt.Sprintf("%+v", cfg.Timeouts),
		"Retry": fmt.Sprintf("%+v", cfg.Retry), "MaxRetryAfter": cfg.MaxRetryAfter.String(), "OnUnknown": string(cfg.OnUnknown),
		"MaxRedirects": strconv.Itoa(cfg.MaxRedirects), "UserAgent": cfg.UserAgent, "MaxResponse": strconv.FormatInt(cfg.MaxResponse, 10),
		"MaxHeader": strconv.FormatInt(cfg.MaxHeader, 10), "MaxSpill": strconv.FormatInt(cfg.MaxSpill, 10),
		"Proxy": proxy, "TLS": onOff(cfg.TLS != nil, "own", "default"), "HTTP2": onOff(!cfg.DisableHTTP2, "on", "off"),
		"MaxConnsPerHost": strconv.Itoa(cfg.MaxConnsPerHost), "MaxDials": strconv.Itoa(cfg.MaxDials),
		"MaxDialsPerHost": strconv.Itoa(cfg.MaxDialsPerHost), "Transport": onOff(cfg.Transport != nil, "own", "default"), "Guard": guard, "PerHost": fmt.Sprintf("%+v", cfg.PerHost),
		"Breaker": fmt.Sprintf("%+v", cfg.Breaker), "Signers": strconv.Itoa(len(cfg.Signers)), "Inline": strconv.FormatBool(cfg.Inline),
	}
}

func onOff(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
