package endpoint

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Site is what accepting and telling the status have in common: give both the same. Its zero value works.
type Site struct {
	// Path is where Status is mounted. Default "/tasks".
	Path string
	// Base is put before Path in Operation-Location, which is absolute: "https://api.example.org". Default: what the request says.
	Base string

	// Principal tells who asks. Tasks of another principal are not found, and keys of theirs do not meet. An error is answered
	// with 401, or, if it is a Problem, with that. Default: all who ask are one.
	Principal func(*http.Request) (string, error)

	// MaxWait bounds how long a client may wait in one request, by ?wait= or Prefer: wait=. Default 60 s; negative: not at all.
	MaxWait time.Duration
	// RetryAfter says when a client should look again at a task that has not ended. Default: after a quarter of the task's
	// age, from one second up to 30, and not before a retry is due.
	RetryAfter func(Document) time.Duration
	// Heartbeat is how often a stream of events says that it lives. Default 15 s.
	Heartbeat time.Duration
	// StoreTimeout is how long a request may wait for the store before it is answered with 503. Default 10 s.
	StoreTimeout time.Duration

	// Accepted, Shown and Refused write the answers to a submit, to a look at the status and to what went wrong. Headers are set before
	// they are called; status and body are theirs. Default: JSON as docs/endpoints.md shows it.
	Accepted func(w http.ResponseWriter, r *http.Request, d Document)
	Shown    func(w http.ResponseWriter, r *http.Request, d Document)
	Refused  func(w http.ResponseWriter, r *http.Request, p *Problem)

	// Logger is told of requests that could not be answered. Default: slog.Default.
	Logger *slog.Logger
}

func (s Site) withDefaults() Site {
	if s.Path == "" {
		s.Path = "/tasks"
	}
	s.Path = "/" + strings.Trim(s.Path, "/")
	s.Base = strings.TrimSuffix(s.Base, "/")
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&s.MaxWait, time.Minute}, {&s.Heartbeat, 15 * time.Second}, {&s.StoreTimeout, 10 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if s.Principal == nil {
		s.Principal = func(*http.Request) (string, error) { return "", nil }
	}
	if s.RetryAfter == nil {
		s.RetryAfter = retryAfter
	}
	if s.Accepted == nil {
		s.Accepted = func(w http.ResponseWriter, _ *http.Request, d Document) { writeJSON(w, http.StatusAccepted, d) }
	}
	if s.Shown == nil {
		s.Shown = func(w http.ResponseWriter, _ *http.Request, d Document) { writeJSON(w, http.StatusOK, d) }
	}
	if s.Refused == nil {
		s.Refused = writeProblem
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	return s
}

// retryAfter lets clients look often at what is young and seldom at what takes long.
func retryAfter(d Document) time.Duration {
	now := time.Now()
	if rest := d.NextAttemptAt.Sub(now); !d.NextAttemptAt.IsZero() && rest > 0 {
		return min(rest, time.Minute)
	}
	return min(max(now.Sub(d.CreatedAt)/4, time.Second), 30*time.Second)
}

// location returns the path of a task's status.
func (s *Site) location(id kernel.ID) string { return s.Path + "/" + id.String() }

// absolute returns the URL of a path of this site.
func (s *Site) absolute(r *http.Request, path string) string {
	if s.Base != "" {
		return s.Base + path
	}
	u := url.URL{Scheme: "http", Host: r.Host, Path: path}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// who asks the principal hook.
func (s *Site) who(r *http.Request) (string, *Problem) {
	name, err := s.Principal(r)
	if err == nil {
		return name, nil
	}
	if p := asProblem(err); p != nil {
		return "", p
	}
	return "", problem(http.StatusUnauthorized, "unauthenticated", "it is not known who asks")
}

// refuse answers with a problem.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	w.Header().Set("Cache-Control", "no-store")
	if f := p.filled(); f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests {
		if w.Header().Get("Retry-After") == "" {
			w.Header().Set("Retry-After", "1")
		}
	}
	s.Refused(w, r, p)
}
