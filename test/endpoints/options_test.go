package endpoints_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// lossy loses the answers of a store while it is told to: what was asked for is done all the same.
type lossy struct {
	store.Store
	losing atomic.Bool
}

var errLost = errors.New("the answer was lost")

func (l *lossy) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	res, err := l.Store.Submit(ctx, req)
	if l.losing.Load() {
		return store.SubmitResult{}, errLost
	}
	return res, err
}

func (l *lossy) Get(ctx context.Context, id store.ID) (store.Task, error) {
	if l.losing.Load() {
		return store.Task{}, errLost
	}
	return l.Store.Get(ctx, id)
}

// A store that does not answer is 503 in time, in doubt where it is; repeated with its key the request is one task, and what lies in a
// blob is still there. X-25, FT-26
func TestARequestInDoubtIsRepeatedWithItsKey(t *testing.T) {
	t.Parallel()
	raws := endpoint.Define("raws", func(_ context.Context, in endpoint.Request[[]byte]) (string, error) { return sum(in.Body), nil })
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			stores, count := blobFolder(t)
			var st *lossy
			p := newPlace(t, setup{
				kernel: kernel.Config{Blobs: stores}, site: endpoint.Site{StoreTimeout: 300 * time.Millisecond},
				wrap: func(inner store.Store) store.Store { st = &lossy{Store: inner}; return st },
			}, e.open(t, store.Timing{}))
			p.mux.Handle("POST /raws", raws.Handler(p.k, endpoint.Config{Site: p.site}))
			known := p.accepted("/raws", "x").Header.Get("Location")
			body := strings.Repeat("x", 200<<10)
			st.losing.Store(true)
			begin := time.Now()
			if a := p.want(p.send("POST", "/raws", body, "Idempotency-Key", "k"), 503, "lost"); a.fail.Code != "in_doubt" || a.Header.Get("Retry-After") == "" {
				t.Errorf("the answer is %s %v, want in_doubt with Retry-After", a.body, a.Header)
			}
			if a := p.want(p.send("GET", known, ""), 503, "lost"); a.fail.Code != "unavailable" || time.Since(begin) > 10*time.Second {
				t.Errorf("after %v the answer is %s, want unavailable in time", time.Since(begin), a.body)
			}
			st.losing.Store(false)
			var a *answer
			p.soon("the store's answer", func() bool { // the kernel tries again in its own time
				a = p.send("POST", "/raws", body, "Idempotency-Key", "k")
				return a.StatusCode == http.StatusAccepted
			})
			if n := len(p.tasks()); n != 2 || count() != 1 {
				t.Errorf("%d tasks and %d blobs are stored, want 2 and 1", n, count())
			}
			p.work(raws.Serve, kernel.Config{Blobs: stores})
			if d := p.ended(a.Header.Get("Location"), endpoint.Completed); string(d.Result) != `"`+sum([]byte(body))+`"` {
				t.Errorf("the result is %s, want that of the body", d.Result)
			}
		})
	}
}

// AE-001: each further setting has its effect.
func TestSettingsHaveTheirEffect(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{
		Base: "https://api.example.org/", MaxWait: 200 * time.Millisecond, RetryAfter: func(endpoint.Document) time.Duration { return 7 * time.Second },
	}}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, Priority: 3, StartBy: 10 * time.Millisecond, Retention: -1}))
		a := p.accepted("/orders", `{}`, "X-Request-Id", "req-1", "Traceparent", "00-1-2-03")
		location := a.Header.Get("Location")
		if a.Header.Get("Operation-Location") != "https://api.example.org"+location || a.Header.Get("Retry-After") != "7" {
			t.Errorf("the headers are %v, want Base and RetryAfter in them", a.Header)
		}
		task := p.tasks()[0]
		if task.Priority != 3 || task.Retention >= 0 || task.Correlation != "req-1" || task.Trace != "00-1-2-03" {
			t.Errorf("the task is %+v, want the settings in it", task.Spec)
		}
		begin := time.Now()
		if p.want(p.send("GET", location+"?wait=30s", "", "If-None-Match", p.send("GET", location, "").Header.Get("ETag")), 304, "MaxWait"); time.Since(begin) > 10*time.Second {
			t.Errorf("a wait took %v, want MaxWait", time.Since(begin))
		}
		p.work(Orders.Serve, kernel.Config{})
		p.soon("StartBy", func() bool { return p.send("GET", location, "").doc.Status == endpoint.Canceled })
		if d := p.send("GET", location, "").doc; d.Error == nil || !strings.Contains(d.Error.Detail, "expired") || !d.ExpiresAt.IsZero() {
			t.Errorf("the status is %+v, want it expired and kept for ever", d)
		}
		never := p.site
		never.MaxWait = -1
		p.mux.Handle("POST /never", Orders.Handler(p.k, endpoint.Config{Site: never}))
		a = p.want(p.send("POST", "/never", `{}`, "Prefer", "respond-async, wait=10"), http.StatusAccepted, "no waiting")
		if a.Header.Get("Preference-Applied") != "respond-async" {
			t.Errorf("Preference-Applied is %q, want no wait in it", a.Header.Get("Preference-Applied"))
		}
	})
}
