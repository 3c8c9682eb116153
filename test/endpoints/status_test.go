package endpoints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// gate is an endpoint whose runs wait until they are let through, and heed their context.
type gate struct {
	*endpoint.Endpoint[Order, Order]
	open    chan struct{}
	entered chan string
	linger  atomic.Bool // one whose context has ended stays until leave says so
	leave   chan struct{}
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), entered: make(chan string, 1000), leave: make(chan struct{})}
	g.Endpoint = endpoint.Define("gate", func(ctx context.Context, in endpoint.Request[Order]) (Order, error) {
		run := endpoint.From(ctx)
		run.Progress(1, 2, "at the gate")
		g.entered <- run.Key()
		select {
		case <-g.open:
			return in.Body, nil
		case <-ctx.Done():
			if g.linger.Load() {
				<-g.leave
			}
			return in.Body, context.Cause(ctx)
		}
	})
	return g
}

// arrive waits for a run at the gate.
func (g *gate) arrive(p *place) {
	p.Helper()
	select {
	case <-g.entered:
	case <-time.After(30 * time.Second):
		p.Fatal("no run has come to the gate")
	}
}

func TestAStatusThatHasNotChangedIs304(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/orders", `{}`).Header.Get("Location")
		a := p.want(p.send("GET", location, ""), 200, "GET")
		etag := a.Header.Get("ETag")
		if etag == "" || a.Header.Get("Retry-After") == "" {
			t.Fatalf("the headers are %v, want ETag and Retry-After", a.Header)
		}
		for _, known := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			if a := p.want(p.send("GET", location, "", "If-None-Match", known), 304, known); a.body != "" || a.Header.Get("ETag") != etag {
				t.Errorf("304 has a body %q or another ETag %v", a.body, a.Header)
			}
		}
		if a := p.want(p.send("HEAD", location, ""), 200, "HEAD"); a.body != "" || a.Header.Get("ETag") != etag {
			t.Errorf("HEAD: body %q, %v", a.body, a.Header)
		}
		p.work(Orders.Serve, kernel.Config{})
		p.ended(location, endpoint.Completed)
		a = p.want(p.send("GET", location, "", "If-None-Match", etag), 200, "after a change")
		if a.Header.Get("ETag") == etag || a.Header.Get("Retry-After") != "" {
			t.Errorf("the headers are %v, want another ETag and no Retry-After", a.Header)
		}
	})
}

func TestALongPollIsWokenByTheChange(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/gate", `{}`).Header.Get("Location")
		begin := time.Now()
		if a := p.want(p.send("GET", location+"?wait=1", ""), 200, "nothing happens"); a.doc.Status != endpoint.Queued || time.Since(begin) < time.Second {
			t.Errorf("after %v it is %s, want Queued after a second", time.Since(begin), a.doc.Status)
		}
		etag := p.send("GET", location, "").Header.Get("ETag")
		p.want(p.send("GET", location+"?wait=100ms", "", "If-None-Match", etag), 304, "nothing happens")
		p.want(p.send("GET", location, "", "Prefer", "wait=1", "If-None-Match", etag), 304, "nothing happens")
		changed := make(chan *answer, 1)
		beside(p, func() { changed <- p.send("GET", location+"?wait=30s", "", "If-None-Match", etag) })
		pause(50 * time.Millisecond)
		p.work(g.Serve, kernel.Config{})
		if a := p.want(<-changed, 200, "a change"); a.doc.Status != endpoint.InProgress {
			t.Errorf("it is %s, want InProgress", a.doc.Status)
		}
		ended := make(chan *answer, 1)
		beside(p, func() { ended <- p.send("GET", location+"?wait=30s", "") })
		pause(50 * time.Millisecond)
		begin = time.Now()
		close(g.open)
		if a := p.want(<-ended, 200, "the end"); a.doc.Status != endpoint.Completed || time.Since(begin) > 20*time.Second {
			t.Errorf("after %v it is %s, want Completed at once", time.Since(begin), a.doc.Status)
		}
		for _, bad := range []string{"soon", "-1", "-5s"} {
			if a := p.send("GET", location+"?wait="+bad, ""); a.StatusCode != 400 || a.fail.Code != "bad_wait" {
				t.Errorf("wait=%s: the answer is %d %s, want 400 bad_wait", bad, a.StatusCode, a.body)
			}
		}
	})
}

// beside runs fn beside the test, which waits for it.
func beside(p *place, fn func()) {
	var group sync.WaitGroup
	group.Go(fn)
	p.Cleanup(group.Wait)
}

// AE-030, AE-028: results of every type come as they are; none and null are told apart.
func TestAResultComesWithItsOwnTypeAndStatus(t *testing.T) {
	made := endpoint.Define("made", func(_ context.Context, in endpoint.Request[Order]) (endpoint.Response, error) {
		switch in.Body.Item {
		case "csv":
			return endpoint.Response{Type: "text/csv", Body: []byte("a,b\n")}, nil
		case "json":
			return endpoint.Response{Status: 201, Type: "application/json", Location: "/things/1", Body: []byte(`{"id":1}`)}, nil
		}
		return endpoint.Response{Status: 99}, nil
	})
	null := endpoint.Define("null", func(context.Context, endpoint.Request[Order]) (*Order, error) { return nil, nil })
	none := endpoint.Define("none", func(context.Context, endpoint.Request[Order]) (endpoint.None, error) { return endpoint.None{}, nil })
	bytes := endpoint.Define("bytes", func(context.Context, endpoint.Request[Order]) ([]byte, error) { return []byte{0, '\n', 255}, nil })
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		for name, h := range map[string]http.Handler{
			"made": made.Handler(p.k, endpoint.Config{Site: p.site}), "null": null.Handler(p.k, endpoint.Config{Site: p.site}),
			"none": none.Handler(p.k, endpoint.Config{Site: p.site}), "bytes": bytes.Handler(p.k, endpoint.Config{Site: p.site}),
		} {
			p.mux.Handle("POST /"+name, h)
		}
		p.work(func(k *kernel.Kernel) { made.Serve(k); null.Serve(k); none.Serve(k); bytes.Serve(k) }, kernel.Config{})
		for _, c := range []struct {
			path, item             string
			status                 int
			kind, body, doc, other string
		}{
			{"/made", "csv", 200, "text/csv", "a,b\n", "", "text/csv"},
			{"/made", "json", 201, "application/json", `{"id":1}`, `{"id":1}`, ""},
			{"/null", "", 200, "application/json", "null", "null", ""},
			{"/none", "", 204, "", "", "", ""},
			{"/bytes", "", 200, "application/octet-stream", "\x00\n\xff", "", "application/octet-stream"},
		} {
			a := p.accepted(c.path, `{"item":"`+c.item+`"}`)
			location := a.Header.Get("Location")
			d := p.ended(location, endpoint.Completed)
			if string(d.Result) != c.doc || d.ResultType != c.other {
				t.Errorf("%s %s: the status has result %q of type %q, want %q, %q", c.path, c.item, d.Result, d.ResultType, c.doc, c.other)
			}
			r := p.want(p.send("GET", location+"/result", ""), c.status, c.path)
			if r.body != c.body || r.Header.Get("Content-Type") != c.kind {
				t.Errorf("%s %s: the result is %q of type %q, want %q, %q", c.path, c.item, r.body, r.Header.Get("Content-Type"), c.body, c.kind)
			}
		}
		bad := p.accepted("/made", `{}`)
		if d := p.ended(bad.Header.Get("Location"), endpoint.Failed); d.Error.Code != "encode" {
			t.Errorf("a result that cannot be is %+v, want an error of type encode", d.Error)
		}
	})
}

func TestWhoAsksIsRedirectedToTheResult(t *testing.T) {
	g := newGate()
	close(g.open)
	made := endpoint.Define("made", func(context.Context, endpoint.Request[Order]) (endpoint.Response, error) {
		return endpoint.Response{Location: "/things/1", Body: []byte("x")}, nil
	})
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /made", made.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/gate", `{}`).Header.Get("Location")
		p.want(p.send("GET", location+"?redirect=1", ""), 200, "not ended")
		if a := p.want(p.send("GET", location+"/result", ""), 409, "not ended"); a.fail.Code != "not_finished" || a.Header.Get("Retry-After") == "" {
			t.Errorf("the answer is %s %v, want not_finished with Retry-After", a.body, a.Header)
		}
		p.work(func(k *kernel.Kernel) { g.Serve(k); made.Serve(k) }, kernel.Config{})
		if a := p.want(p.send("GET", location+"?redirect=1&wait=20s", ""), 303, "ended"); a.Header.Get("Location") != location+"/result" {
			t.Errorf("Location is %q, want the result", a.Header.Get("Location"))
		}
		p.want(p.send("GET", location+"/result?wait=5s", ""), 200, "ended")
		location = p.accepted("/made", `{}`).Header.Get("Location")
		p.ended(location, endpoint.Completed)
		for _, path := range []string{"?redirect", "/result?redirect"} {
			if a := p.want(p.send("GET", location+path, ""), 303, path); a.Header.Get("Location") != "/things/1" {
				t.Errorf("Location is %q, want what was made", a.Header.Get("Location"))
			}
		}
	})
}

// AE-108: cancel from each state.
func TestCancelFromEachState(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		fails := endpoint.Define("fails", func(context.Context, endpoint.Request[Order]) (endpoint.None, error) {
			return endpoint.None{}, fmt.Errorf("not yet")
		})
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /fails", fails.Handler(p.k, endpoint.Config{Site: p.site, RetryBase: time.Hour}))
		queued := p.accepted("/gate", `{}`).Header.Get("Location")
		if a := p.want(p.send("POST", queued+":cancel", ""), 200, "queued"); a.doc.Status != endpoint.Canceled || a.doc.Code != 600 {
			t.Errorf("it is %s, want Canceled", a.body)
		}
		p.want(p.send("POST", queued+":cancel", ""), 200, "canceled already")
		p.want(p.send("GET", queued+"/result", ""), 409, "the result of what was canceled")
		p.work(func(k *kernel.Kernel) { g.Serve(k); fails.Serve(k) }, kernel.Config{})

		scheduled := p.accepted("/fails", `{}`).Header.Get("Location")
		p.soon("a retry", func() bool { return p.send("GET", scheduled, "").doc.Status == endpoint.Scheduled })
		if d := p.send("GET", scheduled, "").doc; d.NextAttemptAt.IsZero() || d.Attempt != 2 || d.Error == nil || d.Error.Detail != "not yet" {
			t.Errorf("the scheduled task is %+v, want its next attempt and the error of the last", d)
		}
		p.want(p.send("DELETE", scheduled, ""), 200, "scheduled")

		g.linger.Store(true)
		running := p.accepted("/gate", `{}`).Header.Get("Location")
		g.arrive(p)
		a := p.want(p.send("GET", running, ""), 200, "running")
		p.want(p.send("POST", running+":cancel", "", "If-Match", `"other"`), 412, "another version")
		a = p.want(p.send("POST", running+"/cancel", "", "If-Match", a.Header.Get("ETag")), 202, "running")
		if !a.doc.CancelRequested || a.doc.Status != endpoint.InProgress {
			t.Errorf("it is %s, want it asked to end", a.body)
		}
		close(g.leave)
		p.ended(running, endpoint.Canceled)

		close(g.open)
		done := p.accepted("/gate", `{}`).Header.Get("Location")
		p.ended(done, endpoint.Completed)
		if a := p.want(p.send("POST", done+":cancel", ""), 409, "completed"); a.fail.Code != "ended" {
			t.Errorf("the answer is %s, want ended", a.body)
		}
		p.want(p.send("DELETE", done, ""), 204, "completed")
		p.want(p.send("GET", done, ""), 410, "deleted")
		p.want(p.send("DELETE", done, ""), 410, "deleted")
	})
}

// AE-104, AE-109: unknown is 404, gone is 410.
func TestUnknownIs404AndGoneIs410(t *testing.T) {
	timing := store.Timing{Horizon: time.Millisecond}
	everywhere(t, setup{timing: timing, site: endpoint.Site{Principal: byHeader}}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, Retention: 10 * time.Millisecond}))
		location := p.accepted("/orders", `{}`, "X-Who", "ann").Header.Get("Location")
		p.work(Orders.Serve, kernel.Config{PruneEvery: 20 * time.Millisecond})
		p.soon("the end of its retention", func() bool { return p.send("GET", location, "", "X-Who", "ann").StatusCode == http.StatusGone })
		for _, path := range []string{"", "/result", "/events", "?wait=1s"} {
			if a := p.send("GET", location+path, "", "X-Who", "ann"); a.StatusCode != 410 || a.fail.Code != "gone" {
				t.Errorf("%s: the answer is %d %s, want 410 gone", path, a.StatusCode, a.body)
			}
			p.want(p.send("GET", location+path, "", "X-Who", "bob"), 404, "another principal's, gone")
		}
		p.want(p.send("POST", location+":cancel", "", "X-Who", "ann"), 410, "cancel")
		for _, path := range []string{"/tasks/0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c", "/tasks/x", "/tasks/" + p.k.NewID().String(), location + "/unknown"} {
			if a := p.send("GET", path, "", "X-Who", "ann"); a.StatusCode != 404 || a.fail.Code != "not_found" {
				t.Errorf("%s: the answer is %d %s, want 404", path, a.StatusCode, a.body)
			}
		}
		if a := p.want(p.send("PATCH", location, ""), 405, "PATCH"); a.Header.Get("Allow") != "GET, HEAD, DELETE" {
			t.Errorf("Allow is %q", a.Header.Get("Allow"))
		}
	})
}

// Other principals' tasks are not found, on every route.
func TestAnotherPrincipalsTasksAreNotFound(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{Principal: byHeader}}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/orders", `{}`, "X-Who", "ann").Header.Get("Location")
		odd := strings.Repeat("x", 2000)
		mine := p.accepted("/orders", `{}`, "X-Who", odd).Header.Get("Location")
		p.want(p.send("GET", mine, "", "X-Who", odd), 200, "a long name")
		for _, c := range [][2]string{
			{"GET", ""}, {"HEAD", ""}, {"GET", "/result"}, {"GET", "/events"}, {"GET", "?wait=10s"}, {"DELETE", ""}, {"POST", ":cancel"}, {"POST", "/cancel"},
		} {
			for _, who := range []string{"bob", "", odd} {
				p.want(p.send(c[0], location+c[1], "", "X-Who", who), 404, c[0]+" "+c[1])
			}
			p.want(p.send(c[0], location+c[1], "", "X-Who", "nobody"), 401, c[0]+" "+c[1])
		}
		p.want(p.send("POST", "/orders", `{}`, "X-Who", "nobody"), 401, "POST")
		for who, want := range map[string]int{"ann": 1, "bob": 0, odd: 1} {
			var list endpoint.List
			if err := json.Unmarshal([]byte(p.want(p.send("GET", "/tasks", "", "X-Who", who), 200, "list").body), &list); err != nil || len(list.Items) != want {
				t.Errorf("%.10s sees %d tasks (%v), want %d", who, len(list.Items), err, want)
			}
		}
		if d := p.send("GET", location, "", "X-Who", "ann").doc; d.Status != endpoint.Queued {
			t.Errorf("after all that it is %s, want Queued", d.Status)
		}
		other, err := p.k.Submit(t.Context(), kernel.Spec{Kind: "job.secret"})
		if err != nil {
			t.Fatal(err)
		}
		p.want(p.send("GET", "/tasks/"+other.ID.String(), ""), 404, "a task of another face")
	})
}

func TestTheListIsFilteredAndPaged(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		var want []string
		for range 5 {
			want = append([]string{p.accepted("/orders", `{}`).doc.ID}, want...)
		}
		gated := p.accepted("/gate", `{}`).doc.ID
		p.want(p.send("POST", "/tasks/"+want[0]+":cancel", ""), 200, "cancel")
		list := func(path string) (ids []string, next string) {
			var l endpoint.List
			a := p.want(p.send("GET", path, ""), 200, path)
			if err := json.Unmarshal([]byte(a.body), &l); err != nil {
				t.Fatal(err)
			}
			for _, d := range l.Items {
				ids = append(ids, d.ID)
			}
			return ids, l.Next
		}
		var got []string
		pages := 0
		for next := "/tasks?name=orders&limit=2"; next != ""; pages++ {
			var ids []string
			ids, next = list(next)
			got = append(got, ids...)
		}
		if pages != 3 || !reflect.DeepEqual(got, want) {
			t.Errorf("%d pages with %v, want 3 with %v", pages, got, want)
		}
		for query, want := range map[string][]string{
			"status=Canceled": want[:1], "status=600": want[:1], "status=Queued,Canceled&name=gate": {gated}, "status=Failed": nil,
			"after=2999-01-01T00:00:00Z": nil, "before=2000-01-01T00:00:00Z": nil,
		} {
			if got, _ := list("/tasks?" + query); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		for _, query := range []string{"status=Odd", "limit=0", "limit=x", "after=x"} {
			if a := p.send("GET", "/tasks?"+query, ""); a.StatusCode != 400 || a.fail.Code != "bad_filter" {
				t.Errorf("%s: the answer is %d %s, want 400 bad_filter", query, a.StatusCode, a.body)
			}
		}
	})
}

// AE-007: the answers to submit, status and error can be replaced. AE-008: a submit that fails is a problem and a line in the log.
func TestAnswersCanBeReplacedAndFailuresAreLogged(t *testing.T) {
	site := endpoint.Site{
		Path: "/jobs",
		Accepted: func(w http.ResponseWriter, _ *http.Request, d endpoint.Document) {
			w.WriteHeader(299)
			fmt.Fprint(w, "took ", d.Name)
		},
		Shown: func(w http.ResponseWriter, _ *http.Request, d endpoint.Document) { fmt.Fprint(w, "is ", d.Status) },
		Refused: func(w http.ResponseWriter, _ *http.Request, p *endpoint.Problem) {
			w.WriteHeader(p.Status)
			fmt.Fprint(w, "no: ", p.Code)
		},
	}
	everywhere(t, setup{site: site}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("/jobs/", http.StripPrefix("/jobs", endpoint.Status(p.k, p.site))) // as routers do that cut prefixes off
		a := p.want(p.send("POST", "/orders", `{}`), 299, "submit")
		if a.body != "took orders" || !strings.HasPrefix(a.Header.Get("Location"), "/jobs/") {
			t.Errorf("the answer is %q %v", a.body, a.Header)
		}
		if a := p.want(p.send("GET", a.Header.Get("Location"), ""), 200, "status"); a.body != "is Queued" {
			t.Errorf("the answer is %q", a.body)
		}
		if a := p.want(p.send("POST", "/orders", ``), 400, "error"); a.body != "no: no_body" {
			t.Errorf("the answer is %q", a.body)
		}
		location := a.Header.Get("Location")
		p.k.Close()
		if a := p.want(p.send("POST", "/orders", `{}`), 503, "a store that is closed"); a.body != "no: unavailable" || a.Header.Get("Retry-After") == "" {
			t.Errorf("the answer is %q %v", a.body, a.Header)
		}
		p.want(p.send("GET", location, ""), 503, "a store that is closed")
		for _, line := range []string{"submit not accepted", "status not read"} {
			if !strings.Contains(p.log.String(), line) {
				t.Errorf("the log does not say %q", line)
			}
		}
	})
}

// A handler may stand behind any router: what it needs it takes from the request.
func TestAnyRouterWillDo(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		accept := Orders.Handler(p.k, endpoint.Config{Site: p.site, Params: []string{"shop"}})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.SetPathValue("shop", "7")
			accept.ServeHTTP(w, r)
		}))
		defer srv.Close()
		p.want(p.send("POST", srv.URL+"/any/where", `{}`), 202, "POST")
		if args := string(p.tasks()[0].Args); !strings.Contains(args, `"params":{"shop":"7"}`) {
			t.Errorf("the stored request is %s, want its path value", args)
		}
	})
}
