package call_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

func verifier(t *testing.T, cfg call.VerifierConfig) *call.Verifier {
	t.Helper()
	v, err := call.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A signed request passes a receiver with the old secret and one with the new; each attempt is signed anew under the same id.
func TestASignedRequestIsVerified(t *testing.T) {
	t.Parallel()
	var got seen
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"a":1}` || call.MessageID(r.Context()) != r.Header.Get("X-Request-Id") {
			t.Errorf("body %s, id %s", body, call.MessageID(r.Context()))
		}
		if got.add(r)%2 == 1 {
			w.WriteHeader(503)
		}
	})
	for name, secret := range map[string]string{"old": oldSecret, "new": newSecret} {
		s := server(t, verifier(t, call.VerifierConfig{Secrets: []string{secret}}).Handler(inner).ServeHTTP)
		for _, config := range []kernel.Config{{}, newShelf(t).kernel(3)} {
			w := begin(t, setup{kernel: config, client: call.ClientConfig{
				Signers: map[string][]string{"partner": {newSecret, oldSecret}},
				Retry:   kernel.Retry{Max: 3, Base: 1100 * time.Millisecond, Exact: true},
			}})
			if r := w.answer(call.Request{Method: "POST", URL: s.URL, JSON: map[string]int{"a": 1}, Sign: "partner"}, call.Options{}); r.Status != 200 {
				t.Errorf("%s secret: %d, want it to pass", name, r.Status)
			}
		}
	}
	reqs := got.all()
	if len(reqs) != 8 {
		t.Fatalf("%d requests passed, want 8", len(reqs))
	}
	first, second := reqs[0].Header, reqs[1].Header
	if first.Get("Webhook-Id") != second.Get("Webhook-Id") || first.Get("Webhook-Timestamp") == second.Get("Webhook-Timestamp") ||
		first.Get("Webhook-Signature") == second.Get("Webhook-Signature") || len(strings.Fields(first.Get("Webhook-Signature"))) != 2 {
		t.Errorf("signed as %v and %v", first, second)
	}
}

// What is not signed, signed by others, old or a copy does not pass.
func TestTheVerifierRefuses(t *testing.T) {
	t.Parallel()
	var last *http.Request
	var body []byte
	capture := server(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		last = r
	})
	w := begin(t, setup{client: call.ClientConfig{Signers: map[string][]string{"s": {oldSecret}}}})
	w.answer(call.Request{Method: "POST", URL: capture.URL, Body: []byte("message"), Sign: "s"}, call.Options{})
	now := time.Now()
	v := verifier(t, call.VerifierConfig{Secrets: []string{oldSecret}, MaxBody: 100, Now: func() time.Time { return now }})
	passed := 0
	s := server(t, v.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ })).ServeHTTP)
	post := func(body string, change func(http.Header)) int {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = last.Header.Clone()
		change(r.Header)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	same := func(http.Header) {}
	if got := post(string(body)+"x", same); got != 401 {
		t.Errorf("another body: %d", got)
	}
	if got := post(string(body), func(h http.Header) { h.Del("Webhook-Signature") }); got != 401 {
		t.Errorf("no signature: %d", got)
	}
	if got := post(strings.Repeat("x", 101), same); got != 413 {
		t.Errorf("too large: %d", got)
	}
	now = now.Add(6 * time.Minute)
	if got := post(string(body), same); got != 401 {
		t.Errorf("too old: %d", got)
	}
	now = now.Add(-6 * time.Minute)
	if got := post(string(body), same); got != 200 || passed != 1 {
		t.Errorf("as it was sent: %d", got)
	}
	if got := post(string(body), same); got != 401 || passed != 1 {
		t.Errorf("a copy: %d, want it refused", got)
	}
	for _, cfg := range []call.VerifierConfig{{}, {Secrets: []string{"x"}}, {Secrets: []string{oldSecret}, Window: -1}} {
		if _, err := call.NewVerifier(cfg); err == nil {
			t.Errorf("NewVerifier(%+v) = nil, want an error", cfg)
		}
	}
}

// A process that does not have the secret does not send the request unsigned.
func TestARequestIsNotSentUnsigned(t *testing.T) {
	t.Parallel()
	s := server(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	idle := begin(t, setup{idle: true, client: call.ClientConfig{Signers: map[string][]string{"s": {oldSecret}}}})
	idle.start(call.Request{URL: s.URL, Sign: "s"}, call.Options{})
	w := begin(t, setup{store: idle.st})
	if e := w.next().e; e == nil || e.Type != call.TypeInvalid || e.MaySent {
		t.Errorf("%+v, want invalid", e)
	}
}
