package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

func batchCommand() *cli.Command {
	one := cli.Args{Usage: "ID", Min: 1, Max: 1}
	return &cli.Command{
		Name: "batch", Short: "run a request for every row of a file; look at batches, abort and retry them",
		Sub: []*cli.Command{
			batchRunCommand(),
			batchWatchCommand(),
			{
				Name: "list", Short: "list batches, the newest first",
				Flags: targetFlags(
					cli.Flag{Name: "name", Value: "NAME", Help: "only those of this operation; \"app/\" for all of an app"},
					cli.Flag{Name: "limit", Kind: cli.Number, Value: "N", Default: "20", Min: 1, Help: "at most so many"},
				),
				Example: "outlast batch list --name billing/import", Run: batchList,
			},
			{Name: "status", Short: "tell how a batch stands", Args: one, Flags: targetFlags(), Example: "outlast batch status 019b76db-1433-76fc-8b74-d2de7a538b41", Run: batchStatus},
			{
				Name: "rows", Short: "list the rows of a batch, by line", Args: one,
				Flags: targetFlags(
					cli.Flag{Name: "state", Kind: cli.Many, Value: "STATE", Words: []string{"queued", "inprog", "success", "failed", "aborted"}, Help: "only rows in this state"},
					cli.Flag{Name: "limit", Kind: cli.Number, Value: "N", Default: "50", Min: 1, Help: "at most so many"},
				),
				Example: "outlast batch rows 019b76db-1433-76fc-8b74-d2de7a538b41 --state failed", Run: batchRows,
			},
			{
				Name: "files", Short: "list the output files of a batch, or print one", Args: cli.Args{Usage: "ID [NAME]", Min: 1, Max: 2},
				Flags: targetFlags(), Example: "outlast batch files 019b76db-1433-76fc-8b74-d2de7a538b41 good.txt > good.txt", Run: batchFiles,
			},
			{Name: "release", Short: "let a batch run that waits", Args: one, Flags: targetFlags(), Example: "outlast batch release 019b76db-1433-76fc-8b74-d2de7a538b41", Run: batchRelease},
			{
				Name: "abort", Short: "end a batch: rows that wait end now, those that run are told", Args: one,
				Flags:   targetFlags(cli.Flag{Name: "reason", Value: "TEXT", Help: "why; it is kept with the batch"}),
				Example: "outlast batch abort 019b76db-1433-76fc-8b74-d2de7a538b41 --reason \"wrong file\"", Run: batchAbort,
			},
			{
				Name: "retry", Short: "make the failed rows of a batch ready again; the others stay as they are", Args: one,
				Flags: targetFlags(), Example: "outlast batch retry 019b76db-1433-76fc-8b74-d2de7a538b41", Run: batchRetry,
			},
		},
	}
}

// onBatch lets fn work on the batch that the command line names.
func onBatch(ctx context.Context, l *cli.Line, fn func(d ops.Operator, id store.ID) error) error {
	id, err := kernel.ParseID(l.Args[0])
	if err != nil || id.IsZero() {
		return cli.Misused("%q is no id of a batch; \"outlast batch list\" lists them", l.Args[0])
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		err := fn(d, id)
		if errors.Is(err, kernel.ErrNotFound) {
			return fmt.Errorf("there is no batch %s in this store; \"outlast batch list\" lists them", id)
		}
		return err
	})
}

// batchView is a batch as it is printed for programs.
type batchView struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	State      batch.State       `json:"state"`
	Rows       int64             `json:"rows"`
	Success    int64             `json:"success"`
	Failed     int64             `json:"failed"`
	Aborted    int64             `json:"aborted"`
	Filling    bool              `json:"filling,omitempty"`
	Unserved   bool              `json:"unserved,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Generation int               `json:"generation"`
	DoneError  string            `json:"done_error,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	ClosedAt   *time.Time        `json:"closed_at,omitempty"`
}

func viewOf(s batch.Status) batchView {
	v := batchView{
		ID: s.ID.String(), Name: s.Name, State: s.State, Rows: s.Rows, Success: s.Success, Failed: s.Failed, Aborted: s.Aborted,
		Filling: s.Filling, Unserved: s.Unserved, Reason: s.Reason, Generation: s.Generation, DoneError: s.DoneError, Labels: s.Labels, CreatedAt: s.CreatedAt,
	}
	if !s.ClosedAt.IsZero() {
		v.ClosedAt = &s.ClosedAt
	}
	return v
}

// batchStyles are how states look on a terminal.
var batchStyles = map[batch.State]cli.Style{
	batch.Success: cli.Green, batch.Failed: cli.Red, batch.Aborted: cli.Yellow, batch.InProg: cli.Cyan, batch.Wait: cli.Dim,
}

func batchList(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		list, err := d.Batches(ctx, l.Text("name"), l.Number("limit"))
		if err != nil {
			return err
		}
		var rows [][]cli.Cell
		for _, s := range list {
			if l.AsJSON() {
				if err := l.JSON(viewOf(s)); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []cli.Cell{
				cli.C(s.ID.String()), cli.In(batchStyles[s.State], string(s.State)), cli.N(s.Rows), cli.N(s.Success), cli.N(s.Failed), cli.N(s.Aborted),
				cli.C(cli.Ago(l.Now(), s.CreatedAt)), cli.C(s.Name),
			})
		}
		switch {
		case l.AsJSON():
		case len(rows) == 0:
			l.Say("There are no batches here. \"outlast batch run --help\" shows how to make one.")
		default:
			l.Table([]string{"BATCH", "STATE", "ROWS", "GOOD", "FAILED", "ABORTED", "SUBMITTED", "NAME"}, rows)
		}
		return nil
	})
}

func batchStatus(ctx context.Context, l *cli.Line) error {
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		s, err := d.Batch(ctx, id)
		if err != nil {
			return err
		}
		return tellBatch(l, s)
	})
}

// tellBatch prints how a batch stands.
func tellBatch(l *cli.Line, s batch.Status) error {
	if l.AsJSON() {
		return l.JSON(viewOf(s))
	}
	l.Say("%s  %s  %s", s.ID, l.Paint(batchStyles[s.State], string(s.State)), l.Paint(cli.Bold, s.Name))
	l.Say("%s rows: %s good, %s failed, %s aborted, %s left", cli.Thousands(s.Rows), cli.Thousands(s.Success), cli.Thousands(s.Failed), cli.Thousands(s.Aborted), cli.Thousands(s.Left()))
	for _, note := range []struct {
		when bool
		text string
	}{
		{s.Filling, "Its rows are still being submitted; none runs before all are there."},
		{s.State == batch.Wait && !s.Filling, fmt.Sprintf("It waits for \"outlast batch release %s\".", s.ID)},
		{s.Unserved, "No process serves its rows: they wait for one that does."},
		{s.Reason != "", "Aborted: " + s.Reason},
		{s.DoneError != "", "Its closing task has not done its work: " + s.DoneError},
		{s.State == batch.Failed, fmt.Sprintf("\"outlast batch rows %s --state failed\" tells which rows, \"outlast batch retry %s\" tries them again.", s.ID, s.ID)},
	} {
		if note.when {
			l.Say("%s", cli.Clean(note.text))
		}
	}
	return nil
}

// rowView is a row as it is printed for programs.
type rowView struct {
	Line     int64           `json:"line"`
	Task     string          `json:"task"`
	State    batch.State     `json:"state"`
	Input    json.RawMessage `json:"input"`
	Result   json.RawMessage `json:"result,omitempty"`
	Messages []batch.Message `json:"messages,omitempty"`
	Error    string          `json:"error,omitempty"`
	Attempts int             `json:"failed_attempts"`
	Crashes  int             `json:"crashes"`
}

func batchRows(ctx context.Context, l *cli.Line) error {
	var states []batch.State
	for _, s := range l.Many("state") {
		states = append(states, batch.State(s))
	}
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		rest := l.Number("limit")
		more := false
		var rows [][]cli.Cell
		var failed error
		err := d.Rows(ctx, id, states, func(r ops.Row) bool {
			if rest--; rest < 0 {
				more = true
				return false
			}
			if l.AsJSON() {
				failed = l.JSON(rowView{r.Line, r.Task.String(), r.State, r.Input, r.Out, r.Messages, r.Error, r.Attempts, r.Crashes})
				return failed == nil
			}
			what := r.Error
			if what == "" {
				what = string(r.Out)
			}
			rows = append(rows, []cli.Cell{
				{Text: strconv.FormatInt(r.Line, 10), Right: true},
				cli.In(batchStyles[r.State], string(r.State)), cli.N(r.Attempts),
				cli.C(cli.Cut(string(r.Input), 48)), cli.C(cli.OneLine(what)),
			})
			return true
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if !l.AsJSON() {
			l.Table([]string{"LINE", "STATE", "FAILED TRIES", "INPUT", "RESULT"}, rows)
		}
		if more {
			fmt.Fprintf(l.Err, "There are more: say --limit.\n")
		}
		return nil
	})
}

func batchFiles(ctx context.Context, l *cli.Line) error {
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		if len(l.Args) == 2 {
			r, err := d.OpenFile(ctx, id, l.Args[1])
			if errors.Is(err, batch.ErrNoFile) {
				return fmt.Errorf("the batch has no file %q; \"outlast batch files %s\" lists those that are written", l.Args[1], l.Args[0])
			}
			if err != nil {
				return err
			}
			_, err = io.Copy(l.Out, r)
			return errors.Join(err, r.Close())
		}
		files, err := d.Files(ctx, id)
		if err != nil {
			return err
		}
		var rows [][]cli.Cell
		for _, f := range files {
			if l.AsJSON() {
				if err := l.JSON(f); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []cli.Cell{cli.C(f.Name), cli.N(f.Lines), cli.N(f.Bytes)})
		}
		switch {
		case l.AsJSON():
		case len(rows) == 0:
			l.Say("The batch has no output files. They are written when its last row has ended.")
		default:
			l.Table([]string{"FILE", "LINES", "BYTES"}, rows)
		}
		return nil
	})
}

func batchRelease(ctx context.Context, l *cli.Line) error {
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		n, err := d.ReleaseBatch(ctx, id)
		if err != nil {
			return err
		}
		if l.AsJSON() {
			return l.JSON(map[string]any{"id": l.Args[0], "rows": n})
		}
		l.Say("%s rows may run.", cli.Thousands(n))
		return nil
	})
}

func batchAbort(ctx context.Context, l *cli.Line) error {
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		s, err := d.AbortBatch(ctx, id, l.Text("reason"))
		if err != nil {
			return err
		}
		return tellBatch(l, s)
	})
}

func batchRetry(ctx context.Context, l *cli.Line) error {
	return onBatch(ctx, l, func(d ops.Operator, id store.ID) error {
		n, err := d.RetryBatch(ctx, id)
		if err != nil {
			return err
		}
		if l.AsJSON() {
			return l.JSON(map[string]any{"id": l.Args[0], "rows": n})
		}
		l.Say("%s rows are ready again. Those of \"outlast batch run\" go on when the same command is run again.", cli.Thousands(n))
		return nil
	})
}
