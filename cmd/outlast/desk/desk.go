// Package desk is where browsers come in: it asks them for a token of the API, remembers who they are, and shows them the dashboard of
// their namespace.
//
// # What it promises
//
// The token itself is in no cookie: a browser keeps a session, which names the token and when it ends, signed under a key that this process
// alone has. A session ends with its token, with its time, and with the process. Nobody without Read sees anything, nobody without Operate
// does anything. The API takes no session: what a page of another site makes a browser send there has no effect.
package desk

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/web"
)

// Config sets up a desk. Its zero value asks nobody who they are, and answers on loopback alone.
type Config struct {
	// Tokens say who may come in. Default nil: everybody who asks a loopback address.
	Tokens *api.Tokens
	// Open lets everybody in from wherever they ask, without tokens. Default: not.
	Open bool
	// ReadOnly refuses all actions to everybody. Default: who has Operate may act.
	ReadOnly bool
	// Secure says that browsers come by TLS alone: cookies are never sent without it. Default: they are.
	Secure bool
	// Stay is how long a session lasts. Default 12 h.
	Stay time.Duration
	// Slow reports that somebody has come with too many bad tokens. Default: nobody is slowed down.
	Slow func(r *http.Request) bool
	// Logger takes who signs in, and what is done. Default: slog.Default.
	Logger *slog.Logger
}

// Desk lets browsers in. Make one with New.
type Desk struct {
	cfg    Config
	key    [32]byte // of sessions: it ends with the process
	own    string   // the namespace of tokens that name none
	boards map[string]board
	guard  *http.CrossOriginProtection
	now    func() time.Time
}

// board is the dashboard of a namespace, for those who may act and for those who may look.
type board struct{ act, look http.Handler }

// New makes a desk in front of the dashboards of some namespaces; own is the namespace of tokens that name none.
func New(own string, spaces map[string]api.Space, cfg Config) *Desk {
	if cfg.Stay <= 0 {
		cfg.Stay = 12 * time.Hour
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	d := &Desk{cfg: cfg, own: own, boards: map[string]board{}, guard: http.NewCrossOriginProtection(), now: time.Now}
	_, _ = rand.Read(d.key[:]) // it never fails
	for name, s := range spaces {
		c := web.Config{Authorize: d.authorize, Who: who, Logger: cfg.Logger}
		if s.Calls != nil {
			c.Calls = []*call.Client{s.Calls.Client()}
		}
		if cfg.Tokens != nil {
			c.SignOut = "/sign-out"
		}
		b := board{act: web.Handler(s.Kernel, c)}
		c.ReadOnly = true
		if b.look = web.Handler(s.Kernel, c); cfg.ReadOnly {
			b.act = b.look
		}
		d.boards[name] = b
	}
	return d
}

// visitor is who looks.
type visitor struct {
	token api.Token // zero: nobody was asked
	name  string
}

type visitorKey struct{}

func who(r *http.Request) string {
	if v, ok := r.Context().Value(visitorKey{}).(visitor); ok {
		return v.name
	}
	return r.RemoteAddr
}

// authorize is asked for every page, also for one that stays open: a token that was revoked meanwhile shows nothing more.
func (d *Desk) authorize(r *http.Request, a web.Action) error {
	if d.cfg.Tokens == nil {
		return nil
	}
	v, _ := r.Context().Value(visitorKey{}).(visitor)
	token, err := d.cfg.Tokens.Standing(v.token.ID)
	if err != nil {
		return err
	}
	want := api.Operate
	if a.Verb == web.View {
		want = api.Read
	}
	if !token.May(want) {
		return fmt.Errorf("the token has not got the scope %s", want)
	}
	return nil
}

// ServeHTTP shows the dashboard to who may see it, and the sign-in to others.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/static/"): // what every page looks like is no secret
		d.boards[d.own].look.ServeHTTP(w, r)
		return
	case d.cfg.Tokens == nil:
		d.unasked(w, r)
		return
	case r.URL.Path == "/sign-in" || r.URL.Path == "/sign-out":
		d.doors(w, r)
		return
	}
	v, err := d.visitor(r)
	if err != nil {
		d.sendAway(w, r, err)
		return
	}
	b := d.boardOf(v.token.Namespace)
	if b.look == nil {
		d.page(w, r, http.StatusForbidden, "the token is for the namespace "+v.token.Namespace+", which this daemon does not serve")
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, v))
	if v.token.May(api.Operate) {
		b.act.ServeHTTP(w, r)
	} else {
		b.look.ServeHTTP(w, r)
	}
}

func (d *Desk) boardOf(namespace string) board {
	if namespace == "" {
		namespace = d.own
	}
	return d.boards[namespace]
}

// unasked shows the dashboard where there are no tokens.
func (d *Desk) unasked(w http.ResponseWriter, r *http.Request) {
	if !d.cfg.Open && !api.Local(r) {
		http.Error(w, "without tokens only a loopback address may be asked, and not from a page of another site", http.StatusForbidden)
		return
	}
	d.boards[d.own].act.ServeHTTP(w, r)
}

// sendAway answers who has no session: a page that was asked for leads to the sign-in, and from there back.
func (d *Desk) sendAway(w http.ResponseWriter, r *http.Request, err error) {
	if r.URL.Path == "/live" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "sign in first: "+err.Error(), http.StatusUnauthorized)
		return
	}
	to := "/sign-in"
	if back := r.URL.RequestURI(); back != "/" {
		to += "?back=" + template.URLQueryEscaper(back)
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // a page of ours; what was asked for is a parameter of it
}

var errNoSession = errors.New("there is no session")

// visitor finds out who asks: by a session, or by a token as the API takes it.
func (d *Desk) visitor(r *http.Request) (visitor, error) {
	if scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		token, err := d.cfg.Tokens.Check(strings.TrimSpace(text))
		return visitor{token, nameOf(token)}, err
	}
	c, err := r.Cookie(d.cookieName())
	if err != nil {
		return visitor{}, errNoSession
	}
	id, err := d.open(c.Value)
	if err != nil {
		return visitor{}, err
	}
	token, err := d.cfg.Tokens.Standing(id)
	return visitor{token, nameOf(token)}, err
}

// nameOf is what the audit calls a token.
func nameOf(t api.Token) string {
	if t.Name != "" {
		return t.Name
	}
	return "token " + t.ID
}

//go:embed sign-in.html
var source embed.FS

var signIn = template.Must(template.ParseFS(source, "sign-in.html"))
