package call_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// secureServer serves TLS, and HTTP/2 if asked to, until the test ends.
func secureServer(t *testing.T, h http.HandlerFunc, h2 bool) (*httptest.Server, *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = h2
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, &tls.Config{RootCAs: roots}
}

// conns counts the connections that a server gets.
type conns struct {
	mu       sync.Mutex
	open     map[net.Conn]bool
	all, top int
}

func (c *conns) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		if c.open == nil {
			c.open = map[net.Conn]bool{}
		}
		c.open[conn] = true
		c.all++
		c.top = max(c.top, len(c.open))
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *conns) counts() (all, top int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, c.top
}

// (http2_enabled): HTTP/2 where a server offers it, and a burst shares few connections; HTTP/1.1 where it is switched off.
func TestABurstSharesHTTP2Connections(t *testing.T) {
	t.Parallel()
	const n = 300
	var c conns
	var got seen
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			got.add(r)
			<-release
		}
		echo(w, r)
	}))
	s.EnableHTTP2 = true
	s.Config.ConnState = c.state
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	settings := &tls.Config{RootCAs: roots}
	w := begin(t, setup{client: call.ClientConfig{TLS: settings}, kernel: kernel.Config{Slots: map[string]int{"calls": n, "callbacks": 20}}})
	for range n {
		w.start(call.Request{URL: s.URL + "/wait"}, call.Options{})
	}
	until(t, "all are in flight", func() bool { return got.count() == n })
	close(release)
	for range n {
		if r := w.next().r; r == nil || r.Proto != "HTTP/2.0" {
			t.Fatalf("%+v, want an answer over HTTP/2", r)
		}
	}
	if all, _ := c.counts(); all > 129 { // the bound, and the first contact
		t.Errorf("%d connections for %d requests, want a few", all, n)
	}
	w = begin(t, setup{client: call.ClientConfig{TLS: settings, DisableHTTP2: true}})
	if r := w.answer(call.Request{URL: s.URL}, call.Options{}); r.Proto != "HTTP/1.1" {
		t.Errorf("with HTTP/2 switched off: %s", r.Proto)
	}
}

// A host that speaks HTTP/1.1 alone is not held back by what is good for HTTP/2.
func TestABurstToAnHTTP1HostHasAConnectionEach(t *testing.T) {
	t.Parallel()
	const n = 300
	var got seen
	release := make(chan struct{})
	s, settings := secureServer(t, func(_ http.ResponseWriter, r *http.Request) {
		got.add(r)
		<-release
	}, false)
	w := begin(t, setup{client: call.ClientConfig{TLS: settings}, kernel: kernel.Config{Slots: map[string]int{"calls": n, "callbacks": 20}}})
	for range n {
		w.start(call.Request{URL: s.URL}, call.Options{})
	}
	until(t, "all are in flight", func() bool { return got.count() == n })
	close(release)
	for range n {
		if w.next().r == nil {
			t.Error("a request failed")
		}
	}
}

// (max_connections per host): a bound on connections lets requests wait for one, within their time.
func TestConnectionsToAHostAreBounded(t *testing.T) {
	t.Parallel()
	var c conns
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}))
	s.Config.ConnState = c.state
	s.Start()
	t.Cleanup(s.Close)
	w := begin(t, setup{client: call.ClientConfig{MaxConnsPerHost: 3}})
	for range 30 {
		w.start(call.Request{URL: s.URL}, call.Options{})
	}
	for range 30 {
		if w.next().r == nil {
			t.Error("a request failed")
		}
	}
	if all, top := c.counts(); top > 3 || all > 10 {
		t.Errorf("%d connections, %d at a time; want 3 that are used again", all, top)
	}
}

// dials counts those that are under way, and lets them go on one by one.
type dials struct {
	next chan struct{}
	mu   sync.Mutex
	now  map[string]int // by address
	all  int
	made int
	top  map[string]int // the most at a time, by address; "" is all of them
}

func (d *dials) dial(ctx context.Context, address string) {
	d.mu.Lock()
	d.now[address]++
	d.all++
	d.made++
	d.top[address] = max(d.top[address], d.now[address])
	d.top[""] = max(d.top[""], d.all)
	d.mu.Unlock()
	select {
	case <-d.next:
	case <-ctx.Done():
	}
	d.mu.Lock()
	d.now[address]--
	d.all--
	d.mu.Unlock()
}

func (d *dials) underWay() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}

// Dials are paced: so many to a host at a time, and so many in all.
func TestDialsArePaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		all, perHost, want int
	}{{"in all", 5, 20, 5}, {"to a host", 60, 2, 6}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pace(t, call.ClientConfig{MaxDials: c.all, MaxDialsPerHost: c.perHost}, c.want)
		})
	}
}

// pace calls three hosts with many requests, and wants so many dials at a time.
func pace(t *testing.T, cfg call.ClientConfig, want int) {
	const hosts, each = 3, 20
	var arrived sync.WaitGroup
	arrived.Add(hosts * each)
	wait := func(http.ResponseWriter, *http.Request) { // so that each needs a connection of its own
		arrived.Done()
		arrived.Wait()
	}
	w := begin(t, setup{idle: true, client: cfg})
	d := &dials{next: make(chan struct{}), now: map[string]int{}, top: map[string]int{}}
	w.client.OnDial(d.dial)
	for range hosts {
		s := server(t, wait)
		for range each {
			w.start(call.Request{URL: s.URL}, call.Options{})
		}
	}
	runKernel(t, w)
	until(t, "all requests are under way", func() bool { return w.client.Stats(nil).InFlight == hosts*each })
	until(t, "as many dial as may", func() bool { return d.underWay() >= want })
	for range hosts * each {
		d.next <- struct{}{}
	}
	for range hosts * each {
		if w.next().r == nil {
			t.Error("a request failed")
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made != hosts*each || len(d.top) != hosts+1 || d.top[""] != want {
		t.Errorf("%d dials to %d hosts, %d at a time; want %d to %d, %d at a time", d.made, len(d.top)-1, d.top[""], hosts*each, hosts, want)
	}
	delete(d.top, "")
	for address, top := range d.top {
		if top > cfg.MaxDialsPerHost {
			t.Errorf("%d dials at a time to %s, want at most %d", top, address, cfg.MaxDialsPerHost)
		}
	}
}

// TLS is a client's own: its roots, its certificate. Two clients on one kernel do not share it.
func TestTLSIsTheClientsOwn(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Peer", r.TLS.PeerCertificates[0].Subject.Organization[0])
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	w := begin(t, setup{idle: true})
	mutual, err := call.NewClient(call.ClientConfig{
		Name: "mutual", TLS: &tls.Config{RootCAs: roots, Certificates: s.TLS.Certificates}, Retry: quick,
	})
	if err != nil {
		t.Fatal(err)
	}
	told2 := begin(t, setup{idle: true}) // only for its callback functions
	c := call.Define("mutual", callbackTo(told2), call.Config{Client: mutual})
	c.Serve(w.k)
	runKernel(t, w)
	h, err := c.Start(t.Context(), w.k, call.Request{URL: s.URL}, call.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := h.Wait(t.Context()); err != nil || r.Header.Get("X-Peer") == "" {
		t.Errorf("with a certificate: %+v, %v", r, err)
	}
	if e := w.failure(call.Request{URL: s.URL}, once); e.Type != call.TypeTLS {
		t.Errorf("the client without: %v, want tls", e)
	}
	if c.Client().Kind() != "call.send.mutual" || w.client.Kind() != "call.send" {
		t.Errorf("kinds %s and %s", c.Client().Kind(), w.client.Kind())
	}
}

// carried answers by itself.
type carried func(*http.Request) (*http.Response, error)

func (f carried) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A Transport carries requests in place of the client's own connections, and the Guard is asked all the same.
func TestATransportCarriesRequestsInPlaceOfConnections(t *testing.T) {
	t.Parallel()
	by := carried(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.URL.Host)), Request: r}, nil
	})
	w := begin(t, setup{client: call.ClientConfig{Transport: by}})
	if r := w.answer(call.Request{URL: "http://nowhere.test/"}, call.Options{}); r.Status != http.StatusTeapot || string(r.Body) != "nowhere.test" {
		t.Errorf("answer = %d %q, want the transport's", r.Status, r.Body)
	}
	w = begin(t, setup{client: call.ClientConfig{Transport: by, Guard: &call.Guard{}}})
	if _, err := w.call.Start(t.Context(), w.k, call.Request{URL: "http://127.0.0.1/"}, call.Options{}); !errors.Is(err, call.ErrRefused) {
		t.Errorf("Start = %v, want ErrRefused", err)
	}
}
