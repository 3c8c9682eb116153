package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/kernel"
)

func batchWatchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Short: "make batches of the files that come into a folder", Args: cli.Args{Usage: "DIR", Min: 1, Max: 1},
		Long: "A file that has come to rest is read: CSV with a header if its name ends in .csv, otherwise one JSON value per line. Its rows become a batch of\n" +
			"the operation that --type names for it, and it is moved to DIR/done; one with bad lines to DIR/failed, with a report of them beside it. The same\n" +
			"content twice is one batch. The rows are worked on by the processes that serve the operation. It watches until it is stopped, and may be\n" +
			"killed at any moment: a file that is still there is taken up again, as the same batch.",
		Flags: storeFlags(
			cli.Flag{Name: "type", Kind: cli.Many, Value: "GLOB=NAME", Help: "files that match are rows of this operation; the first that matches counts"},
			cli.Flag{Name: "queue", Value: "NAME", Default: kernel.DefaultQueue, Help: "where the rows wait"},
			cli.Flag{Name: "files", Kind: cli.Switch, Help: "the rows may write output files"},
			cli.Flag{Name: "skip-bad", Kind: cli.Switch, Help: "leave out bad lines; otherwise one of them fails the file"},
			cli.Flag{Name: "rest", Kind: cli.Span, Value: "TIME", Default: "5s", Help: "how long a file must not have changed"},
			cli.Flag{Name: "once", Kind: cli.Switch, Help: "take what is at rest, and end"},
		),
		Example: "outlast batch watch /srv/inbox --type 'bank*.csv=billing/import' --type '*.jsonl=billing/notes'",
		Run:     batchWatch,
	}
}

func batchWatch(ctx context.Context, l *cli.Line) error {
	dir := l.Args[0]
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return cli.Misused("%s is no folder that can be looked into", dir)
	}
	intake := &batch.Intake{Dir: dir, Rest: l.Span("rest"), Taken: func(t batch.Taken) { tellTaken(l, t) }}
	for _, text := range l.Many("type") {
		t, err := fileType(l, text)
		if err != nil {
			return err
		}
		intake.Types = append(intake.Types, t)
	}
	if len(intake.Types) == 0 {
		return cli.Misused("say what the files are: --type '*.csv=app/operation'")
	}
	return withStore(ctx, l, want{create: true}, func(d *ops.Direct) error {
		if l.On("once") {
			return watchOnce(ctx, d.Kernel(), intake)
		}
		err := intake.Run(ctx, d.Kernel())
		if ctx.Err() != nil {
			return nil // it was stopped
		}
		return err
	})
}

// watchOnce looks twice: what looks the same after its time of rest is at rest.
func watchOnce(ctx context.Context, k *kernel.Kernel, intake *batch.Intake) error {
	for i := range 2 {
		if i > 0 {
			pause := time.NewTimer(intake.Rest)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return context.Cause(ctx)
			}
		}
		taken, err := intake.Look(ctx, k)
		if err != nil {
			return err
		}
		for _, t := range taken {
			if t.Err != nil {
				err = cli.Told
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileType reads a GLOB=NAME.
func fileType(l *cli.Line, text string) (t batch.FileType, err error) {
	glob, name, ok := strings.Cut(text, "=")
	if !ok || glob == "" || name == "" {
		return t, cli.Misused("--type %q is not written as GLOB=NAME, as in '*.csv=billing/import'", text)
	}
	if _, err := filepath.Match(glob, "x"); err != nil {
		return t, cli.Misused("--type %q: the pattern is wrong: %v", text, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = cli.Misused("--type %q: %v", text, p) // Define panics on a bad name
		}
	}()
	elsewhere := func(context.Context, struct{}, batch.Row[json.RawMessage]) (batch.Result[json.RawMessage], error) {
		return batch.Result[json.RawMessage]{}, errors.New("rows are not run here")
	}
	op := batch.Define(name, batch.Processor[struct{}, json.RawMessage, json.RawMessage]{Row: elsewhere}, batch.Config{Queue: l.Text("queue"), Files: l.On("files")})
	return op.FileType(glob, func(in *batch.Incoming) (batch.Source[json.RawMessage], error) {
		if strings.EqualFold(filepath.Ext(in.Name), ".csv") {
			return batch.CSV[json.RawMessage](in, batch.CSVConfig{}), nil
		}
		return batch.JSONLines[json.RawMessage](in), nil
	}, batch.FileConfig{SkipBad: l.On("skip-bad")}), nil
}

// takenView is a file that was taken, as it is printed for programs.
type takenView struct {
	File    string   `json:"file"`
	MovedTo string   `json:"moved_to,omitempty"`
	Batch   string   `json:"batch,omitempty"`
	Existed bool     `json:"existed,omitempty"`
	Bad     []string `json:"bad_lines,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func tellTaken(l *cli.Line, t batch.Taken) {
	v := takenView{File: t.Path, MovedTo: t.MovedTo, Existed: t.Existed}
	for _, bad := range t.Bad {
		v.Bad = append(v.Bad, cli.OneLine(bad.Error()))
	}
	if t.Err != nil {
		v.Error = cli.OneLine(t.Err.Error())
	}
	if !t.Batch.IsZero() {
		v.Batch = t.Batch.String()
	}
	switch {
	case l.AsJSON():
		_ = l.JSON(v) // nobody listens any more: the files are taken all the same
	case t.Err != nil && t.MovedTo == "":
		fmt.Fprintf(l.Err, "%s stays where it is: %s\n", cli.Clean(v.File), v.Error)
	case t.Err != nil:
		l.Say("%s  %s: %s", l.Paint(cli.Red, "failed"), cli.Clean(v.File), v.Error)
		for _, bad := range v.Bad[:min(len(v.Bad), 5)] {
			l.Say("        %s", cli.Clean(bad))
		}
	case t.Existed:
		l.Say("%s  %s: the same content came before, as batch %s", l.Paint(cli.Dim, "known "), cli.Clean(v.File), v.Batch)
	default:
		l.Say("%s  %s: batch %s", l.Paint(cli.Green, "taken "), cli.Clean(v.File), v.Batch)
	}
}
