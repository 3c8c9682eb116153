package otlp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/otlp"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// pair is an attribute as the protocol writes it.
type pair struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

// span is one as a collector reads it.
type span struct {
	TraceID, SpanID, ParentSpanID      string
	Name                               string
	Kind                               int
	StartTimeUnixNano, EndTimeUnixNano int64 `json:",string"`
	Attributes                         []pair
	Status                             struct {
		Code    int
		Message string
	}
}

func (s span) get(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

type points struct {
	DataPoints []struct {
		AsDouble   float64
		Attributes []pair
	}
}

type metric struct {
	Name       string
	Sum, Gauge *points
}

// collector is a server that takes traces and metrics, and reads them.
type collector struct {
	*httptest.Server
	busy atomic.Int64  // so many requests are answered 503
	hang chan struct{} // not nil: requests wait until it is closed
	came chan struct{} // such a request has come

	mu      sync.Mutex
	spans   []span
	metrics map[string]metric
	service string
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]metric{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.hang != nil {
			select {
			case c.came <- struct{}{}:
			default:
			}
			<-c.hang
		}
		if c.busy.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Key") != "secret" {
			t.Errorf("header = %v", r.Header)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.take(t, r.URL.Path, body)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(t *testing.T, path string, body []byte) {
	type resource struct{ Attributes []pair }
	var in struct {
		ResourceSpans []struct {
			Resource   resource
			ScopeSpans []struct{ Spans []span }
		}
		ResourceMetrics []struct {
			Resource     resource
			ScopeMetrics []struct{ Metrics []metric }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil || path != "/v1/traces" && path != "/v1/metrics" {
		t.Errorf("%s: %v in %s", path, err, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range in.ResourceSpans {
		c.service = r.Resource.Attributes[0].Value.StringValue
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	for _, r := range in.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				c.metrics[m.Name] = m
			}
		}
	}
}

// run starts an exporter and a kernel that it watches; what it returns ends both, and what was gathered is sent by then.
func run(t *testing.T, c *collector, cfg otlp.Config, handlers map[string]kernel.Handler) (*kernel.Kernel, *otlp.Exporter, func()) {
	t.Helper()
	cfg.Endpoint, cfg.Headers, cfg.Logger = c.URL, map[string]string{"X-Key": "secret"}, slog.New(slog.DiscardHandler)
	e, err := otlp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { _ = e.Run(ctx) })
	k, stop := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{Around: []func(kernel.Handler) kernel.Handler{e.Around}}, handlers)
	end := sync.OnceFunc(func() {
		_ = stop()
		cancel()
		group.Wait()
	})
	t.Cleanup(end)
	return k, e, end
}

func submit(t *testing.T, k *kernel.Kernel, spec kernel.Spec) kernel.Submitted {
	t.Helper()
	one, err := k.Submit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestEachRunIsASpan(t *testing.T) {
	t.Parallel()
	c := collect(t)
	c.busy.Store(1) // a collector that is busy once is asked again
	seen := make(chan string, 9)
	k, e, end := run(t, c, otlp.Config{
		Service: "shop", Linger: 10 * time.Millisecond, Every: 10 * time.Millisecond,
		Metrics: func(context.Context) (string, error) {
			return "# HELP a_total Help.\n# TYPE a_total counter\na_total{of=\"x\\\"y\",to=\"z\"} 3\n# TYPE b gauge\nb 1.5\n", nil
		},
	}, map[string]kernel.Handler{
		"good": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
			seen <- otlp.Traceparent(ctx)
			return kernel.Done(nil), nil
		},
		"again": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
			if r.Attempt() == 1 {
				return kernel.Outcome{}, errors.New("not yet")
			}
			if r.Attempt() == 2 {
				panic("no")
			}
			return kernel.Done(nil), nil
		},
	})
	good := submit(t, k, kernel.Spec{Kind: "good", Trace: parent, Correlation: "order-7"})
	again := submit(t, k, kernel.Spec{Kind: "again", Retry: kernel.Retry{Max: 3, Base: time.Millisecond}})
	kerneltest.Wait(t, k, good.ID, store.Done)
	kerneltest.Wait(t, k, again.ID, store.Done)
	end()
	c.mu.Lock()
	defer c.mu.Unlock()
	of := map[string][]span{}
	for _, s := range c.spans {
		of[s.Name] = append(of[s.Name], s)
		if s.Kind != 5 || s.EndTimeUnixNano < s.StartTimeUnixNano || len(s.SpanID) != 16 || s.get("outlast.queue") != "default" {
			t.Errorf("span = %+v", s)
		}
	}
	if len(of["good"]) != 1 || len(of["again"]) != 3 || c.service != "shop" || e.Dropped() != 0 {
		t.Fatalf("spans = %+v of %q, %d dropped; want 1 and 3", of, c.service, e.Dropped())
	}
	s := of["good"][0]
	if s.TraceID != parent[3:35] || s.ParentSpanID != parent[36:52] || s.Status.Code != 1 || s.get("outlast.task") != good.ID.String() || s.get("outlast.correlation") != "order-7" {
		t.Errorf("span = %+v, want it in the submitter's trace", s)
	}
	if got := <-seen; got != "00-"+s.TraceID+"-"+s.SpanID+"-01" {
		t.Errorf("a run hands on %s, want its own span", got)
	}
	want := []struct{ attempt, outcome, message string }{{"1", "error", "not yet"}, {"2", "error", "the handler panicked"}, {"3", "done", ""}}
	for i, s := range of["again"] {
		if s.TraceID != strings.ReplaceAll(again.ID.String(), "-", "") || s.get("outlast.attempt") != want[i].attempt || s.get("outlast.outcome") != want[i].outcome || s.Status.Message != want[i].message {
			t.Errorf("attempt %d = %+v, want %v in the task's own trace", i+1, s, want[i])
		}
	}
	c.checkMetrics(t)
}

// checkMetrics looks at what was measured. c.mu is held.
func (c *collector) checkMetrics(t *testing.T) {
	t.Helper()
	if m := c.metrics["a_total"]; m.Sum == nil || m.Sum.DataPoints[0].AsDouble != 3 || m.Sum.DataPoints[0].Attributes[0].Value.StringValue != `x"y` {
		t.Errorf("a_total = %+v", m)
	}
	if m := c.metrics["b"]; m.Gauge == nil || m.Gauge.DataPoints[0].AsDouble != 1.5 {
		t.Errorf("b = %+v", m)
	}
	if c.metrics["outlast_otlp_dropped_spans_total"].Sum == nil {
		t.Error("what was dropped is not told")
	}
}

// A collector that hangs costs nobody anything but spans, and those are counted.
func TestWorkDoesNotWaitForTheCollector(t *testing.T) {
	t.Parallel()
	c := collect(t)
	c.hang, c.came = make(chan struct{}), make(chan struct{}, 1)
	k, e, end := run(t, c, otlp.Config{Queue: 4, Linger: time.Millisecond, Client: &http.Client{Timeout: time.Minute}}, map[string]kernel.Handler{
		"k": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done(nil), nil },
	})
	submit(t, k, kernel.Spec{Kind: "k"})
	<-c.came // from here on nothing is taken out of the queue
	for range 50 {
		one := submit(t, k, kernel.Spec{Kind: "k"})
		kerneltest.Wait(t, k, one.ID, store.Done)
	}
	close(c.hang)
	end()
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := map[string]bool{} // one whose answer was lost at the end is sent again, under its id
	for _, s := range c.spans {
		sent[s.SpanID] = true
	}
	if n := int64(len(sent)) + e.Dropped(); n != 51 || e.Dropped() != 46 {
		t.Errorf("%d spans were sent or dropped, %d dropped; want 51, and 46 that had no room", n, e.Dropped())
	}
}

func TestABadTraceparentIsNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		parent: true, parent + "-more": true, "": false, "00": false, strings.ToUpper(parent): false, "ff" + parent[2:]: false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": false, "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": false,
	} {
		if trace, _ := otlp.ParseTraceparent(text); (trace != "") != want {
			t.Errorf("ParseTraceparent(%q) = %q", text, trace)
		}
	}
	for _, endpoint := range []string{"", "localhost:4318", "ftp://x", "http://"} {
		if _, err := otlp.New(otlp.Config{Endpoint: endpoint}); err == nil {
			t.Errorf("the endpoint %q is taken", endpoint)
		}
	}
}
