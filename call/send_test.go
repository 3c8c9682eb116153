package call_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// echo answers with what it got.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Method", r.Method)
	w.Header().Set("X-Query", r.URL.RawQuery)
	w.Header().Set("X-Path", r.URL.Path)
	w.Header().Add("X-Many", "a")
	w.Header().Add("X-Many", "b")
	_, _ = w.Write(body)
}

// PH-010, PH-013, PH-034, PH-141, R001-2: any method, with or without a body, comes back to OnComplete.
func TestAnyMethodIsSentWithItsBody(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{})
	for _, method := range []string{"", "GET", "post", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"} {
		body := "body of " + method
		r := w.answer(call.Request{Method: method, URL: s.URL + "/p?x=1", Body: []byte(body)}, call.Options{})
		want := strings.ToUpper(method)
		if want == "" {
			want = "GET"
		}
		if r.Status != 200 || r.Header.Get("X-Method") != want || string(r.Body) != body || r.Method != want || r.URL != s.URL+"/p?x=1" {
			t.Errorf("%s: %d %q %q %s %s", method, r.Status, r.Header.Get("X-Method"), r.Body, r.Method, r.URL)
		}
		if r.Duration <= 0 || r.Proto != "HTTP/1.1" || r.Size != int64(len(body)) || len(r.Header["X-Many"]) != 2 {
			t.Errorf("%s: duration %v, proto %s, size %d, header %v", method, r.Duration, r.Proto, r.Size, r.Header["X-Many"])
		}
	}
	if r := w.answer(call.Request{Method: "HEAD", URL: s.URL}, call.Options{}); r.Status != 200 || len(r.Body) != 0 {
		t.Errorf("HEAD: %d %q", r.Status, r.Body)
	}
}

// PH-034: the verbs.
func TestTheVerbsStartRequests(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{})
	ctx := t.Context()
	value := map[string]any{"a": 1, "n": []string{"x", "ü"}}
	for method, start := range map[string]func() (*call.Handle, error){
		"GET":    func() (*call.Handle, error) { return w.call.Get(ctx, w.k, s.URL, call.Options{}) },
		"DELETE": func() (*call.Handle, error) { return w.call.Delete(ctx, w.k, s.URL, call.Options{}) },
		"POST":   func() (*call.Handle, error) { return w.call.Post(ctx, w.k, s.URL, value, call.Options{}) },
		"PUT":    func() (*call.Handle, error) { return w.call.Put(ctx, w.k, s.URL, value, call.Options{}) },
		"PATCH":  func() (*call.Handle, error) { return w.call.Patch(ctx, w.k, s.URL, value, call.Options{}) },
	} {
		h, err := start()
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		r, err := h.Wait(ctx)
		if err != nil || r.Header.Get("X-Method") != method {
			t.Errorf("%s: Wait = %+v, %v", method, r, err)
		}
		if got := w.next(); got.r == nil || got.r.ID != h.ID() {
			t.Errorf("%s: callback %+v", method, got)
		}
		if err := h.WaitCallback(ctx); err != nil {
			t.Errorf("%s: WaitCallback = %v", method, err)
		}
		// PH-035: a value of several levels is sent as JSON.
		if want := `{"a":1,"n":["x","ü"]}`; method != "GET" && method != "DELETE" && string(r.Body) != want {
			t.Errorf("%s: sent %s, want %s", method, r.Body, want)
		}
	}
}

// PH-018: JSON says that it is JSON, unless the request says otherwise.
func TestJSONBringsItsContentType(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("Content-Type")) })
	w := begin(t, setup{})
	if r := w.answer(call.Request{Method: "POST", URL: s.URL, JSON: 1}, call.Options{}); string(r.Body) != "application/json; charset=utf-8" {
		t.Errorf("Content-Type = %s", r.Body)
	}
	own := http.Header{"content-type": {"application/vnd.own+json"}}
	if r := w.answer(call.Request{Method: "POST", URL: s.URL, JSON: 1, Header: own}, call.Options{}); string(r.Body) != "application/vnd.own+json" {
		t.Errorf("Content-Type = %s, want the request's own", r.Body)
	}
}

// PH-055, PH-064: bodies are bytes, both ways; what looks like a frame of our own is not one.
func TestBodiesAreBinarySafe(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{})
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, body := range [][]byte{all, {0}, []byte("\n"), []byte("{}\n{}"), bytes.Repeat([]byte{0xff, '\n'}, 100_000), nil} {
		for _, req := range []call.Request{
			{Method: "POST", URL: s.URL, Body: body},
			{Method: "POST", URL: s.URL, Reader: bytes.NewReader(body)},
		} {
			if r := w.answer(req, call.Options{}); !bytes.Equal(r.Body, body) {
				t.Errorf("sent %d bytes, got %d back", len(body), len(r.Body))
			}
		}
	}
}

// PH-012, PH-031: a query is added to what the URL has, and escaped.
func TestAQueryIsAddedToTheURLs(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{config: call.Config{Template: call.Template{Query: url.Values{"t": {"1"}, "o": {"template"}}}}})
	r := w.answer(call.Request{URL: s.URL + "?x=1", Query: url.Values{"o": {"own", "two"}, "q": {"a b&c=d/ü"}}}, call.Options{})
	if got, want := r.Header.Get("X-Query"), "x=1&o=own&o=two&q=a+b%26c%3Dd%2F%C3%BC&t=1"; got != want {
		t.Errorf("query = %s, want %s", got, want)
	}
	if r := w.answer(call.Request{URL: s.URL}, call.Options{}); r.Header.Get("X-Query") != "o=template&t=1" {
		t.Errorf("query = %s, want the template's", r.Header.Get("X-Query"))
	}
}

// PH-111: what every request carries, and that the request's own header wins. R001-2
func TestARequestSaysWhoItIs(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(_ http.ResponseWriter, r *http.Request) { got.add(r) })
	w := begin(t, setup{client: call.ClientConfig{UserAgent: "own/1"}})
	a := w.answer(call.Request{Method: "POST", URL: s.URL}, call.Options{})
	w.answer(call.Request{URL: s.URL, Header: http.Header{"User-Agent": {"mine"}, "X-Request-Id": {"rid"}, "Idempotency-Key": {"key"}}}, call.Options{})
	w.answer(call.Request{Method: "POST", URL: s.URL, NoIdempotencyKey: true}, call.Options{})
	w.answer(call.Request{URL: s.URL}, call.Options{})
	for i, want := range []map[string]string{
		{"User-Agent": "own/1", "X-Request-Id": a.ID.String(), "Idempotency-Key": a.ID.String(), "Outlast-Attempt": "1"},
		{"User-Agent": "mine", "X-Request-Id": "rid", "Idempotency-Key": "key", "Outlast-Attempt": "1"},
		{"Idempotency-Key": ""},
		{"Idempotency-Key": ""},
	} {
		for name, value := range want {
			if h := got.all()[i].Header; h.Get(name) != value {
				t.Errorf("request %d: %s = %q, want %q", i, name, h.Get(name), value)
			}
		}
	}
}

// PH-103, PH-050: an answer is a completion whatever its status.
func TestEveryAnswerIsACompletion(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.WriteHeader(status)
	})
	w := begin(t, setup{client: call.ClientConfig{Breaker: call.Breaker{Failures: -1}}})
	for _, status := range []int{200, 204, 299, 300, 304, 399, 400, 404, 410, 499, 500, 503, 599} {
		r := w.answer(call.Request{URL: fmt.Sprintf("%s/%d", s.URL, status)}, call.Options{})
		ok, redirect, client, fault := r.OK(), r.IsRedirect(), r.IsClientError(), r.IsServerError()
		class := status / 100
		if r.Status != status || ok != (class == 2) || redirect != (class == 3) || client != (class == 4) || fault != (class == 5) || r.IsError() != (class >= 4) {
			t.Errorf("%d: got %d, %v %v %v %v %v", status, r.Status, ok, redirect, client, fault, r.IsError())
		}
	}
	for _, status := range []int{199, 600} {
		r := &call.Response{Status: status}
		if r.OK() || r.IsRedirect() || r.IsClientError() || r.IsServerError() || r.IsError() {
			t.Errorf("%d is in a class", status)
		}
	}
}

// PH-105: FailOnStatus makes all but 2xx an error that carries the answer.
func TestFailOnStatusMakesAnAnswerAnError(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.WriteHeader(status)
		fmt.Fprint(w, "why")
	})
	for name, w := range map[string]*world{
		"config":  begin(t, setup{config: call.Config{FailOnStatus: true}}),
		"options": begin(t, setup{}),
	} {
		o := call.Options{FailOnStatus: name == "options", Args: "arg"}
		for _, status := range []int{304, 404, 422, 503} {
			e := w.failure(call.Request{URL: fmt.Sprintf("%s/%d", s.URL, status)}, o)
			if e.Type != call.TypeHTTP || e.Response == nil || e.Response.Status != status || !e.MaySent || string(e.Args) != `"arg"` {
				t.Errorf("%s: %d: %+v", name, status, e)
			}
			if status != 304 && string(e.Response.Body) != "why" {
				t.Errorf("%s: %d: body %q", name, status, e.Response.Body)
			}
		}
		if r := w.answer(call.Request{URL: s.URL + "/201"}, o); r.Status != 201 {
			t.Errorf("%s: status %d", name, r.Status)
		}
		h := w.start(call.Request{URL: s.URL + "/404"}, o)
		_, err := h.Wait(t.Context())
		var e *call.Error
		if !errors.As(err, &e) || e.Type != call.TypeHTTP || e.Response.Status != 404 {
			t.Errorf("%s: Wait = %v, want an *Error with the answer", name, err)
		}
	}
}

// PH-102, R001-9: slow requests wait side by side.
func TestSlowRequestsWaitSideBySide(t *testing.T) {
	t.Parallel()
	const n = 200
	release := make(chan struct{})
	var got seen
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		got.add(r)
		<-release
	})
	w := begin(t, setup{kernel: kernel.Config{Slots: map[string]int{"calls": n, "callbacks": 20}}})
	for range n {
		w.start(call.Request{URL: s.URL}, call.Options{})
	}
	until(t, "all wait in flight", func() bool { return got.count() == n })
	if s := w.client.Stats(w.k); s.InFlight != n || s.Capacity != n || s.Use() != 1 {
		t.Errorf("in flight %d of %d, use %v; want all", s.InFlight, s.Capacity, s.Use())
	}
	close(release)
	for range n {
		if w.next().r == nil {
			t.Error("a request failed")
		}
	}
}

// PH-101: over capacity a request waits in the store, and is sent when another has ended. It is no error.
func TestWhatIsOverCapacityWaits(t *testing.T) {
	t.Parallel()
	var got seen
	release := make(chan struct{})
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		got.add(r)
		<-release
	})
	w := begin(t, setup{kernel: kernel.Config{Slots: map[string]int{"calls": 2, "callbacks": 2}}})
	for range 5 {
		w.start(call.Request{URL: s.URL}, call.Options{})
	}
	until(t, "two are in flight", func() bool { return got.count() == 2 })
	w.quiet(50 * time.Millisecond)
	if n := got.count(); n != 2 {
		t.Errorf("%d are in flight, want 2", n)
	}
	close(release)
	for range 5 {
		w.next()
	}
}

// PH-042, PH-043, PH-044: args are read with their type.
func TestArgsAreReadWithTheirType(t *testing.T) {
	t.Parallel()
	type args struct {
		User int
		Tags []string
	}
	s := server(t, echo)
	w := begin(t, setup{})
	r := w.answer(call.Request{URL: s.URL}, call.Options{Args: args{7, []string{"a"}}})
	if got, err := call.ArgsOf[args](r); err != nil || got.User != 7 || len(got.Tags) != 1 {
		t.Errorf("ArgsOf = %+v, %v", got, err)
	}
	if _, err := call.ArgsOf[[]int](r); err == nil {
		t.Error("ArgsOf of another type = nil, want an error")
	}
	e := w.failure(call.Request{URL: "http://127.0.0.1:1"}, call.Options{Args: args{User: 8}, Retry: kernel.Retry{Max: 1}})
	if got, err := call.ArgsOf[args](e); err != nil || got.User != 8 {
		t.Errorf("ArgsOf(error) = %+v, %v", got, err)
	}
	if got, err := call.ArgsOf[args](w.answer(call.Request{URL: s.URL}, call.Options{})); err != nil || got.User != 0 {
		t.Errorf("ArgsOf without any = %+v, %v; want the zero value", got, err)
	}
}

// PH-051: JSON is read if the answer says that it is some.
func TestJSONIsReadIfItIsSome(t *testing.T) {
	t.Parallel()
	for media, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/Problem+JSON": true, "text/json": true,
		"text/html": false, "": false, "application/jsonp": false, "text/x+json": false,
	} {
		r := &call.Response{Header: http.Header{"Content-Type": {media}}, Body: []byte(`{"a":1}`)}
		var v struct{ A int }
		err := r.JSON(t.Context(), &v)
		if r.IsJSON() != want || want && (err != nil || v.A != 1) || !want && !errors.Is(err, call.ErrNotJSON) {
			t.Errorf("%q: IsJSON %v, JSON = %+v, %v", media, r.IsJSON(), v, err)
		}
	}
	r := &call.Response{Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{`)}
	if err := r.JSON(context.Background(), new(any)); err == nil || errors.Is(err, call.ErrNotJSON) {
		t.Errorf("JSON of a broken body = %v, want what the decoder says", err)
	}
}

// Many are started in a few calls of the store; one that cannot be does not stop the others.
func TestManyAreStartedAtOnce(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{})
	items := make([]call.Item, 1201)
	for i := range items {
		items[i] = call.Item{Request: call.Request{URL: s.URL}, Options: call.Options{Args: i}}
	}
	items[700].Request.URL = "no scheme"
	items[800].Options.Key, items[801].Options.Key = "k", "k"
	items[801].Options.Delay = time.Hour
	all, err := w.call.StartMany(t.Context(), w.k, items)
	if !errors.Is(err, kernel.ErrInvalid) || !strings.Contains(err.Error(), "1 of 1201") || !strings.Contains(err.Error(), "item 700") {
		t.Errorf("StartMany = %v, want that item 700 was not started", err)
	}
	for i, a := range all {
		if (a.Err != nil) != (i == 700) || (a.Handle == nil) != (i == 700) {
			t.Errorf("item %d: %+v", i, a)
		}
	}
	if !all[801].Handle.Existed() || all[801].Handle.ID() != all[800].Handle.ID() {
		t.Error("the key did not keep the second item out")
	}
	got := map[int]bool{}
	for range 1199 {
		args, err := call.ArgsOf[int](w.next().r)
		if err != nil || got[args] {
			t.Errorf("args %d twice, %v", args, err)
		}
		got[args] = true
	}
}
