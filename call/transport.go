package call

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/internal/safedial"
)

// transport makes and keeps connections. It has two pools: HTTP/2 hosts get a bounded number of connections, as thousands of
// requests share each; with HTTP/1.1 each request under way has one to itself.
type transport struct {
	single *http.Transport // a request per connection, and hosts of which nothing is known
	shared *http.Transport // hosts that are known to speak HTTP/2; nil: one pool is enough
	proxy  *url.URL
	guard  *safedial.Guard
	other  http.RoundTripper // carries everything instead; nil: none
	dialer net.Dialer
	dials  chan struct{}

	mu    sync.Mutex
	hosts map[string]*host
	turns map[string]*turns
}

// turns are those of the dials to one address.
type turns struct {
	free  chan struct{}
	users int // who dial, or wait for a turn
}

// host is what is known of one.
type host struct {
	first chan struct{} // closed when the first contact is over; nil: there is none under way
	known bool
	h2    bool
}

const (
	sharedConns = 128 // times the 100 streams that most servers allow at least
	sharedDials = 4   // at once: each connection serves all who wait, as far as it can
	idlePerHost = 1 << 14
	idleFor     = time.Minute
	bufferSize  = 2 << 10 // per direction: thousands wait at the same time, and most bodies are read in one go
)

func newTransport(cfg ClientConfig) (*transport, error) {
	t := &transport{
		guard: cfg.Guard, other: cfg.Transport, dials: make(chan struct{}, cfg.MaxDials), hosts: map[string]*host{}, turns: map[string]*turns{},
		dialer: net.Dialer{Timeout: limit(cfg.Timeouts.Connect), KeepAlive: 30 * time.Second, Resolver: cfg.Resolver},
	}
	if cfg.Proxy != "" {
		u, err := parseProxy(cfg.Proxy)
		if err != nil {
			return nil, err
		}
		t.proxy = u
	}
	t.single = t.pool(cfg, cfg.MaxDialsPerHost)
	t.single.MaxConnsPerHost = cfg.MaxConnsPerHost
	if !cfg.DisableHTTP2 && cfg.MaxConnsPerHost == 0 {
		t.shared = t.pool(cfg, min(sharedDials, cfg.MaxDialsPerHost))
		t.shared.MaxConnsPerHost = sharedConns
	}
	return t, nil
}

// pool makes a pool that dials a host so many times at once.
func (t *transport) pool(cfg ClientConfig, dials int) *http.Transport {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.TLS != nil {
		settings = cfg.TLS.Clone()
	}
	if settings.ClientSessionCache == nil {
		settings.ClientSessionCache = tls.NewLRUClientSessionCache(1024)
	}
	h := &http.Transport{
		DialContext: t.dialler(dials), TLSClientConfig: settings, TLSHandshakeTimeout: limit(cfg.Timeouts.TLS),
		MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleFor, MaxResponseHeaderBytes: cfg.MaxHeader,
		DisableCompression: true, // bodies are decompressed under a bound: see decode.go
		WriteBufferSize:    bufferSize, ReadBufferSize: bufferSize,
		Protocols: new(http.Protocols),
	}
	h.Protocols.SetHTTP1(true)
	h.Protocols.SetHTTP2(!cfg.DisableHTTP2)
	if t.proxy != nil {
		h.Proxy = http.ProxyURL(t.proxy)
	}
	return h
}

func (t *transport) close() {
	t.single.CloseIdleConnections()
	if t.shared != nil {
		t.shared.CloseIdleConnections()
	}
}

// RoundTrip sends a request over the pool that suits its host.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.other != nil {
		return t.other.RoundTrip(r)
	}
	if t.shared == nil || r.URL.Scheme != "https" {
		return t.single.RoundTrip(r)
	}
	h, first, err := t.meet(r.Context(), r.URL.Host)
	if err != nil {
		return nil, err
	}
	if first {
		return t.contact(r, h)
	}
	if !t.isShared(h) {
		return t.single.RoundTrip(r)
	}
	resp, err := t.shared.RoundTrip(r)
	if err == nil && resp.ProtoMajor < 2 {
		t.learn(h, false) // it has changed: a bounded pool would make its requests wait for one another
	}
	return resp, err
}

// meet returns what is known of a host. The first request to it finds out, the others wait until it has: otherwise each of a
// burst would make a connection of its own that one is enough for.
func (t *transport) meet(ctx context.Context, name string) (h *host, first bool, err error) {
	for {
		t.mu.Lock()
		h = t.host(name)
		if h.known {
			t.mu.Unlock()
			return h, false, nil
		}
		if h.first == nil {
			h.first = make(chan struct{})
			t.mu.Unlock()
			return h, true, nil
		}
		wait := h.first
		t.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// contact sends the first request to a host, and tells the others what it speaks as soon as the connection is there for them.
func (t *transport) contact(r *http.Request, h *host) (*http.Response, error) {
	var h2, secure atomic.Bool
	trace := &httptrace.ClientTrace{
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			h2.Store(s.NegotiatedProtocol == "h2")
			secure.Store(err == nil)
		},
		WroteHeaders: func() {
			if secure.Load() {
				t.learn(h, h2.Load())
			}
		},
	}
	defer t.part(h)
	// Over the bounded pool: if it speaks HTTP/2, the others find the connection there.
	resp, err := t.shared.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		t.learn(h, resp.ProtoMajor == 2)
	}
	return resp, err
}

func (t *transport) learn(h *host, h2 bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.known, h.h2 = true, h2
	t.over(h)
}

// part ends a first contact that may have taught nothing: then the next request tries.
func (t *transport) part(h *host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over(h)
}

func (t *transport) over(h *host) {
	if h.first != nil {
		close(h.first)
		h.first = nil
	}
}

func (t *transport) isShared(h *host) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return h.h2
}

// host returns the record of a host. t.mu is held.
func (t *transport) host(name string) *host {
	h := t.hosts[name]
	if h == nil {
		if len(t.hosts) > 10_000 {
			t.forget()
		}
		h = &host{}
		t.hosts[name] = h
	}
	return h
}

// forget drops the hosts that nobody is dealing with right now: there is no end of names in the world. t.mu is held.
func (t *transport) forget() {
	for name, h := range t.hosts {
		if h.first == nil {
			delete(t.hosts, name)
		}
	}
}

// errUnwanted is what a dial returns to nobody: who asked for it has found another connection, or has given up.
var errUnwanted = errors.New("the connection is not wanted any more")

// dialler connects, a bounded number at a time: thousands at once would drown a host, and this one.
func (t *transport) dialler(most int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		own, done := t.turn(address+"/"+strconv.Itoa(most), most)
		defer done()
		for _, free := range []chan struct{}{own, t.dials} {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if w, ok := ctx.Value(watchKey{}).(*watch); ok && !w.isLooking() {
			return nil, errUnwanted
		}
		return t.dial(ctx, network, address)
	}
}

// turn joins those who dial an address.
func (t *transport) turn(address string, most int) (free chan struct{}, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.turns[address]
	if u == nil {
		u = &turns{free: make(chan struct{}, most)}
		t.turns[address] = u
	}
	u.users++
	return u.free, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(t.turns, address)
		}
	}
}

func (t *transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := t.dialer
	if t.guard != nil && !t.isProxy(address) {
		d.Control = t.guard.Control
	}
	return d.DialContext(ctx, network, address)
}

// isProxy reports whether an address is the proxy's: what is dialled with a proxy is nothing else.
func (t *transport) isProxy(address string) bool {
	return t.proxy != nil && address == net.JoinHostPort(t.proxy.Hostname(), portOf(t.proxy))
}

// allows asks the guard about a hop before it is made. What is dialled directly is looked at once more by the dialler; what a proxy
// dials is resolved and looked at here.
func (t *transport) allows(ctx context.Context, u *url.URL) error {
	if t.guard == nil {
		return nil
	}
	if err := t.guard.Host(u.Hostname(), portOf(u)); err != nil || t.proxy == nil {
		return err
	}
	return t.guard.Resolve(ctx, t.dialer.Resolver, u.Hostname())
}
