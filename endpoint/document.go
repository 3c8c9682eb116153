package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Document is the status of a task as clients see it.
type Document struct {
	ID     string `json:"id"`
	Name   string `json:"name"`   // of the endpoint
	Status State  `json:"status"` // its word
	Code   int    `json:"code"`   // its number

	Attempt     int `json:"attempt"` // the one under way, or the next one; once ended, the last one
	MaxAttempts int `json:"maxAttempts"`

	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
	StartedAt     time.Time `json:"startedAt,omitzero"`     // when it was last taken up
	CompletedAt   time.Time `json:"completedAt,omitzero"`   // when it ended, however
	NextAttemptAt time.Time `json:"nextAttemptAt,omitzero"` // while it is scheduled
	ExpiresAt     time.Time `json:"expiresAt,omitzero"`     // when it is gone

	CancelRequested bool      `json:"cancelRequested,omitempty"`
	Progress        *Progress `json:"progress,omitempty"`

	Result     json.RawMessage `json:"result,omitempty"`     // once completed, if it is JSON
	ResultType string          `json:"resultType,omitempty"` // once completed, if it is not JSON: see /result
	Error      *Problem        `json:"error,omitempty"`      // why it failed, or why the last attempt did

	Links Links `json:"links"`

	version int64
	wait    time.Duration // what a client was told by Retry-After
}

// Progress is what the function last said of how far it is.
type Progress struct {
	Done  int64     `json:"done"`
	Total int64     `json:"total"`
	Note  string    `json:"note,omitempty"`
	At    time.Time `json:"at"`
}

// Links tell where else to look.
type Links struct {
	Self   string `json:"self"`
	Events string `json:"events"`
	Result string `json:"result"`
	Cancel string `json:"cancel"`
}

func (s *Site) links(id kernel.ID) Links {
	self := s.location(id)
	return Links{Self: self, Events: self + "/events", Result: self + "/result", Cancel: self + ":cancel"}
}

// document makes the status of a task.
func (s *Site) document(t *kernel.Task) Document {
	state := wire[t.Read()]
	d := Document{
		ID: t.ID.String(), Name: strings.TrimPrefix(t.Kind, kindPrefix), Status: state, Code: int(state),
		Attempt: attempt(t), MaxAttempts: max(t.Retry.Max, 1),
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(), StartedAt: t.StartedAt.UTC(), CompletedAt: t.EndedAt.UTC(), ExpiresAt: t.ExpireAt.UTC(),
		CancelRequested: t.Asked != "" && !state.Ended(), Links: s.links(t.ID), version: t.Version,
	}
	if state == Scheduled {
		d.NextAttemptAt = t.DueAt.UTC()
	}
	if p := t.Progress; !p.At.IsZero() {
		d.Progress = &Progress{Done: p.Done, Total: p.Total, Note: p.Note, At: p.At.UTC()}
	}
	switch {
	case state == Completed:
		d.showResult(t)
	case state == Canceled:
		d.Error = problem(http.StatusConflict, "canceled", "the task was canceled: %s", t.Reason)
	case t.Error != nil || state == Failed:
		d.Error = failure(t)
	}
	return d
}

// attempt never goes back: a run that is put back after a crash is the same attempt.
func attempt(t *kernel.Task) int {
	if t.State == "failed" && t.Reason != "crashed" && t.Reason != "corrupt" || t.State == "done" && t.Attempts >= max(t.Retry.Max, 1) {
		return max(t.Attempts, 1)
	}
	return t.Attempts + 1
}

func (d *Document) showResult(t *kernel.Task) {
	if t.Stripped {
		return
	}
	r, err := decodeResult(t.Result)
	switch {
	case err != nil || r.Type == "":
	case r.isJSON():
		d.Result = r.Body
	default:
		d.ResultType = r.Type
	}
}

// failure makes a problem of how a task failed, or its last attempt. What a panic said and where is not for clients.
func failure(t *kernel.Task) *Problem {
	if t.State == "failed" && len(t.Result) > 0 {
		var p Problem
		if json.Unmarshal(t.Result, &p) == nil {
			return &p
		}
	}
	p := &Problem{Status: http.StatusInternalServerError, Code: t.Reason}
	if t.State == "failed" {
		p.Title = "the task has failed"
	} else {
		p.Title = "the last attempt has failed"
	}
	if e := t.Error; e != nil {
		p.Detail = e.Message
		if e.Type != "" {
			p.Code = e.Type
		}
		if e.Type == "panic" {
			p.Detail = "the program failed"
		}
	}
	return p
}

// etag names this version of the status.
func (d *Document) etag() string { return `"` + strconv.FormatInt(d.version, 36) + `"` }

// headers sets what every answer about a task has.
func (s *Site) headers(w http.ResponseWriter, d *Document) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if d.version > 0 {
		h.Set("ETag", d.etag())
		h.Set("Cache-Control", "private, no-cache")
	}
	if !d.Status.Ended() {
		h.Set("Retry-After", seconds(s.RetryAfter(*d)))
	}
}

// writeJSON is the usual writer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // a result that is no JSON does not get here
		status, body = http.StatusInternalServerError, []byte(`{"status":500,"title":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
