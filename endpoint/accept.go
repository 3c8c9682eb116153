package endpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Handler returns what accepts requests for the endpoint: mount it on the routes and methods that it shall answer. k need not
// run: it then accepts for others. It panics on a Config that cannot work.
func (e *Endpoint[T, R]) Handler(k *kernel.Kernel, cfg Config) *Acceptor {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		panic(fmt.Sprintf("endpoint %s: Config: %v", e.name, err))
	}
	limit := cfg.MaxBody
	if most := int64(k.MaxPayload()); most >= 0 && (limit == 0 || limit > most && k.BlobThreshold() < 0) {
		limit = most
	}
	return &Acceptor{
		k: k, cfg: cfg, site: &cfg.Site, name: e.name, kind: e.Kind(), body: kindOf[T](), limit: limit,
		in: reflect.TypeFor[T](), out: reflect.TypeFor[R](), checks: e.check != nil,
		gauge: &gauge{k: k, queue: cfg.Queue, limit: cfg.MaxWaiting},
		check: func(w http.ResponseWriter, r *http.Request, s *stored) error {
			in, err := request[T](s)
			if err != nil || e.check == nil {
				return err
			}
			return e.check(w, r, in)
		},
	}
}

// Acceptor is the http.Handler that accepts requests for an endpoint.
type Acceptor struct {
	k      *kernel.Kernel
	cfg    Config
	site   *Site
	name   string
	kind   string
	body   bodyKind
	limit  int64 // of the body; 0: none
	in     reflect.Type
	out    reflect.Type
	checks bool
	gauge  *gauge
	check  func(http.ResponseWriter, *http.Request, *stored) error
}

// ServeHTTP checks a request, stores it and answers. Nothing is answered with 202 before it is durable.
func (a *Acceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &written{ResponseWriter: w}
	if p := a.accept(seen, r); p != nil && !seen.wrote {
		a.site.refuse(w, r, p)
	}
}

// accept does it all. What it returns is refused.
func (a *Acceptor) accept(w *written, r *http.Request) *Problem {
	principal, p := a.site.who(r)
	if p != nil {
		return p
	}
	key, p := keyOf(r)
	if p != nil {
		return p
	}
	if key == "" && a.cfg.RequireKey {
		return problem(http.StatusBadRequest, "no_key", "an Idempotency-Key is needed")
	}
	if key == "" && a.gauge.full(r.Context()) {
		return a.fullHouse(w) // before the body is read
	}
	b := &keeper{k: a.k, id: newID(a.k, principal)}
	doc, p := a.take(w, r, &ask{principal: principal, key: key, keeper: b})
	if doubt := p != nil && p.Code == codeInDoubt; !doubt && doc.ID != b.id.String() {
		b.drop(r.Context()) // it was not stored, or another task stands
	}
	if p != nil || w.wrote {
		return p
	}
	return a.answer(w, r, doc)
}

// ask is one request on its way.
type ask struct {
	principal, key string
	keeper         *keeper
}

// take reads a request, lets it be checked, and stores it.
func (a *Acceptor) take(w *written, r *http.Request, q *ask) (Document, *Problem) {
	s, p := a.read(w, r, q.keeper)
	if p != nil || w.wrote {
		return Document{}, p
	}
	data, p := args(a.k, s)
	if p != nil {
		return Document{}, p
	}
	spec := a.cfg.spec(a.kind)
	spec.ID, spec.Args = q.keeper.id, data
	spec.Labels = map[string]string{labelPrincipal: label(q.principal)}
	spec.Correlation, spec.Trace = short(r.Header.Get("X-Request-Id")), short(r.Header.Get("Traceparent"))
	if q.key != "" {
		spec.Unique, spec.Fingerprint = unique(q.principal, q.key), s.fingerprint()
	}
	return a.submit(w, r, spec)
}

// read takes body and the rest of a request and lets it be checked.
func (a *Acceptor) read(w *written, r *http.Request, b *keeper) (*stored, *Problem) {
	if a.limit > 0 {
		r.Body = http.MaxBytesReader(w.ResponseWriter, r.Body, a.limit)
	}
	s := a.cfg.capture(r)
	if p := readBody(r, a.body, s, b); p != nil {
		return nil, p
	}
	err := a.check(w, r, s)
	if err == nil || w.wrote {
		return s, nil
	}
	if p := asProblem(err); p != nil {
		return nil, p
	}
	return nil, problem(http.StatusUnprocessableEntity, "invalid", "%s", err)
}

// submit stores a task and returns how it stands: itself, or the one that was accepted under its key before.
func (a *Acceptor) submit(w http.ResponseWriter, r *http.Request, spec kernel.Spec) (Document, *Problem) {
	ctx, cancel := context.WithTimeout(r.Context(), a.site.StoreTimeout)
	defer cancel()
	if spec.Unique.Key != "" && a.gauge.full(ctx) {
		if before, found := a.before(ctx, &spec); found {
			return before, nil // it was accepted while there was room
		}
		return Document{}, a.fullHouse(w)
	}
	stands, err := a.k.Submit(ctx, spec)
	switch {
	case errors.Is(err, kernel.ErrInvalid):
		return Document{}, problem(http.StatusUnprocessableEntity, "invalid", "the request cannot be stored")
	case errors.Is(err, kernel.ErrInDoubt):
		a.site.Logger.Error("submit in doubt", "kind", a.kind, "task", spec.ID.String(), "err", err)
		return Document{}, problem(http.StatusServiceUnavailable, codeInDoubt, "the store did not answer: it is open whether the request was accepted; repeat it with its Idempotency-Key")
	case err != nil:
		a.site.Logger.Error("submit not accepted", "kind", a.kind, "err", err)
		return Document{}, problem(http.StatusServiceUnavailable, "unavailable", "the request was not accepted")
	case stands.Existed && stands.Fingerprint != spec.Fingerprint:
		return Document{}, reused()
	case stands.Existed && stands.ID != spec.ID:
		task, err := a.k.Get(ctx, stands.ID)
		if err != nil {
			a.site.Logger.Error("status not read", "kind", a.kind, "task", stands.ID.String(), "err", err)
			return Document{}, problem(http.StatusServiceUnavailable, "unavailable", "the status could not be read; repeat the request")
		}
		return a.site.document(&task), nil
	}
	a.gauge.took()
	return a.fresh(&spec, stands), nil
}

// codeInDoubt tells of a request that may have been accepted.
const codeInDoubt = "in_doubt"

func reused() *Problem {
	return problem(http.StatusUnprocessableEntity, "key_reused", "the Idempotency-Key was used before, for another request")
}

// before finds the task that was accepted under the same key for the same request.
func (a *Acceptor) before(ctx context.Context, spec *kernel.Spec) (Document, bool) {
	page, err := a.k.List(ctx, kernel.Filter{Kinds: []string{a.kind}, Unique: spec.Unique.Key}, kernel.PageRequest{Limit: 1})
	if err != nil || len(page.Items) == 0 || page.Items[0].Fingerprint != spec.Fingerprint {
		return Document{}, false
	}
	task, err := a.k.Get(ctx, page.Items[0].ID)
	return a.site.document(&task), err == nil
}

// fresh is the status of a task that was just stored, without a second look at the store: its times are those of this process.
func (a *Acceptor) fresh(spec *kernel.Spec, stands kernel.Submitted) Document {
	var ms [8]byte
	copy(ms[2:], spec.ID[:6])
	at := time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
	t := kernel.Task{Spec: *spec, State: stands.State, CreatedAt: at, UpdatedAt: at}
	return a.site.document(&t)
}

// answer tells that a request was accepted or, to who prefers to wait, what came of it.
func (a *Acceptor) answer(w http.ResponseWriter, r *http.Request, doc Document) *Problem {
	prefer := preferences(r)
	if a.site.MaxWait < 0 {
		prefer.noWait()
	}
	prefer.tell(w)
	w.Header().Set("Location", doc.Links.Self)
	w.Header().Set("Operation-Location", a.site.absolute(r, doc.Links.Self))
	if prefer.waits {
		id, _ := kernel.ParseID(doc.ID) // it was written by us
		extend(w, min(prefer.wait, a.site.MaxWait)+a.site.StoreTimeout+10*time.Second)
		task, err := a.site.await(r.Context(), a.k, &wish{id: id, wait: prefer.wait, done: ended})
		switch {
		case err != nil:
			a.site.Logger.Warn("status not read", "kind", a.kind, "task", doc.ID, "err", err) // it was accepted all the same
		case ended(&task):
			return a.site.writeResult(w, r, &task)
		default:
			doc = a.site.document(&task)
		}
	}
	a.site.headers(w, &doc)
	w.Header().Del("ETag") // it would name the status, which is at another place
	w.Header().Set("Cache-Control", "no-store")
	a.site.Accepted(w, r, doc)
	return nil
}

// fullHouse refuses what finds no room.
func (a *Acceptor) fullHouse(w http.ResponseWriter) *Problem {
	w.Header().Set("Retry-After", "2")
	return problem(a.cfg.FullStatus, "queue_full", "too much waits already; try again later")
}

// short returns a text if it can stand in a record.
func short(text string) string {
	if label(text) != text {
		return ""
	}
	return text
}

// written notes whether an answer was begun.
type written struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader begins the answer.
func (w *written) WriteHeader(status int) {
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer, or goes on with it.
func (w *written) Write(b []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find what lies beneath.
func (w *written) Unwrap() http.ResponseWriter { return w.ResponseWriter }
