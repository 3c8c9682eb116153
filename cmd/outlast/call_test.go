//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/store"
)

// echo is a server that says what it was asked; it fails as often as told, and holds on to a request until it is let go.
type echo struct {
	*httptest.Server
	fails atomic.Int64
	asked atomic.Int64
	came  chan struct{} // one for each request to /hold
	hold  chan struct{} // closed: requests to /hold are answered
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{came: make(chan struct{}, 100), hold: make(chan struct{})}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.asked.Add(1)
		if r.URL.Path == "/hold" {
			e.came <- struct{}{}
			select {
			case <-e.hold:
			case <-r.Context().Done():
				return
			}
		}
		if e.fails.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"method":%q,"body":%q,"type":%q,"auth":%q}`, r.Method, body, r.Header.Get("Content-Type"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(e.Close)
	return e
}

func TestCallsAreMade(t *testing.T) {
	t.Parallel()
	e, url := newEcho(t), fresh(t)
	at := func(args ...string) []string { return append([]string{"call", "--store", url}, args...) }
	if out := ask(t, at("--wait", e.URL)...); out != `{"method":"GET","body":"","type":"","auth":""}` {
		t.Errorf("call = %q", out)
	}
	out := ask(t, at("--wait", "-XPUT", "-H", "Authorization: Bearer t", "--json-body", `{"n":1}`, e.URL)...)
	if out != `{"method":"PUT","body":"{\"n\":1}","type":"application/json","auth":"Bearer t"}` {
		t.Errorf("call = %q", out)
	}
	if out := ask(t, at("-w", "-d", "a=b", e.URL)...); !strings.Contains(out, `"method":"POST","body":"a=b"`) {
		t.Errorf("call = %q", out)
	}
	if out := ask(t, at("-w", "-i", e.URL)...); !strings.HasPrefix(out, "HTTP/1.1 200 OK\n") || !strings.Contains(out, "Content-Type: application/json\n") {
		t.Errorf("call = %q", out)
	}
	e.fails.Store(1) // the first attempt; the second one is answered
	got := lines[struct {
		Status, Attempts int
		Body             struct{ Method string }
	}](t, ask(t, at("-w", "--json", e.URL)...))
	if len(got) != 1 || got[0].Status != 200 || got[0].Attempts != 2 || got[0].Body.Method != "GET" {
		t.Errorf("call --json = %+v", got)
	}
	e.fails.Store(0)
	var errs, body strings.Builder
	if code := run(t.Context(), at("-w", e.URL+"/gone"), &body, &errs); code != cli.Failed || !strings.Contains(errs.String(), "the answer is 410 Gone") || !strings.Contains(body.String(), "GET") {
		t.Errorf("call of what is gone = %d, %q, %q", code, body.String(), errs.String())
	}
	for _, c := range [][]string{
		{},
		{"example.com"},
		{"https://example.com", "-H", "geheim"},
		{"https://example.com", "--json-body", "{"},
		{"https://example.com", "-d", "a", "--json-body", "{}"},
		{"https://example.com", "--resume", store.DeriveID("x").String()},
		{"ftp://example.com"},
		{"--resume", "none"},
	} {
		if text := refused(t, cli.Misuse, at(c...)...); strings.Contains(text, "geheim") {
			t.Errorf("a header is told: %s", text)
		}
	}
	refused(t, cli.Failed, at("--resume", store.DeriveID("x").String())...)
}

// A call whose process is killed while the server thinks is found by show, and goes on by --resume, on each engine.
func TestACallOutlastsItsProcess(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			cmd := program(t, "call", "--store", url, "--wait", "-d", "order", e.URL+"/hold")
			errs, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(errs).ReadString('\n')
			id, ok := strings.CutPrefix(strings.TrimSpace(line), "stored as ")
			if err != nil || !ok {
				t.Fatalf("it says %q, %v", line, err)
			}
			<-e.came
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			close(e.hold)
			if got := lines[taskView](t, ask(t, "show", "--store", url, "--json", id)); got[0].State != store.Running {
				t.Errorf("after the kill it is %+v", got[0])
			}
			var answer struct {
				Status, Crashes int
				Body            struct{ Body string }
			}
			if err := json.Unmarshal([]byte(ask(t, "call", "--store", url, "--resume", id, "--json")), &answer); err != nil || answer.Status != 200 || answer.Body.Body != "order" {
				t.Errorf("resumed: %+v, %v", answer, err)
			}
			if out := ask(t, "show", "--store", url, id); !strings.Contains(out, "done") || !strings.Contains(out, "crashed") && !strings.Contains(out, "recovered") {
				t.Errorf("show does not tell of the crash:\n%s", out)
			}
			if again := ask(t, "call", "--store", url, "--resume", id); !strings.Contains(again, "order") || e.asked.Load() != 2 {
				t.Errorf("resumed again = %q after %d requests, want the same answer and 2", again, e.asked.Load())
			}
		})
	}
}
