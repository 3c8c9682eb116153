package api_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/internal/schema"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// place is a daemon's API on a kernel that runs.
type place struct {
	*testing.T
	k     *kernel.Kernel
	url   string
	media string // of bodies; empty: JSON
	host  string // sent as the Host; empty: the server's own
	token string
	doc   map[string]any
	log   *safe
	asked map[string]bool // "get /v1/tasks": answered well at least once

	exchanges []exchange
}

// secretText signs callbacks in tests.
const secretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

type setup struct {
	api     api.Config
	kernel  kernel.Config
	store   store.Store
	handles map[string]kernel.Handler
	serve   func(*kernel.Kernel)
	timeout time.Duration // of the server
}

func begin(t *testing.T, s setup) *place {
	t.Helper()
	p := &place{T: t, log: &safe{}, asked: map[string]bool{}}
	if s.store == nil {
		s.store = memory.New(memory.Config{})
	}
	if s.kernel.Slots == nil {
		s.kernel.Slots = map[string]int{"default": 5, "calls": 5, "callbacks": 5}
	}
	var server *api.Server
	var mu sync.Mutex
	s.kernel.Observe = func(e kernel.Event) {
		mu.Lock()
		defer mu.Unlock()
		if server != nil {
			server.Observe("default", e)
		}
	}
	p.k = kerneltest.New(t, s.store, s.kernel)
	for kind, h := range s.handles {
		p.k.Handle(kind, h)
	}
	if s.serve != nil {
		s.serve(p.k)
	}
	calls, err := api.NewCalls(p.k, call.ClientConfig{}, secretText)
	if err != nil {
		t.Fatal(err)
	}
	s.api.Calls, s.api.Logger = calls, slog.New(slog.NewTextHandler(p.log, nil))
	mu.Lock()
	server = api.New(p.k, s.api)
	mu.Unlock()
	kerneltest.Run(t, p.k)
	web := httptest.NewUnstartedServer(server)
	web.Config.ReadTimeout, web.Config.WriteTimeout = s.timeout, s.timeout
	web.Start()
	t.Cleanup(web.Close)
	p.url = web.URL
	if err := json.Unmarshal([]byte(p.send("GET", "/v1/openapi.json", nil).body), &p.doc); err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is a response that was read.
type answer struct {
	*http.Response
	body string
}

// send makes a request; a string is sent as it is, anything else as JSON.
func (p *place) send(method, path string, body any) *answer {
	p.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			p.Fatal(err)
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, r)
	if err != nil {
		p.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", cmp.Or(p.media, "application/json"))
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	req.Host = p.host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return &answer{res, string(text)}
}

// do makes a request, holds its answer against the document and wants a status. It reads the answer into v, if that is not nil.
func (p *place) do(want int, template string, body, v any, path ...any) *answer {
	p.Helper()
	method, pattern, _ := strings.Cut(template, " ")
	pattern, query, _ := strings.Cut(pattern, "?")
	at := pattern
	for _, part := range path {
		begin, end := strings.Index(at, "{"), strings.Index(at, "}")
		at = at[:begin] + fmt.Sprint(part) + at[end+1:]
	}
	if query != "" {
		at += "?" + query
	}
	a := p.send(method, at, body)
	p.check(method, pattern, a)
	p.record(method, pattern, body, a)
	if a.StatusCode != want {
		p.Fatalf("%s = %d %s, want %d", template, a.StatusCode, a.body, want)
	}
	if want < 300 {
		p.asked[strings.ToLower(method)+" "+pattern] = true
	}
	if v != nil {
		if err := json.Unmarshal([]byte(a.body), v); err != nil {
			p.Fatalf("%s = %s: %v", template, a.body, err)
		}
	}
	return a
}

// refused makes a request that is refused, and wants a code.
func (p *place) refused(status int, code, template string, body any, path ...any) {
	p.Helper()
	var problem struct{ Code string }
	a := p.do(status, template, body, &problem, path...)
	if problem.Code != code || a.Header.Get("Content-Type") != "application/problem+json" {
		p.Errorf("%s = %s, want the code %s", template, a.body, code)
	}
}

// check validates a real answer against what the document says of its path, method and status.
func (p *place) check(method, pattern string, a *answer) {
	p.Helper()
	op := schema.At(p.doc, "paths", pattern, strings.ToLower(method))
	res := schema.At(op, "responses", fmt.Sprint(a.StatusCode))
	if res == nil {
		p.Errorf("%s %s: the document does not know %d (%s)", method, pattern, a.StatusCode, a.body)
		return
	}
	content, _ := schema.At(res, "content").(map[string]any)
	if content == nil {
		if a.body != "" {
			p.Errorf("%s %s %d: the document promises no body, and there is %q", method, pattern, a.StatusCode, a.body)
		}
		return
	}
	kind, ok := content[a.Header.Get("Content-Type")]
	if !ok {
		p.Errorf("%s %s %d: the document does not know the type %q", method, pattern, a.StatusCode, a.Header.Get("Content-Type"))
		return
	}
	if !strings.HasSuffix(a.Header.Get("Content-Type"), "json") {
		return
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		p.Errorf("%s %s %d: %v", method, pattern, a.StatusCode, err)
		return
	}
	for _, wrong := range schema.Validate(p.doc, schema.At(kind, "schema"), value) {
		p.Errorf("%s %s %d: %s in %s", method, pattern, a.StatusCode, wrong, a.body)
	}
}

// tokens makes a file of tokens, one per set of scopes.
func tokens(t *testing.T) *api.Tokens {
	t.Helper()
	list, err := api.OpenTokens(filepath.Join(t.TempDir(), "tokens"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type m = map[string]any

// update writes what the checked page should be, instead of comparing it.
var update = flag.Bool("update", false, "write the table of docs/api.md anew")

// The table of the page is the table of the code.
func TestThePageListsEveryRoute(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- What follows is written by the table of routes. -->\n", "\n<!-- End of the table. -->"
	path := filepath.Join("..", "docs", "api.md")
	page := readFile(t, path)
	head, rest, ok := strings.Cut(page, begin)
	_, tail, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	want := head + begin + "\n" + api.Page() + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("%s is not what the table says; go test ./api -run Page -update writes it anew", path)
	}
}

// safe is a log that may be read while it is written.
type safe struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *safe) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
