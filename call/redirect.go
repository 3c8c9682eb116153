package call

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

var errRedirect = errors.New("redirect")

// hop is one request of a chain.
type hop struct {
	method string
	url    *url.URL
	header http.Header
	body   bool // the body goes along
}

// kept are the headers that may go to another origin. All others may be secrets.
var kept = []string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding", "Content-Language",
	"Content-Type", headerAttempt, "Pragma", "User-Agent", headerRequestID,
}

// next returns the request that an answer asks for, nil if it asks for none. Its error is errRedirect, and names the host of a target
// and nothing else of it.
func (h *hop) next(resp *http.Response, left []string, most int) (*hop, error) {
	location := resp.Header.Get("Location")
	if location == "" || most <= 0 || !redirects(resp.StatusCode) {
		return nil, nil //nolint:nilnil // an ordinary answer
	}
	u, err := h.url.Parse(location)
	if err != nil {
		return nil, &redirectError{"its target cannot be read"}
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &redirectError{"it leads to the scheme " + clip(u.Scheme, 20)}
	case u.Hostname() == "" || !validHost(u.Hostname()):
		return nil, &redirectError{"it leads to no host"}
	case h.url.Scheme == "https" && u.Scheme == "http":
		return nil, &redirectError{"it leads from https to http, at " + u.Host}
	case u.String() == h.url.String() || slices.Contains(left, u.String()):
		return nil, &redirectError{"it goes in a circle, at " + u.Host}
	case len(left) >= most:
		return nil, &redirectError{"there are too many, the last to " + u.Host}
	}
	n := &hop{method: h.method, url: u, header: h.header.Clone(), body: h.body}
	if keep := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect; !keep && h.method != http.MethodHead {
		n.method, n.body = http.MethodGet, false
		for name := range n.header {
			if strings.HasPrefix(name, "Content-") {
				delete(n.header, name)
			}
		}
		n.header.Del("Idempotency-Key") // what it stood for has been done
	}
	if !sameOrigin(h.url, u) {
		for name := range n.header {
			if !slices.Contains(kept, name) {
				delete(n.header, name)
			}
		}
	}
	return n, nil
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

type redirectError struct{ text string }

func (e *redirectError) Error() string { return "the redirect is not followed: " + e.text }
func (e *redirectError) Unwrap() error { return errRedirect }

func clip(text string, limit int) string {
	if len(text) > limit {
		return text[:limit] + "…"
	}
	return text
}
