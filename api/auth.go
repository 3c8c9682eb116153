package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/endpoint"
)

// Scope is what a token allows.
type Scope string

// The scopes. Admin is all of them; Operate can Read.
const (
	Read    Scope = "read"    // look at everything
	Submit  Scope = "submit"  // submit tasks, calls and groups, send signals, and look at one's own by id
	Work    Scope = "work"    // join as a worker, claim, save, complete
	Operate Scope = "operate" // retry, cancel, delete, pause, limit, schedule
	Admin   Scope = "admin"   // everything
	Public  Scope = "public"  // of routes alone: no token is needed
)

// Scopes lists those that a token can have.
func Scopes() []Scope { return []Scope{Read, Submit, Work, Operate, Admin} }

// allows reports whether a set of scopes is enough for a route.
func allows(have []Scope, want Scope) bool {
	switch {
	case want == Public, slices.Contains(have, want), slices.Contains(have, Admin):
		return true
	case want == Read:
		return slices.Contains(have, Operate)
	}
	return false
}

// principal is who asks.
type principal struct {
	name      string // for logs and limits: the id of a token, or an address
	namespace string
	scopes    []Scope
}

// admit finds out who asks, and whether they may. It sets the kernel of their namespace.
func (s *Server) admit(q *request, want Scope) *endpoint.Problem {
	address := addressOf(q.r)
	q.who, q.k = principal{name: address, scopes: Scopes()}, s.k
	if p := s.identify(q, want); p != nil {
		// Who guesses is slowed down by the address.
		if !s.limiter.allow("refused "+address, guessRate) {
			return s.tooMany(q)
		}
		return p
	}
	if !s.limiter.allow(q.who.name, s.cfg.Rate) {
		return s.tooMany(q)
	}
	if q.who.namespace == "" || q.who.namespace == s.k.Store().Namespace {
		return nil
	}
	if q.k = s.cfg.Spaces[q.who.namespace].Kernel; q.k == nil {
		return problem(http.StatusForbidden, "no_namespace", "the token is for the namespace %s, which this daemon does not serve", q.who.namespace)
	}
	return nil
}

// guessRate is how many requests without a good token an address may make in a second.
const guessRate = 20

func (s *Server) tooMany(q *request) *endpoint.Problem {
	q.w.Header().Set("Retry-After", "1")
	return problem(http.StatusTooManyRequests, "too_many", "too many requests; come again in a second")
}

// Slow counts a bad token of an address elsewhere in the daemon, and reports whether there were too many lately.
func (s *Server) Slow(r *http.Request) bool {
	return !s.limiter.allow("refused "+addressOf(r), guessRate)
}

func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return address
}

func (s *Server) identify(q *request, want Scope) *endpoint.Problem {
	if want == Public {
		return nil
	}
	if s.cfg.Tokens == nil {
		if s.cfg.Open || Local(q.r) {
			return nil
		}
		return problem(http.StatusForbidden, "not_local", "without tokens only a loopback address may be asked, and not from a page of another site")
	}
	scheme, text, _ := strings.Cut(q.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		q.w.Header().Set("WWW-Authenticate", `Bearer realm="outlast"`)
		return problem(http.StatusUnauthorized, "unauthenticated", "send a token: Authorization: Bearer …; \"outlast token create\" makes one")
	}
	token, err := s.cfg.Tokens.Check(strings.TrimSpace(text))
	if err != nil {
		q.w.Header().Set("WWW-Authenticate", `Bearer realm="outlast", error="invalid_token"`)
		return problem(http.StatusUnauthorized, "bad_token", "%v", err)
	}
	q.who = principal{name: token.ID, namespace: token.Namespace, scopes: token.Scopes}
	if !allows(token.Scopes, want) {
		return problem(http.StatusForbidden, "no_scope", "the token has not got the scope %s", want)
	}
	return nil
}

// Local reports whether a request came to a loopback address under a loopback name, and from no page of another site: a browser can be made
// to ask 127.0.0.1 under a name of the asker's choice.
func Local(r *http.Request) bool {
	if !loopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Host)
}

func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
