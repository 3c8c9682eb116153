package desk_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/cmd/outlast/desk"
)

func insecure() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the server's certificate is made for the test
}

func TestABrowserSignsInActsAndSignsOut(t *testing.T) {
	t.Parallel()
	p := begin(t, desk.Config{}, true, false)
	text := p.token(api.Token{Name: "ann", Scopes: []api.Scope{api.Operate}})
	c := p.browser()
	if a := p.send(c, "GET", "/tasks?state=ready", nil); a.Request.URL.Path != "/sign-in" || a.Request.URL.Query().Get("back") != "/tasks?state=ready" {
		t.Fatalf("who is not known is sent to %s, want the sign-in", a.Request.URL)
	}
	a := p.signIn(c, text, "/tasks?state=ready")
	if a.StatusCode != 200 || a.Request.URL.RequestURI() != "/tasks?state=ready" || !strings.Contains(a.body, "Sign out") {
		t.Fatalf("sign-in = %d at %s, want the page that was asked for", a.StatusCode, a.Request.URL)
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy = %q", csp)
	}
	id := p.submit()
	if status, state := p.cancel(c, id); status != 200 || state != "cancelled" {
		t.Errorf("cancel = %d, the task is %s", status, state)
	}
	if !strings.Contains(p.log.String(), "who=ann verb=cancel") {
		t.Errorf("the log names nobody: %s", p.log)
	}
	if strings.Contains(p.log.String(), text) {
		t.Error("the token is in the log")
	}
	if a = p.send(c, "POST", "/sign-out", url.Values{}); a.Request.URL.Path != "/sign-in" {
		t.Errorf("sign-out leads to %s", a.Request.URL)
	}
	if a = p.send(c, "GET", "/", nil); a.Request.URL.Path != "/sign-in" {
		t.Errorf("after the sign-out %s is shown", a.Request.URL)
	}
}

func TestScopesDecideWhatABrowserMay(t *testing.T) {
	t.Parallel()
	p := begin(t, desk.Config{}, true, false)
	c := p.browser()
	if a := p.signIn(c, p.token(api.Token{Scopes: []api.Scope{api.Submit, api.Work}}), "/"); a.StatusCode != 403 {
		t.Errorf("who cannot read signs in: %d", a.StatusCode)
	}
	a := p.signIn(c, p.token(api.Token{Scopes: []api.Scope{api.Read}}), "/")
	if a.StatusCode != 200 || !strings.Contains(a.body, "read-only") {
		t.Fatalf("who may read sees %d, want the pages without actions", a.StatusCode)
	}
	if status, state := p.cancel(c, p.submit()); status != 403 || state != "scheduled" {
		t.Errorf("who may only read cancels: %d, %s", status, state)
	}
	// A token of another namespace shows that one; one that is not served shows nothing.
	if a = p.signIn(c, p.token(api.Token{Scopes: []api.Scope{api.Admin}, Namespace: "other"}), "/"); !strings.Contains(a.body, "<br>other") {
		t.Error("a token of a namespace does not show it")
	}
	if a = p.send(c, "GET", "/task/"+p.submit().String(), nil); a.StatusCode != 404 {
		t.Errorf("a task of another namespace = %d", a.StatusCode)
	}
	if a = p.signIn(c, p.token(api.Token{Scopes: []api.Scope{api.Admin}, Namespace: "third"}), "/"); a.StatusCode != 403 {
		t.Errorf("a token of a namespace that is not served = %d", a.StatusCode)
	}
	if a = p.send(http.DefaultClient, "GET", "/", nil, "Authorization", "Bearer "+p.token(api.Token{Scopes: []api.Scope{api.Read}})); a.Request.URL.Path != "/" {
		t.Errorf("a token in the header leads to %s", a.Request.URL)
	}
}

func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	p := begin(t, desk.Config{}, true, false)
	text := p.token(api.Token{Scopes: []api.Scope{api.Admin}})
	c := p.browser()
	if a := p.signIn(c, text, "/"); a.Request.URL.Path != "/" {
		t.Fatalf("sign-in leads to %s", a.Request.URL)
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "olt_"), "_")
	if ok, err := p.tokens.Revoke(id); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if a := p.send(c, "GET", "/", nil); a.Request.URL.Path != "/sign-in" {
		t.Errorf("a revoked token still shows %s", a.Request.URL)
	}
	if status, state := p.cancel(c, p.submit()); status != 401 || state != "scheduled" {
		t.Errorf("a revoked token still acts: %d, %s", status, state)
	}
	// One that ends ends the session as well: the cookie has no longer a life than the token.
	soon := p.token(api.Token{Scopes: []api.Scope{api.Admin}, ExpiresAt: time.Now().Add(90 * time.Second)})
	a := p.send(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, "POST", "/sign-in", url.Values{"token": {soon}})
	if list := a.Cookies(); len(list) != 1 || list[0].MaxAge > 90 || list[0].MaxAge < 1 {
		t.Errorf("cookies = %v, want one of at most 90 s", list)
	}
}

func TestCookiesAreForTheBrowserAlone(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		p := begin(t, desk.Config{}, true, secure)
		text := p.token(api.Token{Scopes: []api.Scope{api.Admin}})
		c := &http.Client{Transport: insecure(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		a := p.signIn(c, text, "//evil.example/")
		if a.StatusCode != 303 || a.Header.Get("Location") != "/" || len(a.Cookies()) != 1 {
			t.Fatalf("sign-in = %d to %s", a.StatusCode, a.Header.Get("Location"))
		}
		one := a.Cookies()[0]
		if !one.HttpOnly || one.SameSite != http.SameSiteStrictMode || one.Secure != secure || strings.HasPrefix(one.Name, "__Host-") != secure {
			t.Errorf("cookie = %v", one)
		}
		if _, secret, _ := strings.Cut(strings.TrimPrefix(text, "olt_"), "_"); strings.Contains(one.Value, secret) {
			t.Error("the token is in the cookie")
		}
		// Neither a session that was tampered with nor one of another process is one.
		id, rest, _ := strings.Cut(one.Value, ".")
		_, sum, _ := strings.Cut(rest, ".")
		for _, value := range []string{id + ".99999999999." + sum, id + "x." + rest, "", one.Value + "0", id} {
			if a := p.send(c, "GET", "/", nil, "Cookie", one.Name+"="+value); a.StatusCode != 303 {
				t.Errorf("the session %q is answered %d", value, a.StatusCode)
			}
		}
		if a := p.send(c, "GET", "/", nil, "Cookie", one.Name+"="+one.Value); a.StatusCode != 200 {
			t.Errorf("the session is answered %d", a.StatusCode)
		}
		// Another site can neither act nor sign somebody in.
		if a := p.send(c, "POST", "/sign-in", url.Values{"token": {text}}, "Sec-Fetch-Site", "cross-site"); a.StatusCode != 403 || len(a.Cookies()) > 0 {
			t.Errorf("a sign-in from another site = %d", a.StatusCode)
		}
		if status, state := p.cancel(c, p.submit(), "Cookie", one.Name+"="+one.Value, "Sec-Fetch-Site", "cross-site"); status != 403 || state != "scheduled" {
			t.Errorf("an action from another site = %d, %s", status, state)
		}
	}
}

func TestBadTokensAreToldAndSlowedDown(t *testing.T) {
	t.Parallel()
	slow := false
	p := begin(t, desk.Config{Slow: func(*http.Request) bool { return slow }}, true, false)
	if a := p.signIn(p.browser(), "olt_no_token", "/"); a.StatusCode != 401 || !strings.Contains(a.body, "not known") {
		t.Errorf("a bad token = %d", a.StatusCode)
	}
	slow = true
	if a := p.signIn(p.browser(), "olt_no_token", "/"); a.StatusCode != 429 {
		t.Errorf("a bad token too many = %d", a.StatusCode)
	}
	if a := p.send(p.browser(), "GET", "/static/app.css", nil); a.StatusCode != 200 {
		t.Errorf("the style = %d", a.StatusCode)
	}
	if a := p.send(p.browser(), "GET", "/live?page=/", nil); a.StatusCode != 401 {
		t.Errorf("a stream without a session = %d", a.StatusCode)
	}
}

func TestWithoutTokensTheDashboardIsForLoopback(t *testing.T) {
	t.Parallel()
	p := begin(t, desk.Config{}, false, false)
	if a := p.send(p.browser(), "GET", "/", nil); a.StatusCode != 200 || strings.Contains(a.body, "Sign out") {
		t.Errorf("on loopback = %d, want the dashboard", a.StatusCode)
	}
	if a := p.send(p.browser(), "GET", "/", nil, "Host", "rebound.example"); a.StatusCode != 403 {
		t.Errorf("under another name = %d, want 403", a.StatusCode)
	}
	if status, state := p.cancel(p.browser(), p.submit()); status != 200 || state != "cancelled" {
		t.Errorf("cancel = %d, %s", status, state)
	}
	p = begin(t, desk.Config{Open: true, ReadOnly: true}, false, false)
	if a := p.send(p.browser(), "GET", "/", nil, "Host", "daemon.example"); a.StatusCode != 200 || !strings.Contains(a.body, "read-only") {
		t.Errorf("open = %d, want it for reading", a.StatusCode)
	}
	if status, state := p.cancel(p.browser(), p.submit()); status != 403 || state != "scheduled" {
		t.Errorf("cancel where nobody may = %d, %s", status, state)
	}
}

var _ http.Handler = (*desk.Desk)(nil)
