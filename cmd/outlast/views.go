package main

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/store"
)

// taskView is a task as it is printed for programs. Fields may come; none goes or changes its meaning.
type taskView struct {
	ID          store.ID          `json:"id"`
	Kind        string            `json:"kind"`
	Queue       string            `json:"queue"`
	Lane        string            `json:"lane,omitempty"`
	Limit       string            `json:"limit,omitempty"`
	Order       string            `json:"order,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	State       store.State       `json:"state"`
	Reason      string            `json:"reason,omitempty"`
	Asked       string            `json:"asked,omitempty"`
	Worker      string            `json:"worker,omitempty"`
	Attempts    int               `json:"attempts"`
	MaxAttempts int               `json:"max_attempts"`
	Crashes     int               `json:"crashes,omitempty"`
	Suspect     bool              `json:"suspect,omitempty"`
	Round       int               `json:"round,omitempty"`
	Group       store.ID          `json:"group,omitzero"`
	Line        int64             `json:"line,omitempty"`
	Parent      store.ID          `json:"parent,omitzero"`
	Key         string            `json:"key,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Trace       string            `json:"trace,omitempty"`
	Sealed      bool              `json:"sealed,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	DueAt       time.Time         `json:"due_at,omitzero"`
	StartedAt   time.Time         `json:"started_at,omitzero"`
	DeadlineAt  time.Time         `json:"deadline_at,omitzero"`
	EndedAt     time.Time         `json:"ended_at,omitzero"`
	ExpireAt    time.Time         `json:"expire_at,omitzero"`
	Progress    *progressView     `json:"progress,omitempty"`
	Error       *errorView        `json:"error,omitempty"`
}

type progressView struct {
	Done  int64     `json:"done"`
	Total int64     `json:"total,omitempty"`
	Note  string    `json:"note,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

type errorView struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
}

func viewTask(t *store.Task) taskView {
	v := taskView{
		ID: t.ID, Kind: t.Kind, Queue: t.Queue, Lane: t.Lane, Limit: t.Limit, Order: string(t.Order), Priority: t.Priority,
		State: t.Read(), Reason: t.Reason, Asked: t.Asked, Worker: t.Worker, Attempts: t.Attempts, MaxAttempts: max(t.Retry.Max, 1),
		Crashes: t.Crashes, Suspect: t.Suspect, Round: t.Round, Group: t.Group, Line: t.Line, Parent: t.Parent, Key: t.Unique.Key,
		Labels: t.Labels, Correlation: t.Correlation, Trace: t.Trace, Sealed: !t.Sealed.IsZero(), CreatedAt: t.CreatedAt.UTC(),
		DueAt: utc(t.DueAt), StartedAt: utc(t.StartedAt), DeadlineAt: utc(t.DeadlineAt), EndedAt: utc(t.EndedAt), ExpireAt: utc(t.ExpireAt),
	}
	if p := t.Progress; !p.At.IsZero() {
		v.Progress = &progressView{p.Done, p.Total, p.Note, p.At.UTC()}
	}
	if t.Error != nil {
		v.Error = &errorView{t.Error.Message, t.Error.Type}
	}
	return v
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// eventView is one line of a task's history.
type eventView struct {
	At     time.Time       `json:"at"`
	Kind   store.EventKind `json:"kind"`
	Epoch  int64           `json:"epoch,omitempty"`
	Worker string          `json:"worker,omitempty"`
	Text   string          `json:"text,omitempty"`
}

// payload is bytes of a user's as JSON: as they are if they are JSON, as a string if they are text, else in base64.
func payload(b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case json.Valid(b):
		return json.RawMessage(b)
	case utf8.Valid(b):
		return string(b)
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}
}

// payloadText is the same for people.
func payloadText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// stateStyle is how a state looks.
func stateStyle(s store.State) cli.Style {
	switch s {
	case store.Done:
		return cli.Green
	case store.Failed:
		return cli.Red
	case store.Held, store.Cancelled:
		return cli.Yellow
	case store.Running, store.Ending:
		return cli.Cyan
	}
	return cli.Normal
}

// each prints items of a list: one object per line, or a table.
func each[T any](l *cli.Line, items []T, view func(T) any, headings []string, row func(T) []cli.Cell) error {
	rows := make([][]cli.Cell, 0, len(items))
	for _, item := range items {
		if l.AsJSON() {
			if err := l.JSON(view(item)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, row(item))
	}
	if !l.AsJSON() && len(rows) > 0 {
		l.Table(headings, rows)
	}
	return nil
}
