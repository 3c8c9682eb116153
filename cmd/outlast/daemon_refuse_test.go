package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/store"
)

// A daemon sends what is called through it, and the answer is printed as if it had been sent from here.
func TestCallsThroughADaemon(t *testing.T) {
	t.Parallel()
	var late atomic.Bool // the next one under /late is refused
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
		case r.URL.Path == "/late" && late.Swap(false):
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header()["Date"] = nil
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("X-A")+" "+string(body))
	}))
	t.Cleanup(web.Close)
	url := fresh(t)
	b := &both{t, url, serving(t, url, "--no-guard")}
	volatile := regexp.MustCompile(`"duration_seconds":[^,}]+|stored as .*\n|"id":"[^"]*"|show [-0-9a-f]+`)
	for _, args := range [][]string{
		{web.URL + "/a"},
		{web.URL + "/a", "-H", "X-A: b", "-d", "x=1", "-i"},
		{web.URL + "/a", "--json-body", `{"n":1}`, "--json"},
		{web.URL + "/late", "--json", "--retries", "2"},
		{web.URL + "/gone"},
		{web.URL + "/gone", "--fail", "--json"},
		{"http://127.0.0.1:1/", "--retries", "0", "--json"},
		{"http://127.0.0.1:1/", "--retries", "0"},
		{"nowhere"},
	} {
		args = append([]string{"call", "--wait"}, args...)
		late.Store(true)
		direct := volatile.ReplaceAllString(b.say(b.url, args), "")
		late.Store(true)
		if daemon := volatile.ReplaceAllString(b.say(b.address, args), ""); direct != daemon {
			t.Errorf("outlast %s says of the store:\n%s\nand of the daemon:\n%s", strings.Join(args, " "), direct, daemon)
		}
	}
	if text := refused(t, cli.Misuse, "call", "ftp://127.0.0.1/", "--store", b.address); !strings.Contains(text, "use http or https") {
		t.Errorf("a call that cannot be made: %s", text)
	}
	id := strings.TrimSpace(ask(t, "call", web.URL+"/later", "--store", b.address))
	if out := ask(t, "call", "--resume", id, "--store", b.address); out != "GET  " {
		t.Errorf("call --resume = %q", out)
	}
	refused(t, cli.Failed, "call", "--resume", store.DeriveID("none").String(), "--store", b.address)
}

// gate is a daemon with tokens, and what stands beside it.
type gate struct {
	*testing.T
	dir, path, address string
	tokens             *api.Tokens
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{T: t, dir: t.TempDir()}
	g.path = filepath.Join(g.dir, "tokens")
	var err error
	if g.tokens, err = api.OpenTokens(g.path); err != nil {
		t.Fatal(err)
	}
	g.address = serving(t, fresh(t), "--tokens", g.path)
	return g
}

// token makes a file with a token.
func (g *gate) token(one api.Token) string {
	g.Helper()
	text, err := g.tokens.Create(one)
	if err != nil {
		g.Fatal(err)
	}
	return g.file(text[:12], text+"\n")
}

func (g *gate) file(name, text string) string {
	g.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.Fatal(err)
	}
	return path
}

type refusedLine struct {
	code int
	want string
	args []string
}

// check wants that each line is refused in one line that says what to do.
func (g *gate) check(list []refusedLine) {
	g.Helper()
	for _, c := range list {
		if got := refused(g.T, c.code, c.args...); !strings.Contains(got, c.want) || strings.Contains(got, "hidden") {
			g.Errorf("outlast %v = %q, want it to say %q", c.args, got, c.want)
		}
	}
}

// Who may not do it, and who is unknown, is told so.
func TestADaemonAsksForATokenThatAllowsIt(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	read := g.token(api.Token{Scopes: []api.Scope{api.Read}})
	old := g.token(api.Token{Scopes: []api.Scope{api.Admin}, ExpiresAt: time.Now().Add(-time.Hour)})
	submit := g.token(api.Token{Scopes: []api.Scope{api.Submit}})
	elsewhere := g.token(api.Token{Scopes: []api.Scope{api.Admin}, Namespace: "elsewhere"})
	ask(t, "tasks", "--store", g.address, "--token-file", read)
	ask(t, "tasks", "--store", g.address+"/", "--token-file", read, "--namespace", "default")
	ask(t, "doctor", "--store", g.address, "--token-file", read)
	id := store.DeriveID("none").String()
	g.check([]refusedLine{
		{1, "wants a token: set OUTLAST_TOKEN", []string{"tasks", "--store", g.address}},
		{1, "the token has expired", []string{"tasks", "--store", g.address, "--token-file", old}},
		{1, "is not known, or was revoked", []string{"tasks", "--store", g.address, "--token-file", g.file("bad", "olt_none")}},
		{1, "has not got the scope operate", []string{"retry", id, "--store", g.address, "--token-file", read}},
		{1, "has not got the scope read", []string{"tasks", "--store", g.address, "--token-file", submit}},
		{1, "has not got the scope submit", []string{"call", "http://x.example", "--store", g.address, "--token-file", read}},
		{1, "namespace elsewhere, which this daemon does not serve", []string{"tasks", "--store", g.address, "--token-file", elsewhere}},
		{1, "shows the namespace default, not other", []string{"tasks", "--store", g.address, "--token-file", read, "--namespace", "other"}},
		{2, "the token is none", []string{"tasks", "--store", g.address, "--token-file", g.file("odd", "two words")}},
		{1, "there is none in", []string{"tasks", "--store", g.address, "--token-file", g.file("empty", "")}},
		{1, "no such file", []string{"tasks", "--store", g.address, "--token-file", filepath.Join(g.dir, "nothing")}},
		{1, "not found", []string{"show", id, "--store", g.address, "--token-file", read}},
	})
}

// imitate answers as an Outlast daemon of another version does, or as something that is none.
func imitate(t *testing.T, daemon bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !daemon:
			http.NotFound(w, r)
		case r.URL.Path == "/v1/info":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"version":"v0.0.1","engine":"sqlite","namespace":"default","now":"2026-01-01T00:00:00Z"}`)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":"no_path","detail":"there is no such path"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What cannot work with a daemon is told in one line that says what to do.
func TestADaemonThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	older, stranger := imitate(t, true), imitate(t, false)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(secure.Close)
	ca := g.file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	g.check([]refusedLine{
		{1, "no daemon answers at http://127.0.0.1:1: ", []string{"tasks", "--store", "http://127.0.0.1:1"}},
		{1, "of version v0.0.1, does not know this request", []string{"tasks", "--store", older}},
		{1, "is no Outlast daemon", []string{"tasks", "--store", stranger}},
		{1, "--ca names the file", []string{"tasks", "--store", secure.URL}},
		{1, "is no Outlast daemon", []string{"tasks", "--store", secure.URL, "--ca", ca}},
		{1, "has no certificate", []string{"tasks", "--store", secure.URL, "--ca", g.file("none.pem", "")}},
		{1, "write its address with http", []string{"tasks", "--store", strings.Replace(older, "http:", "https:", 1)}},
		{1, "takes no user and password", []string{"tasks", "--store", "http://ann:hidden@127.0.0.1:1"}},
		{1, "written as http://", []string{"tasks", "--store", "http://"}},
		{1, "no options", []string{"tasks", "--store", "http://127.0.0.1:1?a=b"}},
		{2, "works on the store itself", []string{"migrate", "--store", g.address}},
		{2, "works on the store itself", []string{"fsck", "--store", g.address}},
		{2, "works on the store itself", []string{"keys", "rotate", "--store", g.address}},
		{2, "works on the store itself", []string{"batch", "watch", g.dir, "--type", "*.csv=a/b", "--store", g.address}},
		{1, "needs the store itself", []string{"serve", "--store", g.address}},
		{1, "needs the store itself", []string{"demo", "--store", g.address}},
	})
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"doctor", "--json", "--store", "http://127.0.0.1:1"}, &out, &errs); code != cli.Failed || !strings.Contains(out.String(), `"check":"daemon","verdict":"bad"`) {
		t.Errorf("doctor of no daemon = %d: %s%s", code, out.String(), errs.String())
	}
}
