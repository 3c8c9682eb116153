package call_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// PH-170, PH-171, PH-172, PH-173, PH-090, R001-4: state, capacity, totals, errors by type, statuses, mean duration; reset.
func TestStatisticsOfAProcess(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		status := 0
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.WriteHeader(status)
	})
	idle := begin(t, setup{idle: true})
	if st := idle.client.Stats(idle.k); st.State != kernel.Idle || st.Requests != 0 || st.Mean() != 0 || st.Capacity != 100 || st.Use() != 0 {
		t.Errorf("before anything: %+v", st)
	}
	w := begin(t, setup{client: call.ClientConfig{Retry: kernel.Retry{Max: 1}}})
	for _, status := range []int{200, 200, 404, 503} {
		w.answer(call.Request{URL: fmt.Sprintf("%s/%d", s.URL, status)}, call.Options{})
	}
	w.failure(call.Request{URL: "http://127.0.0.1:1"}, call.Options{})
	st := w.client.Stats(w.k)
	if st.State != kernel.Running || st.Requests != 5 || st.Errors != 1 || st.InFlight != 0 || st.Capacity != 100 {
		t.Errorf("%+v", st)
	}
	if st.Statuses[200] != 2 || st.Statuses[404] != 1 || st.Statuses[503] != 1 || len(st.Statuses) != 3 || st.Types[call.TypeConnect] != 1 || len(st.Types) != 1 {
		t.Errorf("statuses %v, types %v", st.Statuses, st.Types)
	}
	if st.Mean() <= 0 || st.Mean() != st.Duration/5 {
		t.Errorf("mean %v of %v", st.Mean(), st.Duration)
	}
	w.client.ResetStats()
	if st := w.client.Stats(nil); st.Requests != 0 || len(st.Statuses) != 0 || st.Duration != 0 || st.State != "" {
		t.Errorf("after a reset: %+v", st)
	}
}

// PH-112: observers see what happens; one that panics harms nobody.
func TestObserversAreToldAndContained(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Outlast-Attempt") == "1" && r.URL.Path == "/again" {
			w.WriteHeader(503)
		}
	})
	var mu sync.Mutex
	var events []string
	w := begin(t, setup{client: call.ClientConfig{Observers: []func(call.Event){
		func(call.Event) { panic("an observer's own fault") },
		func(e call.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf("%s %s %d %d%s", e.Kind, e.Method, e.Attempt, e.Status, e.Type))
			if e.Host == "" || strings.Contains(e.Host, "/") || e.Kind != call.RequestStarted && e.Duration <= 0 {
				t.Errorf("%+v", e)
			}
		},
	}}})
	w.answer(call.Request{Method: "PUT", URL: s.URL + "/again"}, call.Options{})
	w.failure(call.Request{URL: "http://127.0.0.1:1"}, once)
	mu.Lock()
	defer mu.Unlock()
	want := "started PUT 1 0, answered PUT 1 503, started PUT 2 0, answered PUT 2 200, started GET 1 0, failed GET 1 0connect"
	if got := strings.Join(events, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A handle knows its own, waits no longer than its context, and tells how a request stands.
func TestAHandleKnowsItsOwn(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{idle: true})
	h := w.start(call.Request{URL: "http://h.test:81/x?token=hidden"}, call.Options{
		Delay: time.Hour, Labels: map[string]string{"a": "b"}, Correlation: "c", Priority: 3, Key: "k",
	})
	st, err := h.Status(t.Context())
	if err != nil || st.State != "scheduled" || st.MaxAttempts != 3 || st.Host != "h.test:81" || st.CreatedAt.IsZero() || !st.EndedAt.IsZero() {
		t.Errorf("Status = %+v, %v", st, err)
	}
	task, err := w.k.Get(t.Context(), h.ID())
	if err != nil || task.Labels["a"] != "b" || task.Correlation != "c" || task.Priority != 3 || task.Lane != "h.test:81" || task.OnEnd.Correlation != "c" {
		t.Errorf("stored as %+v, %v", task.Spec, err)
	}
	if again := w.start(call.Request{URL: "http://other.test"}, call.Options{Key: "k"}); !again.Existed() || again.ID() != h.ID() {
		t.Error("the key did not keep a second request out")
	}
	if same := w.start(call.Request{URL: "http://other.test"}, call.Options{ID: h.ID()}); !same.Existed() {
		t.Error("the same id was stored twice")
	}
	ctx, cancel := contextWithin(t, 20*time.Millisecond)
	defer cancel()
	if _, err := h.Wait(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("Wait = %v, want the context's end", err)
	}
	other, err := w.k.Submit(t.Context(), kernel.Spec{Kind: "job.other"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []kernel.ID{other.ID, {7}} {
		foreign := w.call.Handle(w.k, id)
		if _, err := foreign.Status(t.Context()); !isNotFound(err) {
			t.Errorf("Status = %v, want ErrNotFound", err)
		}
		if err := foreign.Cancel(t.Context(), ""); !isNotFound(err) {
			t.Errorf("Cancel = %v, want ErrNotFound", err)
		}
	}
}
