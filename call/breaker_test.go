package call_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// weak is a server that can be broken and mended; it counts what it gets and how many at a time.
type weak struct {
	well  atomic.Bool
	total atomic.Int64
	mu    sync.Mutex
	now   int
	top   int
	hold  time.Duration
}

func (s *weak) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.total.Add(1)
	s.mu.Lock()
	s.now++
	s.top = max(s.top, s.now)
	s.mu.Unlock()
	timer := time.NewTimer(s.hold)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	if !s.well.Load() {
		w.WriteHeader(502)
	}
}

func (s *weak) most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	top := s.top
	s.top = s.now
	return top
}

// A host that fails is left alone by the whole fleet, tried again with one request, and let go once that succeeds. What waits
// meanwhile spends no attempt, and a process that starts meanwhile knows.
func TestACircuitBreaksAndMends(t *testing.T) {
	t.Parallel()
	site := &weak{hold: 20 * time.Millisecond}
	s := server(t, site.ServeHTTP)
	st := memory.New(memory.Config{})
	cfg := setup{
		store: st,
		client: call.ClientConfig{
			Breaker: call.Breaker{Failures: 5, OpenFor: 2 * time.Second, MaxOpen: 4 * time.Second},
			Retry:   kernel.Retry{Max: 1}, Hosts: map[string]call.HostLimit{},
		},
	}
	a := begin(t, cfg)
	for range 5 {
		a.start(call.Request{URL: s.URL}, call.Options{})
	}
	for range 5 {
		if r := a.next().r; r == nil || r.Status != 502 {
			t.Fatalf("%+v, want 502", r)
		}
	}
	until(t, "the lane is paused", func() bool { return pausedLanes(t, a.k) == 1 })
	const n = 20
	for range n {
		a.start(call.Request{URL: s.URL}, call.Options{})
	}
	leavesAlone(t, cfg, st.Process(), s.URL)
	if got := site.total.Load(); got != 5 {
		t.Errorf("the host was called %d times while its circuit is open, want 5 from before", got)
	}
	// Restart: another process, which has seen nothing of it.
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	site.most()
	b := begin(t, cfg)
	if r := b.next().r; r == nil || r.Status != 502 { // the probe of the half-open circuit
		t.Fatalf("%+v, want the probe's 502", r)
	}
	b.quiet(500 * time.Millisecond) // the pause has doubled
	if got, top := site.total.Load(), site.most(); got != 6 || top != 1 {
		t.Errorf("%d calls, %d at a time after the pause; want one probe", got, top)
	}
	for _, task := range kerneltest.Tasks(t, b.k, "call.send") {
		if task.State == store.Ready && task.Attempts != 0 {
			t.Error("a request that waits for the circuit has spent an attempt")
		}
	}
	site.well.Store(true)
	for range n {
		if r := b.next().r; r == nil || r.Status != 200 {
			t.Errorf("%+v, want 200 once the host is well", r)
		}
	}
	until(t, "nothing is paused, and no circuit marked as broken", func() bool { return len(pauses(t, b.k)) == 0 })
	if top := site.most(); top < 2 {
		t.Errorf("%d at a time once the circuit is closed, want the limit to be gone", top)
	}
}

// leavesAlone runs another process of the fleet for a moment, which has seen nothing of a broken circuit, with a request of its own.
func leavesAlone(t *testing.T, cfg setup, st store.Store, url string) {
	t.Helper()
	cfg.store = st
	w := begin(t, cfg)
	w.start(call.Request{URL: url}, call.Options{})
	w.quiet(200 * time.Millisecond)
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
}

func pausedLanes(t *testing.T, k *kernel.Kernel) int {
	t.Helper()
	n := 0
	for _, p := range pauses(t, k) {
		if p.Scope.Kind == "" {
			n++
		}
	}
	return n
}

func pauses(t *testing.T, k *kernel.Kernel) []kernel.Pause {
	t.Helper()
	list, err := k.Pauses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Successes between failures keep a circuit whole; answers of 4xx do not speak against a host; a negative number switches it off.
func TestWhatDoesNotBreakACircuit(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/404":
			w.WriteHeader(404)
		case r.URL.Path == "/502", n.Add(1)%3 != 0:
			w.WriteHeader(502)
		}
	})
	w := begin(t, setup{client: call.ClientConfig{Breaker: call.Breaker{Failures: 3}, Retry: kernel.Retry{Max: 1}}})
	for range 4 {
		w.answer(call.Request{URL: s.URL + "/404"}, call.Options{})
	}
	for range 12 {
		w.answer(call.Request{URL: s.URL}, call.Options{})
	}
	if pausedLanes(t, w.k) != 0 {
		t.Error("a circuit is broken")
	}
	off := begin(t, setup{client: call.ClientConfig{Breaker: call.Breaker{Failures: -1}, Retry: kernel.Retry{Max: 1}}})
	for range 30 {
		off.answer(call.Request{URL: s.URL + "/502"}, call.Options{})
	}
	if pausedLanes(t, off.k) != 0 {
		t.Error("a circuit is broken though that is switched off")
	}
}

// Limits of a host hold for the fleet, and waiting for them costs nothing. (connection_pool_size is the kernel's slots and these)
func TestHostsAreLimitedAcrossTheFleet(t *testing.T) {
	t.Parallel()
	site := &weak{hold: 30 * time.Millisecond}
	site.well.Store(true)
	s := server(t, site.ServeHTTP)
	st := memory.New(memory.Config{})
	for name, client := range map[string]call.ClientConfig{
		"every host": {PerHost: call.HostLimit{Running: 2}},
		"this host":  {PerHost: call.HostLimit{Running: 50}, Hosts: map[string]call.HostLimit{s.Listener.Addr().String(): {Running: 2}}},
	} {
		site.most()
		a, b := begin(t, setup{store: st.Process(), client: client}), begin(t, setup{store: st.Process(), client: client})
		for range 10 {
			a.start(call.Request{URL: s.URL}, call.Options{})
			b.start(call.Request{URL: s.URL}, call.Options{})
		}
		until(t, "all are done", func() bool { return len(a.told)+len(b.told) == 20 })
		if top := site.most(); top > 2 {
			t.Errorf("%s: %d at a time, want 2", name, top)
		}
		for _, w := range []*world{a, b} {
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		}
	}
	w := begin(t, setup{client: call.ClientConfig{PerHost: call.HostLimit{Rates: []kernel.Rate{{N: 5, Per: time.Second, Burst: 1}}}}})
	begun := time.Now()
	for range 4 {
		w.start(call.Request{URL: s.URL}, call.Options{})
	}
	for range 4 {
		w.next()
	}
	if took := time.Since(begun); took < 550*time.Millisecond {
		t.Errorf("four requests at five a second took %v, want 600ms", took)
	}
}
