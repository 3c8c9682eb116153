package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// A body of any kind is a task that the kernel may judge, or a problem of 4xx.
func FuzzDecode(f *testing.F) {
	f.Add(`{"kind":"mail","args":{"a":1},"delay":"5m","retry":{"max":3,"base":2},"onEnd":{"kind":"x"}}`)
	f.Add(`{"kind":"mail","argsBase64":"AAEC","id":"x"}`)
	f.Add(`{"kidn":"mail"}`)
	f.Add(`{"delay":1e300}{"x":1}`)
	f.Add(`{"onEnd":{"onEnd":{"onEnd":` + strings.Repeat(`{"onEnd":`, 11000))
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/tasks", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		q := &request{Context: t.Context(), r: r}
		var n NewTask
		if err := q.decode(&n); err != nil {
			var p *endpoint.Problem
			if !errors.As(err, &p) || p.Status < 400 || p.Status > 499 || len(p.Detail) > 2000 && len(p.Detail) > 2*len(body) {
				t.Errorf("decode(%q) = %v; want a problem of 4xx", body, err)
			}
			return
		}
		spec, err := n.spec()
		if err != nil {
			if !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("spec(%q) = %v; want ErrInvalid", body, err)
			}
			return
		}
		if plain, coded := shown(spec.Args); len(plain)+len(coded) != len(spec.Args) {
			t.Errorf("%q is shown as %q and %q", spec.Args, plain, coded)
		}
	})
}

// A span that is read is written so that it reads the same; a fence likewise.
func FuzzWords(f *testing.F) {
	f.Add(`"1h30m"`, "7.0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c")
	f.Add(`1e9`, "-1.")
	f.Add(`-1e9`, "9999999999999999999999.x")
	f.Add(`"9223372036854775807ns"`, "1")
	f.Fuzz(func(t *testing.T, span, fence string) {
		var s, again Span
		if s.UnmarshalJSON([]byte(span)) == nil {
			data, err := json.Marshal(s)
			if err != nil || again.UnmarshalJSON(data) != nil || again != s {
				t.Errorf("%s reads as %v, and then as %v", span, time.Duration(s), time.Duration(again))
			}
		}
		id, err := kernel.ParseID("0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c")
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseFence(id, fence)
		if err != nil {
			if !errors.Is(err, kernel.ErrInvalid) || len(fence) > 8 && strings.Contains(err.Error(), fence) {
				t.Errorf("parseFence(%q) = %v; want ErrInvalid without it", fence, err)
			}
			return
		}
		if back, err := parseFence(id, fenceText(got)); err != nil || back != got {
			t.Errorf("parseFence(%q) = %v, %v; want %v", fenceText(got), back, err, got)
		}
	})
}

// Who comes back with an id of events gets what came after it, in order, or is told that some were missed; no id gets more than there is.
func FuzzLastEventID(f *testing.F) {
	b := newBoard()
	b.run = "abcdefgh"
	for range 3 * boardSize {
		b.post("space", kernel.Event{})
	}
	for _, id := range []string{"", "abcdefgh-3", "abcdefgh-9000", "abcdefgh--1", "abcdefgh-9223372036854775807", "other-5", "-"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		n, missed := b.from(id)
		list, next, _, gone := b.after(n)
		switch {
		case len(list) > 2*boardSize || next != 3*boardSize:
			t.Errorf("%q gets %d events, up to %d", id, len(list), next)
		case id != "" && !missed && !gone && n <= next && int64(len(list)) != next-n:
			t.Errorf("%q gets %d events after %d, of %d, and is not told that it missed any", id, len(list), n, next)
		case id != "" && !strings.HasPrefix(id, "abcdefgh-") && !missed:
			t.Errorf("%q is of another process, and is told that it missed nothing", id)
		}
	})
}

// A file of tokens lets nobody in but who has one of them; one that cannot be read lets nobody in.
func FuzzTokens(f *testing.F) {
	path := filepath.Join(f.TempDir(), "tokens")
	made, err := OpenTokens(path)
	if err != nil {
		f.Fatal(err)
	}
	good, err := made.Create(Token{Scopes: []Scope{Scopes()[0]}})
	if err != nil {
		f.Fatal(err)
	}
	line, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", good+"x")
	f.Add(`{"id":"a","hash":""}`, "olt_a_")
	f.Add(`{"id":"","hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`, "olt__")
	f.Add("x", "olt_")
	f.Add(`{"id":"a"}`+"\n"+`{"id":"a","revoked":true}`, "")
	f.Fuzz(func(t *testing.T, lines, text string) {
		at := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(at, append([]byte(lines+"\n"), line...), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := OpenTokens(at)
		if err != nil {
			return
		}
		_, secret, _ := strings.Cut(strings.TrimPrefix(text, tokenMark), "_")
		if _, err := tokens.Check(text); err == nil && text != good && !strings.Contains(lines, hashOf(secret)) {
			t.Errorf("%q lets %q in", lines, text)
		}
		if _, err := tokens.Check(good); err != nil && !strings.Contains(lines, "id") {
			t.Errorf("after %q the good token is refused: %v", lines, err)
		}
	})
}

// The wait that an endpoint asks for is never negative, and never longer than an hour.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"3", "-1", "9223372036854775807", "18446744074", "Sun, 06 Nov 2094 08:49:37 GMT", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := retryAfter(&call.Response{Header: http.Header{"Retry-After": {text}}})
		if d < 0 || d > maxRetryAfter || text == "9223372036854775807" && d != maxRetryAfter {
			t.Errorf("Retry-After: %s = %v", text, d)
		}
	})
}
