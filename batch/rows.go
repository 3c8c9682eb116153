package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// RowStatus is how a row stands.
type RowStatus[In, Out any] struct {
	Line  int64
	Task  kernel.ID
	State State // Queued, InProg, or an ending
	Input In
	// Out is the result of a row that ended well, or of one that was processed and found not good.
	Out      Out
	Messages []Message
	Files    map[string]string
	Error    string // of the last attempt that failed
	Attempts int    // that have failed
	Crashes  int    // processes that died while they ran it

	StartedAt time.Time // zero: not yet
	EndedAt   time.Time // zero: not yet
}

// RowsOptions picks rows.
type RowsOptions struct {
	States []State // default: all
	Cursor string  // of the page before; empty: the first page
	Limit  int     // default 100; at most 1,000
}

// RowPage is a part of the rows, by line. Cursor is empty on the last page.
type RowPage[In, Out any] struct {
	Rows   []RowStatus[In, Out]
	Cursor string
}

// stored are the states of tasks that a state of rows stands for.
var stored = map[State][]kernel.TaskState{
	Queued:  {"ready", "scheduled", "held", "parked"},
	InProg:  {"running", "ending"},
	Success: {"done"},
	Failed:  {"failed"},
	Aborted: {"cancelled"},
}

// Rows reads a page of rows, by line.
func (h *Handle[In, Out]) Rows(ctx context.Context, opts RowsOptions) (RowPage[In, Out], error) {
	g, err := h.group(ctx)
	if err != nil {
		return RowPage[In, Out]{}, err
	}
	return h.rows(ctx, g, opts)
}

func (h *Handle[In, Out]) rows(ctx context.Context, g kernel.Group, opts RowsOptions) (page RowPage[In, Out], err error) {
	states, err := taskStates(g, opts.States)
	if err != nil {
		return page, err
	}
	p, err := h.k.Members(ctx, h.id, states, kernel.PageRequest{Cursor: opts.Cursor, Limit: opts.Limit, Payload: true})
	if err != nil {
		return page, fmt.Errorf("rows of batch %s: %w", h.id, err)
	}
	page.Cursor = p.Cursor
	for i := range p.Items {
		r, err := readRow[In, Out](g, &p.Items[i])
		if err != nil {
			return page, fmt.Errorf("rows of batch %s: %w", h.id, err)
		}
		page.Rows = append(page.Rows, r)
	}
	return page, nil
}

func taskStates(g kernel.Group, states []State) ([]kernel.TaskState, error) {
	var list []kernel.TaskState
	for _, s := range states {
		tasks, ok := stored[s]
		if !ok {
			return nil, fmt.Errorf("%w: %q is no state of a row; use queued, inprog, success, failed or aborted", kernel.ErrInvalid, s)
		}
		switch {
		case s == Failed && g.Aborting == reasonUnserved:
			list = append(list, "cancelled")
		case s == Aborted && g.Aborting == reasonUnserved:
			list = append(list, "failed")
			continue
		}
		list = append(list, tasks...)
	}
	return list, nil
}

// rowPage is how many rows are read at once when all are: they come with what they carry.
const rowPage = 250

// All goes through the rows by line, page by page. It ends with the first error.
func (h *Handle[In, Out]) All(ctx context.Context, states ...State) iter.Seq2[RowStatus[In, Out], error] {
	return func(yield func(RowStatus[In, Out], error) bool) {
		g, err := h.group(ctx)
		opts := RowsOptions{States: states, Limit: rowPage}
		for err == nil {
			var page RowPage[In, Out]
			if page, err = h.rows(ctx, g, opts); err != nil {
				break
			}
			for _, r := range page.Rows {
				if !yield(r, nil) {
					return
				}
			}
			if opts.Cursor = page.Cursor; opts.Cursor == "" {
				return
			}
		}
		yield(RowStatus[In, Out]{}, err)
	}
}

// readRow makes of a task what it says of its row.
func readRow[In, Out any](g kernel.Group, t *kernel.Task) (RowStatus[In, Out], error) {
	r := RowStatus[In, Out]{
		Line: t.Line, Task: t.ID, State: Queued, Attempts: t.Attempts, Crashes: t.Crashes, StartedAt: t.StartedAt, EndedAt: t.EndedAt,
	}
	for state, tasks := range stored {
		if slices.Contains(tasks, t.State) {
			r.State = state
		}
	}
	if t.Error != nil && t.State != "done" {
		r.Error = t.Error.Message
	}
	if t.Stripped {
		return r, nil
	}
	var args rowArgs
	err := json.Unmarshal(t.Args, &args)
	if err == nil {
		err = json.Unmarshal(args.In, &r.Input)
	}
	if err != nil {
		return r, fmt.Errorf("line %d: the input does not decode as %T", t.Line, r.Input)
	}
	var result rowResult
	if len(t.Result) > 0 {
		if err = json.Unmarshal(t.Result, &result); err == nil {
			err = json.Unmarshal(result.Out, &r.Out)
		}
	}
	if err != nil {
		return r, fmt.Errorf("line %d: the result does not decode as %T", t.Line, r.Out)
	}
	r.Messages, r.Files = result.Messages, result.Files
	explain(g, t, &r.State, &r.Messages)
	return r, nil
}

// The messages of rows that no Row has spoken for, as batches have always numbered them.
const (
	codeConfig     = "configerror"
	codeProcessing = "processing_error"

	msgNoProcessor = 2
	msgInit        = 4
	msgDecode      = 6
	msgProcessing  = 10
)

// explain gives a row that failed without a word a message.
func explain(g kernel.Group, t *kernel.Task, state *State, messages *[]Message) {
	if t.State == "cancelled" && g.Aborting == reasonUnserved {
		name, _ := operation(g)
		*state = Failed
		*messages = []Message{{ID: msgNoProcessor, Code: codeConfig, Vals: []string{"no process serves " + name}}}
		return
	}
	if t.State != "failed" || len(*messages) > 0 || t.Error == nil {
		return
	}
	m := Message{ID: msgProcessing, Code: codeProcessing, Vals: []string{t.Error.Message}}
	switch t.Error.Type {
	case "init":
		m.ID, m.Code = msgInit, codeConfig
	case "decode":
		m.ID, m.Code = msgDecode, codeConfig
	case "row":
		return // it was Row that said so, without a message
	}
	*messages = []Message{m}
}
