package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// The types of rows.
const (
	csvRows   = "text/csv"
	jsonLines = "application/x-ndjson"
)

// Recipe makes an HTTP request of each row of a batch: {{.name}} stands for a column.
type Recipe struct {
	Method   string        `json:"method,omitempty"`
	URL      string        `json:"url"`
	Body     string        `json:"body,omitempty"`
	Header   []string      `json:"header,omitempty"` // "Name: value"
	Timeout  time.Duration `json:"timeout,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// Recipes serve batches whose rows are requests.
type Recipes interface {
	// Prepare reads a recipe. It returns the operation that sends its requests, under the given settings, the rule that each row has to keep, and what the batch has
	// to carry along.
	Prepare(r Recipe, cfg batch.Config) (op *RowBatch, rule func(row json.RawMessage) error, carry any, err error)
}

// uploadParameters are those of a batch that is uploaded.
var uploadParameters = []parameter{
	{"app", "the app of the operation; empty: none"},
	{"op", "the operation that processes the rows; processes that serve it take them up. Not with url"},
	{"key", "the same key again is the same batch, for as long as it is on record; Idempotency-Key does the same"},
	{"held", "true: it waits for release"},
	{"skip_bad", "true: rows that are not good are told and left out; otherwise one of them and nothing is submitted"},
	{"label", "name:value; may be given again and again"},
	{"queue", "where its rows wait: default"},
	{"priority", "higher goes first: 0"},
	{"attempts", "how often a row is tried at most: 3"},
	{"timeout", "of one attempt: 30m"},
	{"retention", "how long it is kept once it has ended: 24h"},
	{"limit", "the key of the limit that rows count against"},
	{"url", "the daemon sends a request for each row, to this; {{.name}} stands for a column"},
	{"method", "of these requests: POST with a body, else GET"},
	{"body", "of these requests; {{.name}} is the column as JSON"},
	{"header", "Name: value; may be given again and again"},
}

// BadRow is a row that was not good.
type BadRow struct {
	Line  int64  `json:"line"`
	Error string `json:"error"`
}

// Uploaded is a batch whose rows are durable.
type Uploaded struct {
	ID      string   `json:"id"`
	Existed bool     `json:"existed,omitempty"` // it had been submitted before, under the same key
	Rows    int64    `json:"rows"`
	Bad     int64    `json:"bad,omitempty"`     // rows that were left out
	BadRows []BadRow `json:"badRows,omitempty"` // the first hundred of them
}

// badMost is how many bad rows are told.
const badMost = 100

// upload is a batch that comes in.
type upload struct {
	q     *request
	op    *RowBatch
	opts  batch.Options
	rule  func(json.RawMessage) error // nil: none
	media string
	bad   int64
	told  []BadRow
}

// uploadBatch keeps the rows in a file first: what is wrong with any is known before anything is stored, and a client that is slow keeps no batch half filled.
func uploadBatch(q *request, _ none) (Uploaded, error) {
	u, err := q.upload()
	if err != nil {
		return Uploaded{}, err
	}
	file, err := u.spool()
	if err != nil {
		return Uploaded{}, err
	}
	defer func() { _ = file.Close() }() // it has no name by now
	q.unhurried()
	ctx := q.r.Context() // as long as the client waits: rows may be a million
	skip, err := q.flag("skip_bad")
	if err != nil {
		return Uploaded{}, err
	}
	if _, err := u.op.Check(ctx, q.k, u.rows(file), u.note); err != nil {
		return Uploaded{}, unread(err)
	}
	if u.bad > 0 && !skip {
		p := problem(http.StatusUnprocessableEntity, "bad_rows", "%d rows are not good, and nothing was submitted; mend them, or say skip_bad=true", u.bad)
		p.More = map[string]any{"bad": u.bad, "badRows": u.told}
		return Uploaded{}, p
	}
	u.opts.Bad = func(*batch.LineError) {}
	h, err := u.op.Submit(ctx, q.k, u.rows(file), u.opts)
	if err != nil {
		return Uploaded{}, unread(err)
	}
	s, err := h.Status(ctx)
	if err != nil {
		return Uploaded{}, err
	}
	q.w.Header().Set("Location", "/v1/batches/"+h.ID().String())
	return Uploaded{ID: h.ID().String(), Existed: h.Existed(), Rows: s.Rows, Bad: u.bad, BadRows: u.told}, nil
}

// unread says that what ends the rows before their time is the client's to mend, if it is not the store's.
func unread(err error) error {
	for _, ours := range []error{kernel.ErrInDoubt, kernel.ErrClosed, kernel.ErrState, kernel.ErrDuplicate, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ours) {
			return err
		}
	}
	var disk *os.PathError
	if errors.As(err, &disk) || errors.Is(err, kernel.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %w", kernel.ErrInvalid, err)
}

func (u *upload) note(e *batch.LineError) {
	if u.bad++; len(u.told) < badMost {
		u.told = append(u.told, BadRow{Line: e.Line, Error: e.Err.Error()})
	}
}

// rows are those of the file, from its beginning.
func (u *upload) rows(file *os.File) batch.Source[json.RawMessage] {
	_, _ = file.Seek(0, io.SeekStart) // a file that cannot be read is told by who reads it
	var s batch.Source[json.RawMessage]
	if u.media == csvRows {
		s = batch.CSV[json.RawMessage](file, batch.CSVConfig{})
	} else {
		s = batch.JSONLines[json.RawMessage](file)
	}
	if u.rule != nil {
		s = s.Check(u.rule)
	}
	return s
}

// upload reads the parameters.
func (q *request) upload() (*upload, error) {
	u := &upload{q: q}
	media, _, _ := strings.Cut(q.r.Header.Get("Content-Type"), ";")
	switch u.media = strings.ToLower(strings.TrimSpace(media)); u.media {
	case csvRows, jsonLines:
	default:
		return nil, problem(http.StatusUnsupportedMediaType, "bad_type", "send rows as %s or %s", csvRows, jsonLines)
	}
	query := q.r.URL.Query()
	held, err := q.flag("held")
	if err != nil {
		return nil, err
	}
	u.opts = batch.Options{Key: query.Get("key"), Hold: held}
	if u.opts.Key == "" {
		u.opts.Key = q.r.Header.Get("Idempotency-Key")
	}
	if u.opts.Labels, err = labelsOf(query); err != nil {
		return nil, err
	}
	cfg, err := q.batchConfig()
	if err != nil {
		return nil, err
	}
	return u, u.operation(cfg)
}

// batchConfig reads what holds for the rows.
func (q *request) batchConfig() (cfg batch.Config, err error) {
	query := q.r.URL.Query()
	cfg = batch.Config{Queue: query.Get("queue"), Limit: query.Get("limit"), Files: true}
	if cfg.Priority, err = q.number("priority"); err != nil {
		return cfg, err
	}
	attempts, err := q.number("attempts")
	if err != nil {
		return cfg, err
	}
	if attempts > 0 {
		cfg.Retry = kernel.Retry{Max: attempts, Base: time.Second, Factor: 2, Cap: 5 * time.Minute}
	}
	if cfg.Timeout, err = q.span("timeout"); err != nil {
		return cfg, err
	}
	cfg.Retention, err = q.span("retention")
	return cfg, err
}

// operation finds who processes the rows: an operation by its name, or the requests of a recipe.
func (u *upload) operation(cfg batch.Config) (err error) {
	q, query := u.q, u.q.r.URL.Query()
	op, target := query.Get("op"), query.Get("url")
	switch {
	case (op == "") == (target == ""):
		return fmt.Errorf("%w: give op, the operation that processes the rows, or url, where a request is sent for each", kernel.ErrInvalid)
	case op != "":
		if app := query.Get("app"); app != "" {
			op = app + "/" + op
		}
		u.op, err = named(op, cfg)
		return err
	}
	recipes := q.recipes()
	if recipes == nil {
		return problem(http.StatusNotImplemented, "no_calls", "this daemon sends no requests for rows")
	}
	r := Recipe{Method: query.Get("method"), URL: target, Body: query.Get("body"), Header: query["header"], Timeout: cfg.Timeout, Attempts: cfg.Retry.Max}
	u.op, u.rule, u.opts.Context, err = recipes.Prepare(r, cfg)
	if err != nil {
		return fmt.Errorf("%w: %w", kernel.ErrInvalid, err)
	}
	return nil
}

// recipes are those of the namespace.
func (q *request) recipes() Recipes {
	if q.k != q.s.k {
		return q.s.cfg.Spaces[q.who.namespace].Recipes
	}
	return q.s.cfg.Recipes
}

// named is an operation that others serve. Define panics on a name that is none: here it comes from outside.
func named(name string, cfg batch.Config) (op *RowBatch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %.80q is no name of an operation; use letters, digits, dots, dashes and underlines", kernel.ErrInvalid, name)
		}
	}()
	return batch.Define(name, batch.Processor[struct{}, json.RawMessage, json.RawMessage]{
		Row: func(context.Context, struct{}, batch.Row[json.RawMessage]) (r batch.Result[json.RawMessage], err error) {
			return r, errors.New("it is not served here")
		},
	}, cfg), nil
}

// spool keeps the body in a file without a name, which goes with the process.
func (u *upload) spool() (_ *os.File, err error) {
	f, err := os.CreateTemp("", "outlast-upload-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = io.Copy(f, steady{u.q})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = problem(http.StatusRequestEntityTooLarge, "too_large", "the rows have more than %d bytes", large.Limit)
	case err != nil:
		err = problem(http.StatusBadRequest, "cut_off", "the rows were cut off: %v", err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// steady lets a body take as long as it comes at all.
type steady struct{ q *request }

func (s steady) Read(b []byte) (int, error) {
	extend(s.q.w, writeTimeout)
	return s.q.r.Body.Read(b)
}

// unhurried takes the timeouts of the server off a request whose work has no bound but its size.
func (q *request) unhurried() {
	c := http.NewResponseController(q.w)
	_ = c.SetWriteDeadline(time.Time{}) // a writer without deadlines has none to lift
	_ = c.SetReadDeadline(time.Time{})
}
