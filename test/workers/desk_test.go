package workers_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
)

// look asks a daemon for a page.
func (p *place) look(c *http.Client, path string) (status int, at, body string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		p.Fatal(err)
	}
	return p.read(c, req)
}

func (p *place) read(c *http.Client, req *http.Request) (status int, at, body string) {
	p.Helper()
	res, err := c.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return res.StatusCode, res.Request.URL.Path, string(text)
}

func TestTheDaemonShowsItsDashboard(t *testing.T) {
	t.Parallel()
	p := begin(t, engines["sqlite"](t))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	if _, at, _ := p.look(c, "/"); at != "/sign-in" {
		t.Fatalf("who is not known is shown %s", at)
	}
	form := strings.NewReader(url.Values{"token": {p.token}}.Encode())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/sign-in", form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, at, body := p.read(c, req); status != 200 || at != "/" || !strings.Contains(body, p.space) {
		t.Errorf("after the sign-in %d at %s is shown, want the dashboard of the namespace", status, at)
	}
	if status, _, _ := p.look(c, "/healthz"); status != 200 {
		t.Errorf("/healthz = %d", status)
	}
	// A session is for pages: the API takes tokens alone.
	if status, _, body := p.look(c, "/v1/tasks"); status != 401 || !strings.Contains(body, "unauthenticated") {
		t.Errorf("/v1/tasks = %d %s", status, body)
	}

	q := begin(t, engines["sqlite"](t), "--dashboard=false")
	if status, at, body := q.look(c, "/"); status != 404 || at != "/" || !strings.Contains(body, "no_path") {
		t.Errorf("without a dashboard / = %d %s", status, body)
	}
}
