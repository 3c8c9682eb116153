package endpoints_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// place is a store, a kernel that accepts on it, and an HTTP server.
type place struct {
	*testing.T
	open func() store.Store
	k    *kernel.Kernel
	mux  *http.ServeMux
	url  string
	site endpoint.Site
	log  *safeBuffer
}

// setup says what differs from the usual place.
type setup struct {
	site   endpoint.Site
	kernel kernel.Config
	timing store.Timing
	wrap   func(store.Store) store.Store
}

// everywhere runs a test on every engine.
func everywhere(t *testing.T, s setup, fn func(t *testing.T, p *place)) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			fn(t, newPlace(t, s, e.open(t, s.timing)))
		})
	}
}

// alone runs a test on every engine, with nothing beside it: for tests of who lives, and of many connections.
func alone(t *testing.T, s setup, fn func(t *testing.T, p *place)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { fn(t, newPlace(t, s, e.open(t, s.timing))) })
	}
}

func newPlace(t *testing.T, s setup, open func() store.Store) *place {
	p := &place{T: t, open: open, mux: http.NewServeMux(), site: s.site, log: &safeBuffer{}}
	srv := httptest.NewServer(p.mux)
	st := open()
	if s.wrap != nil {
		st = s.wrap(st)
	}
	logger := slog.New(slog.NewTextHandler(p.log, nil))
	p.site.Logger = logger
	s.kernel.Logger = logger
	var err error
	if p.k, err = kernel.New(st, s.kernel); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.k.Close()
		srv.CloseClientConnections()
		srv.Close()
		_ = st.Close()
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	p.url = srv.URL
	status := endpoint.Status(p.k, p.site)
	p.mux.Handle("/tasks", status)
	p.mux.Handle("/tasks/", status)
	return p
}

// work runs a kernel of its own, on a handle of its own, for what serve serves, until the test or stop ends it.
func (p *place) work(serve func(*kernel.Kernel), cfg kernel.Config) (stop func()) {
	p.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(p.log, nil))
	st := p.open()
	k, err := kernel.New(st, cfg)
	if err != nil {
		p.Fatal(err)
	}
	serve(k)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil {
			p.Errorf("Run = %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		k.Close()
		_ = st.Close()
	})
	p.Cleanup(stop)
	return stop
}

// answer is what an HTTP request got.
type answer struct {
	*http.Response
	body string
	doc  endpoint.Document
	fail endpoint.Problem
}

// send makes a request; header is name and value in turn.
func (p *place) send(method, path, body string, header ...string) *answer {
	p.Helper()
	a, err := p.try(p.Context(), method, path, body, header...)
	if err != nil {
		p.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (p *place) try(ctx context.Context, method, path, body string, header ...string) (*answer, error) {
	if strings.HasPrefix(path, "/") {
		path = p.url + path
	}
	r, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
		if header[i] == "Content-Type" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	a := &answer{Response: res, body: string(data)}
	switch res.Header.Get("Content-Type") {
	case "application/problem+json":
		_ = json.Unmarshal(data, &a.fail)
	case "application/json":
		_ = json.Unmarshal(data, &a.doc)
	}
	return a, err
}

// want checks the status of an answer.
func (p *place) want(a *answer, status int, what string) *answer {
	p.Helper()
	if a.StatusCode != status {
		p.Fatalf("%s: the answer is %d %s, want %d", what, a.StatusCode, a.body, status)
	}
	return a
}

// accepted submits and returns the path of the task.
func (p *place) accepted(path, body string, header ...string) *answer {
	p.Helper()
	return p.want(p.send("POST", path, body, header...), http.StatusAccepted, "POST "+path)
}

// ended waits for the end of a task over HTTP, and checks how it ended.
func (p *place) ended(location string, want endpoint.State) endpoint.Document {
	p.Helper()
	for range 20 {
		a := p.want(p.send("GET", location+"?wait=20s", ""), http.StatusOK, "GET "+location)
		if a.doc.Status.Ended() {
			if a.doc.Status != want {
				p.Fatalf("%s is %s, want %s", location, a.body, want)
			}
			return a.doc
		}
	}
	p.Fatalf("%s does not end", location)
	return endpoint.Document{}
}

// tasks lists everything that is stored.
func (p *place) tasks() []kernel.Task {
	p.Helper()
	page, err := p.k.List(p.Context(), kernel.Filter{}, kernel.PageRequest{Payload: true, Limit: 1000})
	if err != nil {
		p.Fatal(err)
	}
	return page.Items
}

// soon waits until something is so.
func (p *place) soon(what string, fn func() bool) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if fn() {
			return
		}
		pause(5 * time.Millisecond)
	}
	p.Fatalf("%s did not come about", what)
}

func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// safeBuffer is a buffer that many may write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
