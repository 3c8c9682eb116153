package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// pageTime is how long the store may take to answer all that a page asks for.
const pageTime = 10 * time.Second

// request is one request to the dashboard.
type request struct {
	h     *handler
	r     *http.Request
	base  string
	where string // path below the prefix, without slashes around it
	now   time.Time
}

// pageFunc makes a page. rest is what of the path comes after its name.
type pageFunc func(ctx context.Context, q *request, rest string) (*page, error)

// page is what a template is given.
type page struct {
	Title string
	Nav   string // the entry of the menu that it belongs to
	Name  string // of its template
	D     any
	// Follow is a task that the page is about: who looks is told of its changes at once.
	Follow kernel.ID
}

var errNoPage = errors.New("there is no such page")

// find makes the page that the path names.
func (q *request) find(ctx context.Context) (*page, error) {
	name, rest, _ := strings.Cut(q.where, "/")
	fn := q.h.pages[name]
	if fn == nil {
		return nil, errNoPage
	}
	shown := name
	if shown == "" {
		shown = "overview"
	}
	if err := q.allowed(Action{Verb: View, Page: shown, Target: targets(rest)}); err != nil {
		return nil, err
	}
	now, err := q.h.k.Now(ctx)
	if err != nil {
		return nil, err
	}
	q.now = now
	return fn(ctx, q, rest)
}

func targets(rest string) []string {
	if rest == "" {
		return nil
	}
	return []string{rest}
}

// errRefused is what Authorize said.
type errRefused struct{ err error }

func (e errRefused) Error() string { return "not allowed: " + e.err.Error() }
func (e errRefused) Unwrap() error { return e.err }

func (q *request) allowed(a Action) error {
	if q.h.cfg.ReadOnly && a.Verb != View && a.Verb != Download {
		return errRefused{errors.New("this dashboard is for reading only")}
	}
	if q.h.cfg.Authorize == nil {
		return nil
	}
	if err := q.h.cfg.Authorize(q.r, a); err != nil {
		return errRefused{err}
	}
	return nil
}

// may reports whether an action need not be offered in vain.
func (q *request) may() bool { return !q.h.cfg.ReadOnly }

func (q *request) show(ctx context.Context, w http.ResponseWriter) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	p, err := q.find(ctx)
	if err != nil {
		q.fail(w, statusOf(err), err)
		return
	}
	notice := q.takeNotice(w)
	q.render(w, http.StatusOK, p, notice)
}

func statusOf(err error) int {
	var refused errRefused
	var gone goneTo
	switch {
	case errors.As(err, &gone):
		return http.StatusSeeOther
	case errors.As(err, &refused):
		return http.StatusForbidden
	case errors.Is(err, errNoPage), errors.Is(err, kernel.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, kernel.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, kernel.ErrState), errors.Is(err, kernel.ErrDuplicate):
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable
}

// goneTo sends the reader to another page: a search has found exactly one thing.
type goneTo struct{ where string }

func (g goneTo) Error() string { return "it is at " + g.where }

// fail shows an error as a page. What the store says is for the log.
func (q *request) fail(w http.ResponseWriter, status int, err error) {
	var gone goneTo
	if errors.As(err, &gone) {
		http.Redirect(w, q.r, q.base+gone.where, http.StatusSeeOther)
		return
	}
	text := err.Error()
	if status == http.StatusServiceUnavailable {
		q.h.cfg.Logger.Error("dashboard page not made", "page", q.where, "err", err)
		text = "The store did not answer. It may be busy or away; try again in a moment."
	}
	q.render(w, status, &page{Title: http.StatusText(status), Name: "error", D: map[string]any{"Status": status, "Text": text}}, nil)
}

// link makes a path below the prefix, with a query of pairs; pairs without a value are left out.
func link(where string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return where
	}
	return where + "?" + v.Encode()
}
