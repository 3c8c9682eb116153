package desk_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/cmd/outlast/desk"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// place is a desk that is served.
type place struct {
	*testing.T
	k      *kernel.Kernel
	tokens *api.Tokens
	url    string
	log    *log
}

type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func begin(t *testing.T, cfg desk.Config, asked, secure bool) *place {
	t.Helper()
	p := &place{T: t, log: &log{}, k: kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})}
	other := kerneltest.New(t, memory.New(memory.Config{Namespace: "other"}), kernel.Config{})
	if asked {
		var err error
		if p.tokens, err = api.OpenTokens(filepath.Join(t.TempDir(), "tokens")); err != nil {
			t.Fatal(err)
		}
		cfg.Tokens = p.tokens
	}
	cfg.Logger, cfg.Secure = slog.New(slog.NewTextHandler(p.log, nil)), secure
	d := desk.New(p.k.Store().Namespace, map[string]api.Space{p.k.Store().Namespace: {Kernel: p.k}, "other": {Kernel: other}}, cfg)
	web := httptest.NewUnstartedServer(d)
	if secure {
		web.StartTLS()
	} else {
		web.Start()
	}
	t.Cleanup(web.Close)
	p.url = web.URL
	return p
}

// token makes one with some scopes.
func (p *place) token(one api.Token) (text string) {
	p.Helper()
	text, err := p.tokens.Create(one)
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// browser is a client that keeps cookies, and follows what it is told.
func (p *place) browser() *http.Client {
	p.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: insecure()}
}

type answer struct {
	*http.Response
	body string
}

func (p *place) send(c *http.Client, method, path string, form url.Values, header ...string) answer {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answer{res, string(body)}
}

func (p *place) signIn(c *http.Client, token, back string) answer {
	p.Helper()
	return p.send(c, "POST", "/sign-in", url.Values{"token": {token}, "back": {back}})
}

// submit makes a task that waits.
func (p *place) submit() kernel.ID {
	p.Helper()
	one, err := p.k.Submit(p.Context(), kernel.Spec{Kind: "k", Delay: time.Hour})
	if err != nil {
		p.Fatal(err)
	}
	return one.ID
}

// cancel cancels a task as the dashboard does, and returns where it stands then.
func (p *place) cancel(c *http.Client, id kernel.ID, header ...string) (status int, state string) {
	p.Helper()
	a := p.send(c, "POST", "/do", url.Values{"verb": {"cancel"}, "id": {id.String()}, "sure": {"yes"}}, header...)
	t, err := p.k.Get(p.Context(), id)
	if err != nil {
		p.Fatal(err)
	}
	return a.StatusCode, string(t.State)
}
