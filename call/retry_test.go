package call_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// Statuses that another attempt may mend are tried again, the others are not; the key stays, the attempt counts.
func TestWhatMayBeMendedIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{client: call.ClientConfig{Breaker: call.Breaker{Failures: -1}}})
	for status, again := range map[int]bool{
		408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true, 529: true,
		400: false, 401: false, 403: false, 404: false, 409: false, 410: false, 422: false, 501: false, 505: false,
	} {
		var got seen
		s := server(t, func(w http.ResponseWriter, r *http.Request) {
			if got.add(r) < 3 {
				w.WriteHeader(status)
			}
		})
		r := w.answer(call.Request{Method: "POST", URL: s.URL}, call.Options{})
		want, attempts := status, 1
		if again {
			want, attempts = 200, 3
		}
		if r.Status != want || got.count() != attempts || r.Attempts != attempts-1 {
			t.Errorf("%d: %d after %d requests, %d failed attempts; want %d after %d", status, r.Status, got.count(), r.Attempts, want, attempts)
		}
		for i, req := range got.all() {
			if req.Header.Get("Idempotency-Key") != r.ID.String() || req.Header.Get("Outlast-Attempt") != strconv.Itoa(i+1) || req.Header.Get("X-Request-Id") != r.ID.String() {
				t.Errorf("%d: attempt %d has %v", status, i+1, req.Header)
			}
		}
	}
}

// What is tried in vain for the last time is the answer; (max_retries)
func TestTheLastAnswerIsTheAnswer(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		got.add(r)
		w.WriteHeader(503)
	})
	w := begin(t, setup{client: call.ClientConfig{Retry: kernel.Retry{Max: 4, Base: time.Millisecond}, Breaker: call.Breaker{Failures: -1}}})
	if r := w.answer(call.Request{URL: s.URL}, call.Options{}); r.Status != 503 || got.count() != 4 {
		t.Errorf("%d after %d requests, want 503 after 4", r.Status, got.count())
	}
	if r := w.answer(call.Request{URL: s.URL}, call.Options{Retry: kernel.Retry{Max: 2, Base: time.Millisecond}}); r.Status != 503 || got.count() != 6 {
		t.Errorf("%d after %d more requests, want 2", r.Status, got.count()-4)
	}
	h := w.start(call.Request{URL: "http://127.0.0.1:1"}, call.Options{})
	if e := w.next().e; e == nil || e.Type != call.TypeConnect || e.Attempts != 4 || e.Reason != "attempts" || e.ID != h.ID() {
		t.Errorf("%+v, want connect after 4 attempts", e)
	}
}

// times keeps when requests came.
type times struct {
	mu   sync.Mutex
	list []time.Time
}

func (s *times) add() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, time.Now())
	return len(s.list)
}

func (s *times) gap() time.Duration { return s.list[1].Sub(s.list[0]) }

// Retry-After is honoured in all its forms, and capped; when a spent budget is renewed counts too. (retry_wait)
func TestTheServerSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	soon := func() string { return time.Now().Add(1500 * time.Millisecond).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		status int
		header func() (string, string)
		low    time.Duration // at most half a minute more, on however slow a machine
	}{
		{"seconds", 503, func() (string, string) { return "Retry-After", "1" }, time.Second},
		{"a date", 429, func() (string, string) { return "Retry-After", soon() }, 400 * time.Millisecond},
		{"a duration", 429, func() (string, string) { return "Retry-After", "700ms" }, 700 * time.Millisecond},
		{"capped", 503, func() (string, string) { return "Retry-After", "86400" }, 2 * time.Second},
		{"a budget", 429, func() (string, string) { return "X-RateLimit-Reset", "1" }, time.Second},
		{"a budget's time", 429, func() (string, string) {
			return "X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(2*time.Second).Unix(), 10)
		}, 700 * time.Millisecond},
		{"a budget that is not spent", 503, func() (string, string) { return "X-RateLimit-Reset", "60" }, 0},
		{"the past", 503, func() (string, string) { return "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT" }, 0},
		{"nonsense", 503, func() (string, string) { return "Retry-After", "NaN" }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got times
			s := server(t, func(w http.ResponseWriter, _ *http.Request) {
				if got.add() == 1 {
					name, value := c.header()
					w.Header().Set(name, value)
					w.WriteHeader(c.status)
				}
			})
			w := begin(t, setup{client: call.ClientConfig{MaxRetryAfter: 2 * time.Second}})
			w.answer(call.Request{URL: s.URL}, call.Options{})
			if gap := got.gap(); gap < c.low || gap > c.low+30*time.Second {
				t.Errorf("came back after %v, want %v", gap, c.low)
			}
		})
	}
}

// The hook overrules the rules, for answers and errors; one that panics has said nothing.
func TestTheClassifierOverrulesTheRules(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		n := got.add(r)
		w.Header().Set("X-Try", strconv.Itoa(n))
		if r.URL.Path == "/busy" {
			w.WriteHeader(503)
			return
		}
		if n == 1 {
			w.WriteHeader(404)
		}
	})
	client := call.ClientConfig{Classify: func(r *call.Response, e *call.Error) call.Verdict {
		switch {
		case e != nil:
			return call.Verdict{Final: true}
		case r.Status == 404:
			return call.Verdict{Retry: true, After: 300 * time.Millisecond}
		case r.Status == 503 && got.count() > 3:
			panic("no idea")
		case r.Status == 503:
			return call.Verdict{Final: true}
		}
		return call.Verdict{}
	}}
	w := begin(t, setup{client: client})
	begun := time.Now()
	if r := w.answer(call.Request{URL: s.URL}, call.Options{}); r.Status != 200 || got.count() != 2 || time.Since(begun) < 300*time.Millisecond {
		t.Errorf("404: %d after %d requests and %v, want 200 after 2 and 300ms", r.Status, got.count(), time.Since(begun))
	}
	if r := w.answer(call.Request{URL: s.URL + "/busy"}, call.Options{}); r.Status != 503 || got.count() != 3 {
		t.Errorf("503: %d after %d requests, want one", r.Status, got.count()-2)
	}
	if r := w.answer(call.Request{URL: s.URL + "/busy"}, call.Options{}); r.Status != 503 || got.count() != 6 {
		t.Errorf("a hook that panics: %d after %d requests, want the rules' 3", r.Status, got.count()-3)
	}
	if e := w.failure(call.Request{URL: "http://127.0.0.1:1"}, call.Options{}); e.Attempts != 1 || e.Reason != "permanent" {
		t.Errorf("%+v, want the end after one attempt", e)
	}
}

// Waits of the retry policy have full jitter.
func TestWaitsAreJittered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	first := map[string]time.Time{}
	var gaps []time.Duration
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("X-Request-Id")
		if at, ok := first[id]; ok {
			gaps = append(gaps, time.Since(at))
			return
		}
		first[id] = time.Now()
		w.WriteHeader(503)
	})
	w := begin(t, setup{client: call.ClientConfig{Retry: kernel.Retry{Max: 3, Base: time.Second}, Breaker: call.Breaker{Failures: -1}}})
	const n = 40
	for i := range n {
		w.start(call.Request{URL: fmt.Sprint(s.URL, "/", i)}, call.Options{})
	}
	for range n {
		w.next()
	}
	early := 0
	for _, g := range gaps {
		if g < 500*time.Millisecond {
			early++
		}
		if g > 1500*time.Millisecond {
			t.Errorf("a wait of %v, want at most a second", g)
		}
	}
	if len(gaps) != n || early < n/8 || early > n*7/8 {
		t.Errorf("%d of %d waits are in the lower half, want about half", early, len(gaps))
	}
}

// A POST that may have reached the server is not sent again if nothing tells its repeats apart.
func TestAPostWithoutAKeyIsNotRepeatedBlindly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		req   call.Request
		sends int
	}{
		{"POST with the key", call.Request{Method: "POST"}, 3},
		{"POST without", call.Request{Method: "POST", NoIdempotencyKey: true}, 1},
		{"POST with its own key", call.Request{Method: "POST", NoIdempotencyKey: true, Header: http.Header{"Idempotency-Key": {"own"}}}, 3},
		{"POST without, told to", call.Request{Method: "POST", NoIdempotencyKey: true, OnUnknown: call.RetryUnknown}, 3},
		{"PUT without", call.Request{Method: "PUT", NoIdempotencyKey: true}, 3},
		{"GET, told not to", call.Request{OnUnknown: call.FailUnknown}, 1},
	} {
		var got seen
		s := server(t, func(_ http.ResponseWriter, r *http.Request) {
			got.add(r)
			panic(http.ErrAbortHandler) // hangs up without an answer
		})
		w := begin(t, setup{})
		c.req.URL = s.URL
		c.req.Body = []byte("x")
		e := w.failure(c.req, call.Options{})
		if e.Type != call.TypeLost || !e.MaySent || got.count() != c.sends || !strings.Contains(e.Message, "127.0.0.1") {
			t.Errorf("%s: %v after %d sends, want lost after %d", c.name, e, got.count(), c.sends)
		}
		// What certainly did not reach anybody is tried again all the same.
		c.req.URL = "http://127.0.0.1:1"
		if e := w.failure(c.req, call.Options{}); e.Attempts != 3 || e.MaySent {
			t.Errorf("%s: nobody there: %d attempts, may be sent %v; want 3, and no", c.name, e.Attempts, e.MaySent)
		}
	}
}
