package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// route is one line of the table.
type route struct {
	method, path string
	scope        Scope
	what         string       // in one line
	in, out      reflect.Type // nil: no body
	status       int          // of a good answer
	query        []parameter
	refuses      []int    // statuses beside those that every route may have
	media        string   // not empty: it writes its answer itself, and of this type
	takes        []string // not empty: it reads its body itself, of one of these types
	do           func(q *request) (any, error)
}

// parameter is one of a query.
type parameter struct{ name, what string }

// none is no body.
type none struct{}

// on makes a line of the table.
func on[In, Out any](scope Scope, pattern, what string, do func(q *request, in In) (Out, error)) route {
	method, path, _ := strings.Cut(pattern, " ")
	r := route{method: method, path: path, scope: scope, what: what, status: http.StatusOK}
	if t := reflect.TypeFor[In](); t != reflect.TypeFor[none]() {
		r.in = t
	}
	if t := reflect.TypeFor[Out](); t != reflect.TypeFor[none]() {
		r.out = t
	} else {
		r.status = http.StatusNoContent
	}
	r.do = func(q *request) (any, error) {
		var in In
		if r.in != nil {
			if err := q.decode(&in); err != nil {
				return nil, err
			}
		}
		return do(q, in)
	}
	return r
}

func (r route) gives(status int) route { r.status = status; return r }

func (r route) may(statuses ...int) route { r.refuses = append(r.refuses, statuses...); return r }

// reads says that a line takes its body as it comes.
func (r route) reads(types ...string) route { r.takes = types; return r }

func (r route) asks(list ...parameter) route { r.query = append(r.query, list...); return r }

// request is one request under way.
type request struct {
	context.Context //nolint:containedctx // the request's own, handed on as the context of all that it calls

	s    *Server
	k    *kernel.Kernel // of the namespace
	r    *http.Request
	w    http.ResponseWriter
	who  principal
	undo func() // if the answer cannot be handed over
}

// serve makes the handler of a line: who asks, may they, what do they say, what comes of it.
func (s *Server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.contain(w, rt)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		ctx, cancel := context.WithTimeout(r.Context(), s.cfg.StoreTimeout)
		defer cancel()
		q := &request{Context: ctx, s: s, r: r, w: w}
		if p := s.admit(q, rt.scope); p != nil {
			write(w, p)
			return
		}
		most := s.cfg.MaxBody
		if len(rt.takes) > 0 {
			most = s.cfg.MaxUpload
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		answer, err := rt.do(q)
		switch {
		case err != nil:
			write(w, s.refuse(q, rt, err))
		case rt.media != "":
		case rt.out == nil:
			w.WriteHeader(rt.status)
		default:
			q.answer(rt.status, answer)
		}
	})
}

// contain keeps a panic of a handler from showing itself to anybody but the log.
func (s *Server) contain(w http.ResponseWriter, rt route) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.log.Error("handler panicked", "route", rt.method+" "+rt.path, "err", p, "stack", string(debug.Stack()))
	write(w, problem(http.StatusInternalServerError, "internal", "something went wrong; the log of the daemon tells what"))
}

// answer writes JSON. What cannot be handed over is undone where there is a way.
func (q *request) answer(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		q.s.log.Error("answer not encoded", "err", err)
		write(q.w, problem(http.StatusInternalServerError, "internal", "the answer cannot be written as JSON"))
		return
	}
	_ = http.NewResponseController(q.w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines has none to set
	q.w.Header().Set("Content-Type", "application/json")
	q.w.WriteHeader(status)
	_, err = q.w.Write(append(body, '\n'))
	if (err != nil || q.r.Context().Err() != nil) && q.undo != nil {
		q.undo()
	}
}

// writeTimeout is how long a client may take to read an answer.
const writeTimeout = 30 * time.Second

// write answers with a refusal.
func write(w http.ResponseWriter, p *endpoint.Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
}

// decode reads the body of a request.
func (q *request) decode(into any) error {
	if media, _, _ := strings.Cut(q.r.Header.Get("Content-Type"), ";"); media != "application/json" {
		return problem(http.StatusUnsupportedMediaType, "bad_type", "send JSON with Content-Type: application/json")
	}
	d := json.NewDecoder(q.r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more follows the JSON value")
		}
	}
	var large *http.MaxBytesError
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return problem(http.StatusRequestEntityTooLarge, "too_large", "the request has more than %d bytes", large.Limit)
	case errors.As(err, &typed):
		return problem(http.StatusUnprocessableEntity, "bad_body", "%s is of the wrong type: %s is wanted", typed.Field, typed.Type)
	case errors.Is(err, io.EOF):
		return problem(http.StatusBadRequest, "no_body", "the request has no body")
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return problem(http.StatusUnprocessableEntity, "bad_body", "%s", nearField(err.Error(), reflect.TypeOf(into).Elem()))
	case errors.Is(err, errSpan):
		return problem(http.StatusUnprocessableEntity, "bad_body", "%v", err)
	}
	return problem(http.StatusBadRequest, "bad_json", "the body is not JSON: %v", err)
}

// refuse makes a refusal of an error.
func (s *Server) refuse(q *request, rt route, err error) *endpoint.Problem {
	var p *endpoint.Problem
	if errors.As(err, &p) {
		return p
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{kernel.ErrNotFound, http.StatusNotFound, "not_found"},
		{kernel.ErrFenced, http.StatusConflict, "fenced"},
		{kernel.ErrDead, http.StatusConflict, "dead"},
		{kernel.ErrDuplicate, http.StatusConflict, "duplicate"},
		{kernel.ErrChanged, http.StatusConflict, "changed"},
		{kernel.ErrState, http.StatusConflict, "state"},
		{kernel.ErrInvalid, http.StatusUnprocessableEntity, "invalid"},
	} {
		if errors.Is(err, c.err) {
			return problem(c.status, c.code, "%v", err)
		}
	}
	if errors.Is(err, kernel.ErrInDoubt) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, kernel.ErrClosed) {
		s.log.Warn("store did not answer a request", "route", rt.method+" "+rt.path, "err", err)
		q.w.Header().Set("Retry-After", "1")
		return problem(http.StatusServiceUnavailable, "in_doubt", "the store did not answer; repeat the request with the same id or nonce")
	}
	s.log.Error("request failed", "route", rt.method+" "+rt.path, "err", err)
	return problem(http.StatusInternalServerError, "internal", "something went wrong; the log of the daemon tells what")
}

// waiting is the context of a request that may wait for something, and for the store after that.
func (q *request) waiting(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(q.r.Context(), min(d, q.s.cfg.MaxWait)+q.s.cfg.StoreTimeout)
}
