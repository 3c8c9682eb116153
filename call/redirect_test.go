package call_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/call"
)

// chain redirects as its path says, /STATUS/TARGET, and answers everything else with what it got.
func chain(w http.ResponseWriter, r *http.Request) {
	status := 0
	rest := ""
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/%s", &status, &rest); err == nil {
		w.Header().Set("Location", "/"+rest)
		w.WriteHeader(status)
		return
	}
	echo(w, r)
}

// PH-070, PH-074, PH-075, PH-077, PH-080: which redirects are followed, and what of the request goes along.
func TestRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	s := server(t, chain)
	w := begin(t, setup{})
	for _, c := range []struct {
		status       int
		method, then string
	}{
		{301, "POST", "GET"},
		{302, "POST", "GET"},
		{303, "PUT", "GET"},
		{302, "GET", "GET"},
		{307, "POST", "POST"},
		{308, "PATCH", "PATCH"},
		{303, "HEAD", "HEAD"},
	} {
		url := fmt.Sprintf("%s/%d/end", s.URL, c.status)
		r := w.answer(call.Request{Method: c.method, URL: url, Body: []byte("body"), Header: http.Header{"Content-Type": {"text/x"}}}, call.Options{Args: 7})
		body := ""
		if c.then == c.method && c.method != "HEAD" && c.status != 302 {
			body = "body"
		}
		if r.Header.Get("X-Method") != c.then || string(r.Body) != body || r.URL != s.URL+"/end" || len(r.Redirects) != 1 || r.Redirects[0] != url {
			t.Errorf("%d of %s: %s %q at %s after %v; want %s", c.status, c.method, r.Header.Get("X-Method"), r.Body, r.URL, r.Redirects, c.then)
		}
		if string(r.Args) != "7" || r.Method != c.method {
			t.Errorf("%d of %s: args %s, method %s", c.status, c.method, r.Args, r.Method)
		}
	}
}

// PH-071, PH-072, PH-073, PH-020: what is not followed is an ordinary answer.
func TestSomeRedirectsAreAnswers(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		status := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		if r.URL.Query().Has("to") {
			w.Header().Set("Location", r.URL.Query().Get("to"))
		}
		w.WriteHeader(status)
	})
	w := begin(t, setup{})
	for _, path := range []string{"/300?to=/x", "/304?to=/x", "/305?to=/x", "/302", "/302?to="} {
		if r := w.answer(call.Request{URL: s.URL + path}, call.Options{}); !r.IsRedirect() || len(r.Redirects) != 0 {
			t.Errorf("%s: %d after %v, want the answer itself", path, r.Status, r.Redirects)
		}
	}
	if r := w.answer(call.Request{URL: s.URL + "/302?to=/200", MaxRedirects: call.NoRedirects}, call.Options{}); r.Status != 302 {
		t.Errorf("NoRedirects: %d, want 302", r.Status)
	}
	none := begin(t, setup{client: call.ClientConfig{MaxRedirects: call.NoRedirects}})
	if r := none.answer(call.Request{URL: s.URL + "/302?to=/200"}, call.Options{}); r.Status != 302 {
		t.Errorf("NoRedirects of the client: %d, want 302", r.Status)
	}
	if r := none.answer(call.Request{URL: s.URL + "/302?to=/200", MaxRedirects: 1}, call.Options{}); r.Status != 200 {
		t.Errorf("a request that follows one: %d, want 200", r.Status)
	}
}

// PH-076: targets are resolved against the URL that named them.
func TestTargetsAreResolved(t *testing.T) {
	t.Parallel()
	other := server(t, echo)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(302)
			return
		}
		echo(w, r)
	})
	w := begin(t, setup{})
	for to, want := range map[string]string{
		"rel": s.URL + "/a/rel", "/abs": s.URL + "/abs", "rel?x=1": s.URL + "/a/rel?x=1", "?y=1": s.URL + "/a/b?y=1",
		other.URL + "/full": other.URL + "/full", "//" + strings.TrimPrefix(other.URL, "http://") + "/n": other.URL + "/n", "/f#frag": s.URL + "/f",
	} {
		q := call.Request{URL: s.URL + "/a/b", Query: map[string][]string{"to": {to}}}
		if r := w.answer(q, call.Options{}); r.URL != want {
			t.Errorf("%s leads to %s, want %s", to, r.URL, want)
		}
	}
}

// PH-078, PH-079: too many, a circle, and where none may lead.
func TestRedirectsThatLeadNowhereAreErrors(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch _, err := fmt.Sscanf(r.URL.Path, "/n/%d", &n); {
		case err == nil && n > 0:
			w.Header().Set("Location", fmt.Sprintf("/n/%d", n-1))
		case r.URL.Path == "/self":
			w.Header().Set("Location", "/self")
		case r.URL.Path == "/a":
			w.Header().Set("Location", "/b")
		case r.URL.Path == "/b":
			w.Header().Set("Location", "/a")
		case r.URL.Path == "/file":
			w.Header().Set("Location", "file:///etc/hidden")
		case r.URL.Path == "/nohost":
			w.Header().Set("Location", "http:///hidden")
		case r.URL.Path == "/odd":
			w.Header().Set("Location", "http://%zz/hidden")
		default:
			return
		}
		w.WriteHeader(302)
	})
	w := begin(t, setup{})
	if r := w.answer(call.Request{URL: s.URL + "/n/5"}, call.Options{}); len(r.Redirects) != 5 {
		t.Errorf("five were followed as %v", r.Redirects)
	}
	for path, left := range map[string]int{"/n/6": 5, "/self": 0, "/a": 1, "/file": 0, "/nohost": 0, "/odd": 0} {
		e := w.failure(call.Request{URL: s.URL + path}, call.Options{})
		if e.Type != call.TypeRedirect || e.Attempts != 1 || len(e.Redirects) != left || strings.Contains(e.Error(), "hidden") {
			t.Errorf("%s: %v after %d attempts and %v, want a redirect error at once", path, e, e.Attempts, e.Redirects)
		}
	}
	if r := w.answer(call.Request{URL: s.URL + "/n/9", MaxRedirects: 9}, call.Options{}); len(r.Redirects) != 9 {
		t.Errorf("nine were followed as %v", r.Redirects)
	}
}

// Credentials and everything else that may be one stay with the origin they were meant for; https never leads to http.
func TestSecretsDoNotFollowToAnotherOrigin(t *testing.T) {
	t.Parallel()
	var got seen
	plain := server(t, func(_ http.ResponseWriter, r *http.Request) { got.add(r) })
	target := plain.URL
	redirect := func(w http.ResponseWriter, r *http.Request) {
		to := target + "/there"
		if r.URL.Path == "/same" {
			to = "/here"
		}
		if r.URL.Path == "/here" {
			got.add(r)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(307)
	}
	first := server(t, redirect)
	secret := http.Header{
		"Authorization": {"Bearer x"}, "Cookie": {"c=1"}, "X-Api-Key": {"k"}, "Idempotency-Key": {"i"}, "X-Custom": {"c"},
		"Accept": {"text/x"}, "Content-Type": {"text/y"},
	}
	w := begin(t, setup{})
	w.answer(call.Request{Method: "POST", URL: first.URL + "/same", Header: secret, Body: []byte("b")}, call.Options{})
	w.answer(call.Request{Method: "POST", URL: first.URL + "/other", Header: secret, Body: []byte("b")}, call.Options{})
	w.answer(call.Request{URL: strings.Replace(first.URL, "//", "//user:word@", 1) + "/other"}, call.Options{})
	reqs := got.all()
	for name := range secret {
		if reqs[0].Header.Get(name) == "" {
			t.Errorf("%s did not reach the same origin", name)
		}
		keeps := name == "Accept" || name == "Content-Type"
		if got := reqs[1].Header.Get(name) != ""; got != keeps {
			t.Errorf("%s reached another origin: %v, want %v", name, got, keeps)
		}
	}
	if reqs[2].Header.Get("Authorization") != "" {
		t.Error("the password of the URL reached another origin")
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(redirect))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	w = begin(t, setup{client: call.ClientConfig{TLS: &tls.Config{RootCAs: roots}}})
	if e := w.failure(call.Request{URL: secure.URL + "/other"}, call.Options{}); e.Type != call.TypeRedirect || !strings.Contains(e.Message, "https") {
		t.Errorf("https to http: %v, want a redirect error", e)
	}
	if r := w.answer(call.Request{URL: secure.URL + "/same"}, call.Options{}); r.Status != 200 {
		t.Errorf("https to https: %d", r.Status)
	}
}

// The password of a URL is sent as such, and is not shown again.
func TestAPasswordInTheURLIsSentAndNotShown(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		user, word, _ := r.BasicAuth()
		fmt.Fprint(w, user, word)
		_, _ = io.Copy(io.Discard, r.Body)
	})
	w := begin(t, setup{})
	r := w.answer(call.Request{URL: strings.Replace(s.URL, "//", "//user:word@", 1)}, call.Options{})
	if string(r.Body) != "userword" || strings.Contains(r.URL, "word") {
		t.Errorf("%q at %s", r.Body, r.URL)
	}
}
