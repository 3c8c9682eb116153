package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// RowBatch is an operation on rows as the API knows all of them: inputs and results are JSON.
type RowBatch = batch.Batch[struct{}, json.RawMessage, json.RawMessage]

// BatchStatus is how a batch stands.
type BatchStatus struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`  // of the operation: op, or app/op
	State      string            `json:"state"` // wait, queued, inprog, success, failed, aborted
	Rows       int64             `json:"rows"`
	Success    int64             `json:"success"`
	Failed     int64             `json:"failed"`
	Aborted    int64             `json:"aborted"`
	Filling    bool              `json:"filling,omitempty"`  // its rows are being submitted
	Unserved   bool              `json:"unserved,omitempty"` // rows wait, and nobody serves them
	Reason     string            `json:"reason,omitempty"`   // why it was aborted
	Generation int               `json:"generation"`
	DoneError  string            `json:"doneError,omitempty"` // why its closing task has not done its work
	Labels     map[string]string `json:"labels,omitempty"`
	CreatedAt  time.Time         `json:"createdAt"`
	ClosedAt   time.Time         `json:"closedAt,omitzero"`
}

func batchOf(s batch.Status) BatchStatus {
	return BatchStatus{
		ID: s.ID.String(), Name: s.Name, State: string(s.State), Rows: s.Rows, Success: s.Success, Failed: s.Failed, Aborted: s.Aborted, Filling: s.Filling,
		Unserved: s.Unserved, Reason: s.Reason, Generation: s.Generation, DoneError: s.DoneError, Labels: s.Labels, CreatedAt: s.CreatedAt, ClosedAt: s.ClosedAt,
	}
}

// Batches is a page of a list.
type Batches struct {
	Batches []BatchStatus `json:"batches"`
	Before  string        `json:"before,omitempty"` // the parameter of the next page; empty: there is none
}

func listBatches(q *request, _ none) (Batches, error) {
	page, err := q.page()
	if err != nil {
		return Batches{}, err
	}
	query := q.r.URL.Query()
	opts := batch.ListOptions{Name: query.Get("op"), Limit: page.Limit}
	if app := query.Get("app"); app != "" {
		opts.Name = app + "/" + opts.Name
	}
	for name, at := range map[string]*time.Time{"after": &opts.After, "before": &opts.Before} {
		if *at, err = instant(query, name); err != nil {
			return Batches{}, err
		}
	}
	list, err := batch.List(q, q.k, opts)
	if err != nil {
		return Batches{}, err
	}
	out := Batches{Batches: make([]BatchStatus, len(list))}
	for i, s := range list {
		out.Batches[i] = batchOf(s)
	}
	if len(list) == page.Limit {
		out.Before = list[len(list)-1].CreatedAt.UTC().Format(time.RFC3339Nano)
	}
	return out, nil
}

// onBatch begins with the handle of the batch in the path.
func onBatch[In, Out any](do func(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], in In) (Out, error)) func(*request, In) (Out, error) {
	return withID(func(q *request, id kernel.ID, in In) (Out, error) { return do(q, batch.Open(q.k, id), in) })
}

func getBatch(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], _ none) (BatchStatus, error) {
	wait, err := q.span("wait")
	if err != nil {
		return BatchStatus{}, err
	}
	if wait = min(wait, q.s.cfg.MaxWait); wait > 0 {
		ctx, cancel := context.WithTimeout(q.r.Context(), wait)
		defer cancel()
		extend(q.w, wait+q.s.cfg.StoreTimeout+writeTimeout)
		if s, err := h.Wait(ctx); err == nil || errors.Is(err, kernel.ErrNotFound) {
			return batchOf(s), err
		}
	}
	ctx, cancel := q.waiting(0)
	defer cancel()
	s, err := h.Status(ctx)
	return batchOf(s), err
}

// BatchRow is how a row of a batch stands.
type BatchRow struct {
	Line      int64             `json:"line"`
	Task      string            `json:"task"`
	State     string            `json:"state"` // queued, inprog, success, failed, aborted
	Input     json.RawMessage   `json:"input,omitempty"`
	Result    json.RawMessage   `json:"result,omitempty"`
	Messages  []batch.Message   `json:"messages,omitempty"`
	Files     map[string]string `json:"files,omitempty"`
	Error     string            `json:"error,omitempty"`
	Attempts  int               `json:"attempts"` // that have failed
	Crashes   int               `json:"crashes,omitempty"`
	StartedAt time.Time         `json:"startedAt,omitzero"`
	EndedAt   time.Time         `json:"endedAt,omitzero"`
}

// BatchRows is a page of rows, by line.
type BatchRows struct {
	Rows   []BatchRow `json:"rows"`
	Cursor string     `json:"cursor,omitempty"`
}

func listRows(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], _ none) (BatchRows, error) {
	page, err := q.page()
	if err != nil {
		return BatchRows{}, err
	}
	opts := batch.RowsOptions{Cursor: page.Cursor, Limit: page.Limit}
	for _, text := range q.r.URL.Query()["state"] {
		for word := range strings.SplitSeq(text, ",") {
			switch s := batch.State(word); s {
			case batch.Queued, batch.InProg, batch.Success, batch.Failed, batch.Aborted:
				opts.States = append(opts.States, s)
			default:
				return BatchRows{}, problem(http.StatusBadRequest, "bad_query", "state is %.40q; there are queued, inprog, success, failed, aborted", word)
			}
		}
	}
	p, err := h.Rows(q, opts)
	if err != nil {
		return BatchRows{}, err
	}
	out := BatchRows{Rows: make([]BatchRow, len(p.Rows)), Cursor: p.Cursor}
	for i, r := range p.Rows {
		out.Rows[i] = BatchRow{
			Line: r.Line, Task: r.Task.String(), State: string(r.State), Input: r.Input, Result: r.Out, Messages: r.Messages, Files: r.Files, Error: r.Error,
			Attempts: r.Attempts, Crashes: r.Crashes, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		}
	}
	return out, nil
}

// BatchFiles are the output files of a batch.
type BatchFiles struct {
	Files []batch.File `json:"files"`
}

func listFiles(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], _ none) (BatchFiles, error) {
	list, err := h.Files(q)
	return BatchFiles{Files: list}, err
}

// binary is the type of answers that are handed on as they are.
const binary = "application/octet-stream"

// fetchFile hands on an output file, as a stream.
func fetchFile(q *request) (err error) {
	id, err := q.id()
	if err != nil {
		return err
	}
	name := q.r.PathValue("file")
	f, err := batch.Open(q.k, id).OpenFile(q.r.Context(), name)
	if errors.Is(err, batch.ErrNoFile) {
		return problem(http.StatusNotFound, "not_found", "the batch has no output file %.80q, or not yet", name)
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	q.w.Header().Set("Content-Type", binary)
	q.w.Header().Set("Content-Disposition", "attachment")
	if _, err := io.Copy(patient{q.w}, f); err != nil {
		panic(http.ErrAbortHandler) // a file that is cut off must not look whole
	}
	return nil
}

// patient gives a client time for each part of a long answer.
type patient struct{ w http.ResponseWriter }

func (p patient) Write(b []byte) (int, error) {
	extend(p.w, writeTimeout)
	return p.w.Write(b)
}

// BatchChange is what an order to a batch came to.
type BatchChange struct {
	ID   string `json:"id"`
	Rows int64  `json:"rows"` // that the order is about
}

func releaseBatch(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], _ Reason) (BatchChange, error) {
	n, err := h.Release(q)
	return BatchChange{ID: h.ID().String(), Rows: n}, err
}

func retryBatch(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], _ Reason) (BatchChange, error) {
	ctx, cancel := q.waiting(q.s.cfg.MaxWait) // as many steps as there are chunks of rows; cut off, it may be repeated
	defer cancel()
	extend(q.w, q.s.cfg.MaxWait+q.s.cfg.StoreTimeout+writeTimeout)
	n, err := h.Retry(ctx)
	return BatchChange{ID: h.ID().String(), Rows: n}, err
}

func abortBatch(q *request, h *batch.Handle[json.RawMessage, json.RawMessage], in Reason) (BatchStatus, error) {
	s, err := h.Abort(q, in.Reason)
	return batchOf(s), err
}

// number reads a number of the query that is not below 0.
func (q *request) number(name string) (int, error) {
	text := q.r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, problem(http.StatusBadRequest, "bad_query", "%s is %.40q; give a number", name, text)
	}
	return n, nil
}

// flag reads a parameter that is true or false.
func (q *request) flag(name string) (bool, error) {
	switch text := q.r.URL.Query().Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s is %.40q; give true or false", kernel.ErrInvalid, name, text)
	}
}
