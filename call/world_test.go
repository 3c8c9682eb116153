package call_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// told is what a callback was called with: exactly one of both.
type told struct {
	r *call.Response
	e *call.Error
}

// world is a kernel that sends requests and calls back, and what the callbacks were told.
type world struct {
	t      *testing.T
	k      *kernel.Kernel
	stop   func() error
	st     store.Store
	client *call.Client
	call   *call.Call
	told   chan told
}

// setup says what a world is made of. The zero value works.
type setup struct {
	client call.ClientConfig
	config call.Config
	kernel kernel.Config
	store  store.Store
	idle   bool           // the kernel is not run
	cb     *call.Callback // in place of the one that tells the test
}

// quick is a policy for tests: the waits are short, and exactly as said.
var quick = kernel.Retry{Max: 3, Base: 10 * time.Millisecond, Exact: true}

func begin(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{t: t, told: make(chan told, 10_000), st: s.store}
	if s.client.Retry == (kernel.Retry{}) {
		s.client.Retry = quick
	}
	if s.client.Logger == nil {
		s.client.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	client, err := call.NewClient(s.client)
	if err != nil {
		t.Fatalf("NewClient = %v", err)
	}
	t.Cleanup(client.Close)
	w.client, s.config.Client = client, client
	cb := call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error { w.told <- told{r: r}; return nil },
		OnError:    func(_ context.Context, e *call.Error) error { w.told <- told{e: e}; return nil },
	}
	if s.cb != nil {
		cb = *s.cb
	}
	w.call = call.Define("test", cb, s.config)
	if w.st == nil {
		w.st = memory.New(memory.Config{})
	}
	if s.kernel.Slots == nil {
		s.kernel.Slots = map[string]int{"calls": 100, "callbacks": 20}
	}
	w.k = kerneltest.New(t, w.st, s.kernel)
	w.call.Serve(w.k)
	if !s.idle {
		w.stop = kerneltest.Run(t, w.k)
	}
	return w
}

// start starts a request and fails the test if that fails.
func (w *world) start(r call.Request, o call.Options) *call.Handle {
	w.t.Helper()
	h, err := w.call.Start(w.t.Context(), w.k, r, o)
	if err != nil {
		w.t.Fatalf("Start = %v", err)
	}
	return h
}

// next waits for a callback.
func (w *world) next() told {
	w.t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	select {
	case got := <-w.told:
		return got
	case <-timer.C:
		w.t.Fatal("no callback came")
		return told{}
	}
}

// answer sends a request and returns what OnComplete was told.
func (w *world) answer(r call.Request, o call.Options) *call.Response {
	w.t.Helper()
	h := w.start(r, o)
	got := w.next()
	if got.r == nil {
		w.t.Fatalf("OnError(%v), want OnComplete", got.e)
	}
	if got.r.ID != h.ID() {
		w.t.Errorf("the answer is of %s, want %s", got.r.ID, h.ID())
	}
	return got.r
}

// failure sends a request and returns what OnError was told.
func (w *world) failure(r call.Request, o call.Options) *call.Error {
	w.t.Helper()
	h := w.start(r, o)
	got := w.next()
	if got.e == nil {
		w.t.Fatalf("OnComplete(%d), want OnError", got.r.Status)
	}
	if got.e.ID != h.ID() {
		w.t.Errorf("the error is of %s, want %s", got.e.ID, h.ID())
	}
	return got.e
}

// quiet fails the test if a callback comes.
func (w *world) quiet(d time.Duration) {
	w.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case got := <-w.told:
		w.t.Errorf("a callback came: %+v, want none", got)
	case <-timer.C:
	}
}

// server serves until the test ends.
func server(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// seen keeps the requests that a server got.
type seen struct {
	mu   sync.Mutex
	list []*http.Request
}

func (s *seen) add(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r)
	return len(s.list)
}

func (s *seen) all() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.list...)
}

func (s *seen) count() int { return len(s.all()) }

// until waits for something to become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if is() {
			return
		}
		<-tick.C
	}
	t.Fatalf("waited in vain until %s", what)
}

func randomText() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// callbackTo makes a callback that tells a world.
func callbackTo(w *world) call.Callback {
	return call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error { w.told <- told{r: r}; return nil },
		OnError:    func(_ context.Context, e *call.Error) error { w.told <- told{e: e}; return nil },
	}
}

// runKernel runs the kernel of a world that began idle.
func runKernel(t *testing.T, w *world) {
	t.Helper()
	w.stop = kerneltest.Run(t, w.k)
}

func contextWithin(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

func isNotFound(err error) bool { return errors.Is(err, kernel.ErrNotFound) }
