package call_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

// FT-03: a request may have reached the server when its process died: by its policy it is sent again under the same key, or ends
// as unknown; never in silence.
func TestARequestWhoseProcessDiedInFlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		req     call.Request
		unknown bool
	}{
		{"POST with the key", call.Request{Method: "POST"}, false},
		{"POST without", call.Request{Method: "POST", NoIdempotencyKey: true}, true},
		{"POST without, told to", call.Request{Method: "POST", NoIdempotencyKey: true, OnUnknown: call.RetryUnknown}, false},
		{"DELETE without", call.Request{Method: "DELETE", NoIdempotencyKey: true}, false},
		{"PATCH without", call.Request{Method: "PATCH", NoIdempotencyKey: true}, true},
		{"GET, told not to", call.Request{OnUnknown: call.FailUnknown}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got seen
			s := server(t, func(_ http.ResponseWriter, r *http.Request) {
				if got.add(r) == 1 {
					<-r.Context().Done() // the first never hears anything
				}
			})
			st := memory.New(memory.Config{})
			victim := st.Process()
			w := begin(t, setup{store: victim, kernel: kernel.Config{ShutdownTimeout: -1}})
			c.req.URL = s.URL
			h := w.start(c.req, call.Options{})
			until(t, "it is in flight", func() bool { return got.count() == 1 })
			victim.Crash()
			w2 := begin(t, setup{store: st})
			told := w2.next()
			if c.unknown {
				if told.e == nil || told.e.Type != call.TypeUnknown || !told.e.MaySent || told.e.Crashes != 1 || told.e.ID != h.ID() || got.count() != 1 {
					t.Errorf("%+v after %d sends, want unknown after one", told.e, got.count())
				}
				return
			}
			if told.r == nil || told.r.Status != 200 || got.count() != 2 || told.r.Attempts != 0 || told.r.Crashes != 1 {
				t.Fatalf("%+v after %d sends, want the answer after two; no attempt spent", told, got.count())
			}
			first, second := got.all()[0].Header, got.all()[1].Header
			for _, name := range []string{"Idempotency-Key", "X-Request-Id", "Outlast-Attempt"} {
				if first.Get(name) != second.Get(name) {
					t.Errorf("%s was %q, then %q", name, first.Get(name), second.Get(name))
				}
			}
		})
	}
}

// What was not sent yet is not unknown: a request that waited for its turn is sent, however many processes died before.
func TestARequestThatWasNotSentIsNotUnknown(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { got.add(r) })
	st := memory.New(memory.Config{})
	idle := begin(t, setup{store: st, idle: true})
	h := idle.start(call.Request{Method: "POST", URL: s.URL, NoIdempotencyKey: true}, call.Options{})
	dieWith(t, st, h.ID())
	w := begin(t, setup{store: st})
	if r := w.next().r; r == nil || r.Crashes != 1 || got.count() != 1 {
		t.Errorf("%+v after %d sends, want it sent once", r, got.count())
	}
}

// A request of unknown fate that an operator retries is sent again; a failed attempt before is no unknown one.
func TestAnUnknownRequestCanBeRetriedByHand(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch got.add(r) {
		case 1:
			w.WriteHeader(503) // an answer: known
		case 2:
			<-r.Context().Done()
		}
	})
	st := memory.New(memory.Config{})
	victim := st.Process()
	w := begin(t, setup{store: victim, kernel: kernel.Config{ShutdownTimeout: -1}})
	h := w.start(call.Request{Method: "POST", URL: s.URL, NoIdempotencyKey: true}, call.Options{})
	until(t, "the second attempt is in flight", func() bool { return got.count() == 2 })
	victim.Crash()
	w2 := begin(t, setup{store: st})
	if e := w2.next().e; e == nil || e.Type != call.TypeUnknown || e.Attempts != 2 {
		t.Errorf("%+v, want unknown", e)
	}
	if err := w2.k.Retry(t.Context(), h.ID()); err != nil {
		t.Fatal(err)
	}
	if r := w2.next().r; r == nil || got.count() != 3 {
		t.Errorf("%+v after %d sends, want the answer to the third", r, got.count())
	}
}

// A drain gives back what is in flight: for a request that must not be sent twice that is unknown too.
func TestADrainInFlightIsUnknownToo(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		if got.add(r) == 1 {
			<-r.Context().Done()
		}
	})
	w := begin(t, setup{kernel: kernel.Config{ShutdownTimeout: 50 * time.Millisecond}})
	w.start(call.Request{Method: "POST", URL: s.URL, OnUnknown: call.FailUnknown}, call.Options{})
	until(t, "it is in flight", func() bool { return got.count() == 1 })
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w2 := begin(t, setup{store: w.st})
	if e := w2.next().e; e == nil || e.Type != call.TypeUnknown || e.Crashes != 0 || got.count() != 1 {
		t.Errorf("%+v after %d sends, want unknown after one", e, got.count())
	}
}
