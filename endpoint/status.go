package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Status returns what tells how tasks stand. Mount it on Site.Path and all below it ("/tasks" for the list, "/tasks/" for the
// rest), with the Site that the endpoints have:
//
//	GET    /tasks                the caller's tasks, newest first; ?status=, ?name=, ?after=, ?before=, ?limit=, ?cursor=
//	GET    /tasks/{id}           the status; ?wait=30s waits, If-None-Match asks for changes, ?redirect=1 for 303 once completed
//	GET    /tasks/{id}/events    the status as a stream of server-sent events
//	GET    /tasks/{id}/result    the result, with its own type and status; ?wait=30s
//	POST   /tasks/{id}:cancel    cancels; also /tasks/{id}/cancel; If-Match may name the status it is meant for
//	DELETE /tasks/{id}           cancels what has not ended, and removes what has
func Status(k *kernel.Kernel, site Site) *StatusHandler {
	site = site.withDefaults()
	return &StatusHandler{k: k, site: &site}
}

// StatusHandler is the http.Handler that tells how tasks stand.
type StatusHandler struct {
	k    *kernel.Kernel
	site *Site
}

// asked is one request about one task.
type asked struct {
	w         http.ResponseWriter
	r         *http.Request
	id        kernel.ID
	principal string
}

// ServeHTTP answers by path and method.
func (h *StatusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := h.route(w, r); p != nil {
		h.site.refuse(w, r, p)
	}
}

func (h *StatusHandler) route(w http.ResponseWriter, r *http.Request) *Problem {
	principal, p := h.site.who(r)
	if p != nil {
		return p
	}
	name, verb := h.split(r.URL)
	if name == "" {
		verb = listing
	}
	methods, known := routes[verb]
	if !known {
		return problem(http.StatusNotFound, "not_found", "there is nothing here")
	}
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return problem(http.StatusMethodNotAllowed, "bad_method", "the method %.20q is not for this", r.Method)
	}
	id, err := kernel.ParseID(name)
	if err != nil {
		return unknown()
	}
	a := asked{w: w, r: r, id: id, principal: principal}
	switch {
	case verb == listing:
		return h.list(r.Context(), a)
	case verb == "result":
		return h.result(r.Context(), a)
	case verb == "events":
		return h.events(r.Context(), a)
	case verb == "cancel":
		return h.cancel(r.Context(), a)
	case r.Method == http.MethodDelete:
		return h.remove(r.Context(), a)
	}
	return h.status(r.Context(), a)
}

// listing is what is wanted where no task is named. No path has it as its verb.
const listing = "/"

// routes are what can be wanted of a task, and by which methods.
var routes = map[string][]string{
	"":       {http.MethodGet, http.MethodHead, http.MethodDelete},
	listing:  {http.MethodGet, http.MethodHead},
	"result": {http.MethodGet, http.MethodHead},
	"events": {http.MethodGet},
	"cancel": {http.MethodPost},
}

// split takes a path apart: the id, and what is wanted of it. It works below Site.Path, and where a router has cut that off.
func (h *StatusHandler) split(u *url.URL) (id, verb string) {
	path := u.Path
	if rest, ok := strings.CutPrefix(path, h.site.Path); ok && (rest == "" || rest[0] == '/') {
		path = rest
	}
	id, verb, _ = strings.Cut(strings.Trim(path, "/"), "/")
	if before, action, ok := strings.Cut(id, ":"); ok && verb == "" {
		return before, action
	}
	return id, verb
}

// mine reports whether a task is one of an endpoint, and the principal's. Any other is not found.
func mine(principal string) func(*kernel.Task) bool {
	want := label(principal)
	return func(t *kernel.Task) bool {
		have, ok := t.Labels[labelPrincipal]
		return ok && have == want && strings.HasPrefix(t.Kind, kindPrefix)
	}
}

// find reads the task of a request, after the wait that it asks for.
func (h *StatusHandler) find(ctx context.Context, a asked, done func(*kernel.Task) bool) (kernel.Task, *Problem) {
	wait, p := waitOf(a.r)
	if p != nil {
		return kernel.Task{}, p
	}
	if wait > 0 {
		extend(a.w, min(wait, h.site.MaxWait)+h.site.StoreTimeout+10*time.Second)
	}
	t, err := h.site.await(ctx, h.k, &wish{id: a.id, mine: mine(a.principal), wait: wait, done: done})
	if err != nil {
		return t, h.site.unread(err, a.id, a.principal)
	}
	return t, nil
}

// status tells how a task stands. Who names the version it knows waits for another one, else for the end.
func (h *StatusHandler) status(ctx context.Context, a asked) *Problem {
	known := a.r.Header.Get("If-None-Match")
	t, p := h.find(ctx, a, func(t *kernel.Task) bool {
		if known == "" {
			return ended(t)
		}
		d := Document{version: t.Version}
		return !matches(known, d.etag())
	})
	if p != nil {
		return p
	}
	d := h.site.document(&t)
	h.site.headers(a.w, &d)
	switch {
	case known != "" && matches(known, d.etag()):
		a.w.WriteHeader(http.StatusNotModified)
	case d.Status == Completed && a.r.URL.Query().Has("redirect"):
		a.w.Header().Set("Location", target(&t, &d))
		a.w.WriteHeader(http.StatusSeeOther)
	default:
		h.site.Shown(a.w, a.r, d)
	}
	return nil
}

// target is where a client is sent for the result.
func target(t *kernel.Task, d *Document) string {
	if r, err := decodeResult(t.Result); err == nil && r.Location != "" {
		return r.Location
	}
	return d.Links.Result
}

// matches reports whether a list of entity tags has one. The comparison is weak.
func matches(list, etag string) bool {
	for _, tag := range strings.Split(list, ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
			return true
		}
	}
	return false
}
