package call

import (
	"cmp"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/internal/encode"
)

// Request is what is to be sent. Only URL is needed.
type Request struct {
	// Method is any token. Default GET. A body may go with any method.
	Method string
	// URL is absolute, or relative to the BaseURL of the Template. http and https are sent; a fragment is not.
	URL string
	// Query is added to what the URL has.
	Query url.Values
	// Header may have several values per name. What the connection itself needs (Host, Content-Length, Connection, …) is refused.
	Header http.Header

	// Body, JSON or Reader is the body: at most one of them. JSON sets a Content-Type unless the Header has one. Reader is read
	// by Start, and not closed.
	Body   []byte
	JSON   any
	Reader io.Reader

	// Timeouts that are zero are the Template's, then the client's.
	Timeouts Timeouts
	// MaxRedirects is how many are followed. Default: the client's; NoRedirects: none.
	MaxRedirects int
	// MaxResponse bounds the answer's body. Default: the client's.
	MaxResponse int64
	// OnUnknown is the client's unless it is set.
	OnUnknown Unknown
	// NoIdempotencyKey sends no Idempotency-Key. Default: requests that are not GET, HEAD, OPTIONS or TRACE carry one that is the
	// same on every attempt: the one in the Header, or the id of the task.
	NoIdempotencyKey bool
	// Sign names one of the client's Signers, which signs each attempt anew. Default: not signed.
	Sign string
}

// Template is what requests to one service have in common.
type Template struct {
	// BaseURL is what a relative URL is joined with, as RFC 3986 says: "users" goes below "https://h/v1/", "/users" replaces its path.
	BaseURL string
	// Header and Query stand unless the request has the same name.
	Header http.Header
	Query  url.Values
	// Timeouts stand where the request has none.
	Timeouts Timeouts
}

// draft is a request that was checked, merged and can be stored.
type draft struct {
	request wireRequest
	body    []byte
	reader  io.Reader // instead of body
	host    string    // with its port: the lane
	name    string    // of the host alone
	port    string
}

// draft checks a request. Nothing that is wrong with it may be found later than here.
func (c *Client) draft(t Template, r Request) (*draft, error) {
	d := &draft{}
	method := cmp.Or(strings.ToUpper(r.Method), http.MethodGet)
	if !validToken(method) {
		return nil, invalid("Method", "is %.40q; it must be one word such as GET or POST", r.Method)
	}
	if method == http.MethodConnect {
		return nil, invalid("Method", "is CONNECT; that is for proxies")
	}
	u, err := joinURL(t, r)
	if err != nil {
		return nil, err
	}
	d.name, d.port = u.Hostname(), portOf(u)
	d.host = strings.ToLower(net.JoinHostPort(d.name, d.port))
	if len(d.host) > 300 {
		return nil, invalid("URL", "has a host of %d bytes", len(d.host))
	}
	header, err := mergeHeader(t.Header, r.Header)
	if err != nil {
		return nil, err
	}
	d.request = wireRequest{
		Method: method, URL: u.String(), Header: header, Timeouts: r.Timeouts.or(t.Timeouts).or(c.cfg.Timeouts),
		MaxRedirects: r.MaxRedirects, MaxResponse: r.MaxResponse, OnUnknown: r.OnUnknown, NoKey: r.NoIdempotencyKey, Sign: r.Sign,
	}
	if err := d.setBody(r); err != nil {
		return nil, err
	}
	return d, c.checkRequest(t, r)
}

// checkRequest checks what of a request does not depend on the template's URL.
func (c *Client) checkRequest(t Template, r Request) error {
	for _, timeouts := range []Timeouts{t.Timeouts, r.Timeouts} {
		if err := timeouts.validate(); err != nil {
			return err
		}
	}
	switch {
	case r.MaxRedirects < NoRedirects:
		return invalid("MaxRedirects", "is %d; it must be positive, 0 for the default, or NoRedirects", r.MaxRedirects)
	case r.MaxResponse < 0:
		return invalid("MaxResponse", "is negative; it must be positive, or 0 for the default")
	case !r.OnUnknown.valid():
		return invalid("OnUnknown", "is %q; use auto, retry, fail or nothing", r.OnUnknown)
	case r.Sign != "" && len(c.signers[r.Sign]) == 0:
		return invalid("Sign", "is %.40q; the client has no such signer", r.Sign)
	}
	return nil
}

func (d *draft) setBody(r Request) error {
	given := 0
	for _, is := range []bool{len(r.Body) > 0, r.JSON != nil, r.Reader != nil} {
		if is {
			given++
		}
	}
	if given > 1 {
		return invalid("Body", "is given more than once; use one of Body, JSON and Reader")
	}
	d.body, d.reader = slices.Clone(r.Body), r.Reader
	if r.JSON == nil {
		return nil
	}
	body, err := encode.JSON(r.JSON)
	if err != nil {
		return invalid("JSON", "%v", err)
	}
	d.body = body
	if d.request.Header.Get("Content-Type") == "" {
		d.request.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return nil
}

// joinURL makes one URL of a template and a request. Errors repeat nothing of a URL but its scheme: it may have secrets in it.
func joinURL(t Template, r Request) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(r.URL))
	if err != nil {
		return nil, invalid("URL", "cannot be read")
	}
	if t.BaseURL != "" {
		base, err := url.Parse(t.BaseURL)
		if err != nil || base.Scheme == "" || base.Host == "" {
			return nil, invalid("BaseURL", "is no absolute URL")
		}
		u = base.ResolveReference(u)
	} else if r.URL == "" {
		return nil, invalid("URL", "is empty")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme == "":
		return nil, invalid("URL", "has no scheme; begin it with https://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, invalid("URL", "has the scheme %.20q; use http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, invalid("URL", "names no host")
	case !validHost(u.Hostname()):
		return nil, invalid("URL", "has a host with an odd character in it")
	}
	u.Fragment, u.RawFragment = "", ""
	query := url.Values{}
	maps.Copy(query, t.Query)
	maps.Copy(query, r.Query)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if u.RawQuery != "" {
				u.RawQuery += "&"
			}
			u.RawQuery += url.QueryEscape(name) + "=" + url.QueryEscape(value)
		}
	}
	return u, nil
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// ownHeaders belong to the connection, or are made of other fields.
var ownHeaders = []string{
	"Connection", "Content-Length", "Host", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade",
}

// mergeHeader lays the request's header over the template's. Errors name the header, and never its value.
func mergeHeader(template, request http.Header) (http.Header, error) {
	merged := http.Header{}
	for _, h := range []http.Header{template, request} {
		own := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if !validToken(name) {
				return nil, invalid("Header", "%.40q is no name of a header", name)
			}
			key := http.CanonicalHeaderKey(name)
			if slices.Contains(ownHeaders, key) {
				return nil, invalid("Header", "%s is set by the connection", key)
			}
			for _, value := range h[name] {
				if !validHeaderValue(value) {
					return nil, invalid("Header", "%s has a control character in its value", key)
				}
			}
			if !own[key] {
				delete(merged, key)
			}
			own[key] = true
			merged[key] = append(merged[key], h[name]...)
		}
	}
	size := 0
	for name, values := range merged {
		for _, v := range values {
			size += len(name) + len(v) + 4
		}
	}
	if size > 256<<10 {
		return nil, &InvalidError{Field: "Header", Problem: "is larger than 256 KiB", Err: ErrTooLarge}
	}
	return merged, nil
}

func validToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func validHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// validHost refuses what could end the host early in a log, a lane or a Host header.
func validHost(s string) bool {
	for _, r := range s {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`/\?#@<>"{}|^`+"`", r) {
			return false
		}
	}
	return true
}
