package call_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
)

// PH-002: each option that cannot work is refused by name.
func TestAnOptionThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]call.ClientConfig{
		"Name":            {Name: "a b"},
		"Queue":           {Queue: "a b"},
		"CallbackQueue":   {CallbackQueue: "ü"},
		"Timeouts":        {Timeouts: call.Timeouts{Total: -2}},
		"Timeouts ":       {Timeouts: call.Timeouts{Connect: math.MaxInt64}},
		"Retry":           {Retry: kernel.Retry{Max: -1}},
		"Retry ":          {Retry: kernel.Retry{Base: -1}},
		"MaxRetryAfter":   {MaxRetryAfter: -1},
		"OnUnknown":       {OnUnknown: "perhaps"},
		"UserAgent":       {UserAgent: "a\r\nb"},
		"MaxResponse":     {MaxResponse: -1},
		"MaxHeader":       {MaxHeader: -1},
		"MaxSpill":        {MaxSpill: -1},
		"Proxy":           {Proxy: "ftp://proxy"},
		"Proxy ":          {Proxy: "http://"},
		"Proxy  ":         {Proxy: "http://user:hidden@%zz"},
		"Proxy   ":        {Proxy: "proxy:3128"},
		"MaxConnsPerHost": {MaxConnsPerHost: -1},
		"MaxDials":        {MaxDials: -1},
		"MaxDialsPerHost": {MaxDialsPerHost: -1},
		"Hosts":           {PerHost: call.HostLimit{Running: -1}},
		"Hosts ":          {Hosts: map[string]call.HostLimit{"h": {Rates: []kernel.Rate{{N: 0, Per: time.Second}}}}},
		"Breaker":         {Breaker: call.Breaker{OpenFor: -1}},
		"Breaker ":        {Breaker: call.Breaker{OpenFor: time.Hour, MaxOpen: time.Minute}},
		"Breaker  ":       {Breaker: call.Breaker{Probes: -1}},
		"Signers":         {Signers: map[string][]string{"s": {"hidden"}}},
		"Signers ":        {Signers: map[string][]string{"s": {}}},
	} {
		_, err := call.NewClient(cfg)
		var e *call.InvalidError
		if !errors.As(err, &e) || e.Field != strings.TrimSpace(field) || !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("%s: NewClient = %v, want an InvalidError of the field", field, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "user:")) {
			t.Errorf("%s: the error repeats a secret: %v", field, err)
		}
	}
}

// PH-003: fractions of a second are fine.
func TestShortTimesAreFine(t *testing.T) {
	t.Parallel()
	if _, err := call.NewClient(call.ClientConfig{Timeouts: call.Timeouts{Connect: 1500 * time.Microsecond, Idle: call.NoTimeout}}); err != nil {
		t.Errorf("NewClient = %v", err)
	}
}

type badInput struct {
	name  string
	field string
	req   call.Request
	opts  call.Options
	is    error
}

func badInputs() []badInput {
	get := func(url string) call.Request { return call.Request{URL: url} }
	header := func(name, value string) call.Request {
		return call.Request{URL: "http://h.test", Header: http.Header{name: {value}}}
	}
	fine := get("http://h.test")
	return []badInput{
		{"no URL", "URL", get(""), call.Options{}, nil},
		{"no scheme", "URL", get("example.com/x"), call.Options{}, nil},
		{"another scheme", "URL", get("ftp://h.test/secret"), call.Options{}, nil},
		{"file", "URL", get("file:///etc/passwd"), call.Options{}, nil},
		{"no host", "URL", get("http:///secret"), call.Options{}, nil},
		{"only a port", "URL", get("http://:80/secret"), call.Options{}, nil},
		{"unreadable", "URL", get("http://h.test/%zzsecret"), call.Options{}, nil},
		{"line break in the URL", "URL", get("http://h.test/\r\nsecret"), call.Options{}, nil},
		{"odd host", "URL", get("http://h<>.test/secret"), call.Options{}, nil},
		{"odd method", "Method", call.Request{Method: "GET /", URL: "http://h.test"}, call.Options{}, nil},
		{"connect", "Method", call.Request{Method: "CONNECT", URL: "http://h.test"}, call.Options{}, nil},
		{"CR in a header", "Header", header("X-A", "secret\rX-B: 1"), call.Options{}, nil},
		{"LF in a header", "Header", header("X-A", "secret\nX-B: 1"), call.Options{}, nil},
		{"NUL in a header", "Header", header("X-A", "secret\x00"), call.Options{}, nil},
		{"a name with a colon", "Header", header("X:A", "secret"), call.Options{}, nil},
		{"an empty name", "Header", header("", "secret"), call.Options{}, nil},
		{"hop by hop", "Header", header("transfer-encoding", "chunked"), call.Options{}, nil},
		{"connection", "Header", header("Connection", "close, X"), call.Options{}, nil},
		{"host", "Header", header("Host", "other.test"), call.Options{}, nil},
		{"length", "Header", header("Content-Length", "7"), call.Options{}, nil},
		{"a huge header", "Header", header("X-A", strings.Repeat("a", 300<<10)), call.Options{}, call.ErrTooLarge},
		{"two bodies", "Body", call.Request{URL: "http://h.test", Body: []byte("a"), JSON: 1}, call.Options{}, nil},
		{"two bodies", "Body", call.Request{URL: "http://h.test", Reader: strings.NewReader("a"), JSON: 1}, call.Options{}, nil},
		{"no JSON", "JSON", call.Request{URL: "http://h.test", JSON: map[string]any{"a": []any{func() {}}}}, call.Options{}, nil},
		{"a broken reader", "Reader", call.Request{URL: "http://h.test", Reader: brokenReader{}}, call.Options{}, errBroken},
		{"a huge body", "Body", call.Request{URL: "http://h.test", Body: make([]byte, 2<<20)}, call.Options{}, call.ErrTooLarge},
		{"an endless body", "Body", call.Request{URL: "http://h.test", Reader: endless{}}, call.Options{}, call.ErrTooLarge},
		{"args", "Args", fine, call.Options{Args: map[string]any{"k": make(chan int)}}, nil},
		{"args", "Args", fine, call.Options{Args: math.NaN()}, nil},
		{"negative timeout", "Timeouts", call.Request{URL: "http://h.test", Timeouts: call.Timeouts{Total: -5}}, call.Options{}, nil},
		{"negative redirects", "MaxRedirects", call.Request{URL: "http://h.test", MaxRedirects: -2}, call.Options{}, nil},
		{"negative bound", "MaxResponse", call.Request{URL: "http://h.test", MaxResponse: -1}, call.Options{}, nil},
		{"odd policy", "OnUnknown", call.Request{URL: "http://h.test", OnUnknown: "x"}, call.Options{}, nil},
		{"no such signer", "Sign", call.Request{URL: "http://h.test", Sign: "x"}, call.Options{}, nil},
		{"negative retries", "Retry", fine, call.Options{Retry: kernel.Retry{Max: -1}}, nil},
		{"negative delay", "Options", fine, call.Options{Delay: -1}, nil},
		{"odd label", "Options", fine, call.Options{Labels: map[string]string{"a b": "c"}}, nil},
	}
}

var errBroken = errors.New("broken reader")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// PH-014, PH-015, PH-016, PH-017, PH-041: what can never be sent is a typed error at Start, and nothing is stored.
func TestWhatCanNeverBeSentIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{idle: true})
	for _, c := range badInputs() {
		h, err := w.call.Start(t.Context(), w.k, c.req, c.opts)
		var e *call.InvalidError
		if h != nil || !errors.As(err, &e) || e.Field != c.field || !errors.Is(err, kernel.ErrInvalid) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: Start = %v, %v; want an InvalidError of %s", c.name, h, err, c.field)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats what may be secret: %v", c.name, err)
		}
	}
	if n := len(kerneltest.Tasks(t, w.k, "call.send")); n != 0 {
		t.Errorf("%d tasks were stored, want none", n)
	}
}

// PH-040, PH-041: the place of what is no JSON is told.
func TestTheErrorTellsWhereArgsAreNoJSON(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{idle: true})
	_, err := w.call.Start(t.Context(), w.k, call.Request{URL: "http://h.test"}, call.Options{Args: map[string]any{"list": []any{1, 2, make(chan int)}}})
	if err == nil || !strings.Contains(err.Error(), "[list][2]") {
		t.Errorf("Start = %v, want the place", err)
	}
}

// PH-047: a callback is checked when it is defined, not when it is due.
func TestACallbackIsCheckedWhenItIsDefined(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, *call.Response) error { return nil }
	bad := func(context.Context, *call.Error) error { return nil }
	client, err := call.NewClient(call.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	cb := call.Callback{OnComplete: ok, OnError: bad}
	call.Define("there", cb, call.Config{Client: client})
	for name, define := range map[string]func(){
		"no name":       func() { call.Define("", cb, call.Config{Client: client}) },
		"odd name":      func() { call.Define("a b", cb, call.Config{Client: client}) },
		"twice":         func() { call.Define("there", cb, call.Config{Client: client}) },
		"no OnComplete": func() { call.Define("x", call.Callback{OnError: bad}, call.Config{Client: client}) },
		"no OnError":    func() { call.Define("x", call.Callback{OnComplete: ok}, call.Config{Client: client}) },
		"bad retry":     func() { call.Define("x", cb, call.Config{Client: client, CallbackRetry: kernel.Retry{Max: -1}}) },
		"bad start-by":  func() { call.Define("x", cb, call.Config{Client: client, StartBy: -1}) },
		"bad base URL": func() {
			call.Define("x", cb, call.Config{Client: client, Template: call.Template{BaseURL: "no scheme"}})
		},
		"bad header": func() {
			call.Define("x", cb, call.Config{Client: client, Template: call.Template{Header: http.Header{"A": {"\n"}}}})
		},
		"bad timeouts": func() {
			call.Define("x", cb, call.Config{Client: client, Template: call.Template{Timeouts: call.Timeouts{TLS: -3}}})
		},
		"served twice": func() { twice(t, client) },
		"bad scheme too": func() {
			call.Define("x", cb, call.Config{Client: client, Template: call.Template{BaseURL: "gopher://h"}})
		},
	} {
		if p := panicOf(define); p == "" || !strings.Contains(p, "call") {
			t.Errorf("%s: panic %q, want one that says so", name, p)
		}
	}
	if _, err := client.Call("elsewhere"); !errors.Is(err, call.ErrUnknownCallback) || !errors.Is(err, kernel.ErrInvalid) {
		t.Errorf("Call of a name that was not defined = %v, want ErrUnknownCallback", err)
	}
}

func twice(t *testing.T, client *call.Client) {
	w := begin(t, setup{idle: true})
	c, _ := client.Call("there")
	c.Serve(w.k)
}

func panicOf(fn func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	fn()
	return ""
}

// PH-030, PH-032: a URL is joined as RFC 3986 says, and headers are merged.
func TestATemplateIsMergedWithEachRequest(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %v%v", r.URL.Path, r.Header["X-A"], r.Header["X-B"])
	})
	for base, cases := range map[string]map[string]string{
		s.URL + "/v1/":  {"users": "/v1/users", "/users": "/users", "../x": "/x", "": "/v1/", s.URL + "/full": "/full", "users?q=1": "/v1/users"},
		s.URL + "/v1":   {"users": "/users"},
		s.URL:           {"users": "/users", "": "/"},
		s.URL + "/a/b?": {"./c": "/a/c"},
	} {
		w := begin(t, setup{config: call.Config{Template: call.Template{
			BaseURL: base, Header: http.Header{"X-A": {"t"}, "X-B": {"t"}}, Timeouts: call.Timeouts{Total: time.Minute},
		}}})
		for ref, path := range cases {
			r := w.answer(call.Request{URL: ref, Header: http.Header{"x-a": {"1", "2"}}}, call.Options{})
			if want := path + " [1 2][t]"; string(r.Body) != want {
				t.Errorf("%s + %s = %s, want %s", base, ref, r.Body, want)
			}
		}
	}
}
