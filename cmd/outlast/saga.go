package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

func sagaCommand() *cli.Command {
	const id = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"
	note := cli.Flag{Name: "note", Value: "TEXT", Help: "why; it stands in the timeline"}
	step := cli.Args{Usage: "ID STEP", Min: 2, Max: 2}
	return &cli.Command{
		Name: "saga", Short: "show sagas, send them signals, and help those that are stuck",
		Sub: []*cli.Command{
			{
				Name: "show", Short: "show a saga: its steps and its timeline", Args: cli.Args{Usage: "ID", Min: 1, Max: 1}, Flags: targetFlags(),
				Long:    "The definition is with the program that runs it, not here: steps that have not begun are not listed.",
				Example: "outlast saga show " + id, Run: sagaShow,
			},
			{
				Name: "retry-undo", Short: "let a stuck saga try again to undo what it could not: one step, or all", Args: cli.Args{Usage: "ID [STEP]", Min: 1, Max: 2},
				Flags: targetFlags(note), Example: "outlast saga retry-undo " + id + " charge", Run: sagaVerb("told to undo again", retryUndo),
			},
			{
				Name: "resolve", Short: "tell a stuck saga that a step was put right by hand", Args: step,
				Flags: targetFlags(note), Example: "outlast saga resolve " + id + " charge --note 'refunded by hand'", Run: sagaVerb("told that it is resolved", resolveStep),
			},
			{
				Name: "skip", Short: "give a held saga the result of a step that cannot be run", Args: cli.Args{Usage: "ID STEP JSON", Min: 3, Max: 3},
				Flags: targetFlags(note), Example: "outlast saga skip " + id + " charge '{\"receipt\":\"none\"}'", Run: sagaVerb("told to skip", skipStep),
			},
			{
				Name: "release", Short: "let a saga go on that is held because its processes died", Args: cli.Args{Usage: "ID", Min: 1, Max: 1},
				Flags: targetFlags(), Example: "outlast saga release " + id, Run: sagaVerb("released", func(ctx context.Context, _ *cli.Line, d ops.Operator, id store.ID) error {
					return d.ReleaseSaga(ctx, id)
				}),
			},
			{
				Name: "signal", Short: "send a signal to a saga", Args: cli.Args{Usage: "ID NAME JSON", Min: 3, Max: 3},
				Long:  "The value is checked when the saga takes it: what does not fit its type makes the step fail. Of several senders the first one wins.",
				Flags: targetFlags(), Example: "outlast saga signal " + id + " approval '{\"by\":\"Ann\"}'", Run: sagaVerb("sent", sendSignal),
			},
		},
	}
}

func retryUndo(ctx context.Context, l *cli.Line, d ops.Operator, id store.ID) error {
	step := ""
	if len(l.Args) > 1 {
		step = l.Args[1]
	}
	return d.RetryUndo(ctx, id, step, l.Text("note"))
}

func resolveStep(ctx context.Context, l *cli.Line, d ops.Operator, id store.ID) error {
	return d.Resolve(ctx, id, l.Args[1], l.Text("note"))
}

func skipStep(ctx context.Context, l *cli.Line, d ops.Operator, id store.ID) error {
	return d.SkipStep(ctx, id, l.Args[1], json.RawMessage(l.Args[2]), l.Text("note"))
}

func sendSignal(ctx context.Context, l *cli.Line, d ops.Operator, id store.ID) error {
	err := d.Signal(ctx, id, l.Args[1], json.RawMessage(l.Args[2]))
	if errors.Is(err, saga.ErrNotWaiting) {
		return errors.New("the saga takes no such signal any more: it has one, has ended, or is being rolled back")
	}
	return err
}

// sagaVerb is an order to a saga. Nothing is sent to a task that is none.
func sagaVerb(done string, do func(context.Context, *cli.Line, ops.Operator, store.ID) error) func(context.Context, *cli.Line) error {
	return func(ctx context.Context, l *cli.Line) error {
		id, err := parseID(l.Args[0])
		if err != nil {
			return err
		}
		if len(l.Args) == 3 && !json.Valid([]byte(l.Args[2])) {
			return cli.Misused("%q is not JSON; a text is written as '\"text\"'", l.Args[2])
		}
		return with(ctx, l, want{}, func(d ops.Operator) error {
			if _, err := d.Saga(ctx, id); err != nil {
				return err
			}
			if err := do(ctx, l, d, id); err != nil {
				return err
			}
			s, err := d.Saga(ctx, id)
			if err != nil {
				return err
			}
			if l.AsJSON() {
				return l.JSON(viewSaga(s))
			}
			l.Say("saga %s was %s; it is %s", id, done, s.State)
			return nil
		})
	}
}

type sagaView struct {
	ID        store.ID     `json:"id"`
	State     saga.State   `json:"state"`
	Reason    string       `json:"reason,omitempty"`
	Failure   string       `json:"failure,omitempty"`
	Lacks     []string     `json:"lacks,omitempty"`
	Lock      string       `json:"lock,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	EndedAt   time.Time    `json:"ended_at,omitzero"`
	Steps     []stepView   `json:"steps"`
	Timeline  []saga.Event `json:"timeline"`
}

type stepView struct {
	Name     string          `json:"name"`
	State    string          `json:"state"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error,omitempty"`
	NextAt   time.Time       `json:"next_at,omitzero"`
	Task     store.ID        `json:"task,omitzero"`
	Result   json.RawMessage `json:"result,omitempty"`
	Note     string          `json:"note,omitempty"`
}

func viewSaga(s saga.Status) sagaView {
	v := sagaView{
		ID: s.ID, State: s.State, Reason: s.Reason, Lacks: s.Lacks, Lock: s.Lock, CreatedAt: s.CreatedAt.UTC(), EndedAt: utc(s.EndedAt),
		Steps: []stepView{}, Timeline: append([]saga.Event{}, s.Timeline...),
	}
	if s.Failure != nil {
		v.Failure = s.Failure.Message
	}
	for _, st := range s.Steps {
		v.Steps = append(v.Steps, stepView{st.Name, st.State, st.Attempts, st.Error, utc(st.NextAt), st.Task, st.Result, st.Note})
	}
	return v
}

func sagaShow(ctx context.Context, l *cli.Line) error {
	id, err := parseID(l.Args[0])
	if err != nil {
		return err
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		s, err := d.Saga(ctx, id)
		if err != nil {
			return err
		}
		v := viewSaga(s)
		if l.AsJSON() {
			return l.JSON(v)
		}
		l.Say("%s  %s  %s", l.Paint(cli.Bold, v.ID.String()), l.Paint(cli.Bold, string(v.State)), cli.Clean(v.Reason))
		if v.Failure != "" {
			l.Say("  %s %s", l.Paint(cli.Dim, "failure"), cli.Clean(v.Failure))
		}
		var rows [][]cli.Cell
		for _, st := range v.Steps {
			rows = append(rows, []cli.Cell{cli.C(st.Name), cli.C(st.State), cli.N(st.Attempts), cli.C(st.Error + st.Note)})
		}
		if len(rows) > 0 {
			l.Say("")
			l.Table([]string{"STEP", "STATE", "FAILED", "NOTE"}, rows)
		}
		rows = nil
		for _, e := range v.Timeline {
			rows = append(rows, []cli.Cell{{Text: cli.Coarse(e.At.Sub(s.CreatedAt)), Right: true}, cli.C(e.Kind), cli.C(e.Step), cli.C(e.Text)})
		}
		if len(rows) > 0 {
			l.Say("")
			l.Table([]string{"AFTER", "EVENT", "STEP", "TEXT"}, rows)
		}
		return nil
	})
}
