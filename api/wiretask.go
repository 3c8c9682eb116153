package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Fault is how an attempt failed.
type Fault struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
}

// Progress is how far a run is.
type Progress struct {
	Done  int64     `json:"done"`
	Total int64     `json:"total"`
	Note  string    `json:"note,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Event is one line of a task's history.
type Event struct {
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Epoch  int64     `json:"epoch"`
	Worker string    `json:"worker,omitempty"`
	Text   string    `json:"text,omitempty"`
}

// Task is a task as it is on record. Args and result are JSON; what is not stands in argsBase64 and resultBase64.
type Task struct {
	ID           string            `json:"id"`
	Kind         string            `json:"kind"`
	Queue        string            `json:"queue"`
	Lane         string            `json:"lane,omitempty"`
	Limit        string            `json:"limit,omitempty"`
	Priority     int               `json:"priority,omitempty"`
	State        string            `json:"state"`
	Reason       string            `json:"reason,omitempty"`
	Asked        string            `json:"asked,omitempty"` // why it was asked to end
	Attempts     int               `json:"attempts"`
	MaxAttempts  int               `json:"maxAttempts"`
	Crashes      int               `json:"crashes,omitempty"`
	Suspect      bool              `json:"suspect,omitempty"`
	Round        int               `json:"round,omitempty"`
	Version      int64             `json:"version"`
	Worker       string            `json:"worker,omitempty"`
	Group        string            `json:"group,omitempty"`
	Parent       string            `json:"parent,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Correlation  string            `json:"correlation,omitempty"`
	Trace        string            `json:"trace,omitempty"`
	CreatedAt    time.Time         `json:"createdAt"`
	DueAt        time.Time         `json:"dueAt,omitzero"`
	StartedAt    time.Time         `json:"startedAt,omitzero"`
	DeadlineAt   time.Time         `json:"deadlineAt,omitzero"`
	EndedAt      time.Time         `json:"endedAt,omitzero"`
	UpdatedAt    time.Time         `json:"updatedAt"`
	ExpireAt     time.Time         `json:"expireAt,omitzero"`
	Progress     *Progress         `json:"progress,omitempty"`
	Error        *Fault            `json:"error,omitempty"`
	Args         json.RawMessage   `json:"args,omitempty"`
	ArgsBase64   []byte            `json:"argsBase64,omitempty"`
	Result       json.RawMessage   `json:"result,omitempty"`
	ResultBase64 []byte            `json:"resultBase64,omitempty"`
	History      []Event           `json:"history,omitempty"`
}

// taskOf shows a task; payloads that are sealed, or not asked for, are left out.
func taskOf(t *kernel.Task, payloads bool) Task {
	v := Task{
		ID: t.ID.String(), Kind: t.Kind, Queue: t.Queue, Lane: t.Lane, Limit: t.Limit, Priority: t.Priority, State: string(t.Read()), Reason: t.Reason,
		Asked: t.Asked, Attempts: t.Attempts, MaxAttempts: max(t.Retry.Max, 1), Crashes: t.Crashes, Suspect: t.Suspect, Round: t.Round,
		Version: t.Version, Worker: t.Worker, Group: idText(t.Group), Parent: idText(t.Parent), Labels: t.Labels, Correlation: t.Correlation, Trace: t.Trace,
		CreatedAt: t.CreatedAt, DueAt: t.DueAt, StartedAt: t.StartedAt, DeadlineAt: t.DeadlineAt, EndedAt: t.EndedAt, UpdatedAt: t.UpdatedAt, ExpireAt: t.ExpireAt,
	}
	if p := t.Progress; !p.At.IsZero() {
		v.Progress = &Progress{Done: p.Done, Total: p.Total, Note: p.Note, At: p.At}
	}
	if t.Error != nil {
		v.Error = &Fault{Message: t.Error.Message, Type: t.Error.Type}
	}
	if payloads {
		v.Args, v.ArgsBase64 = shown(t.Args)
		v.Result, v.ResultBase64 = shown(t.Result)
		for _, e := range t.History {
			v.History = append(v.History, Event{At: e.At, Kind: string(e.Kind), Epoch: e.Epoch, Worker: e.Worker, Text: e.Text})
		}
	}
	return v
}

// ClaimedTask is a task that belongs to the claiming worker, and the fence that every write about it must name.
type ClaimedTask struct {
	Task
	Fence   string `json:"fence"`
	Attempt int    `json:"attempt"`
}

// fenceText is a fence as workers carry it along.
func fenceText(f kernel.Fence) string { return strconv.FormatInt(f.Epoch, 10) + "." + f.Nonce.String() }

// parseFence reads what fenceText wrote.
func parseFence(id kernel.ID, text string) (kernel.Fence, error) {
	epoch, nonce, _ := strings.Cut(text, ".")
	n, err1 := strconv.ParseInt(epoch, 10, 64)
	x, err2 := kernel.ParseID(nonce)
	if err1 != nil || err2 != nil || x.IsZero() {
		return kernel.Fence{}, fmt.Errorf("%w: the fence is not one; give it as the claim told it", kernel.ErrInvalid)
	}
	return kernel.Fence{ID: id, Epoch: n, Nonce: x}, nil
}

// Submitted is what became of a submit: the task that stands.
type Submitted struct {
	ID      string `json:"id"`
	State   string `json:"state,omitempty"`
	Existed bool   `json:"existed,omitempty"` // the id was known, or the key held: nothing was stored
	Error   string `json:"error,omitempty"`   // this one was not stored
	Code    string `json:"code,omitempty"`
}

// Tasks is a page of a list.
type Tasks struct {
	Tasks  []Task `json:"tasks"`
	Cursor string `json:"cursor,omitempty"` // of the next page; empty: there is none
}
