package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/cmd/outlast/rowcall"
	"github.com/outlast-go/outlast/kernel"
)

func batchRunCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Short: "send one HTTP request for every row of a file, and write the answers",
		Long: "A row has columns; {{.name}} in --url, --body and --header stands for the one of that name: as JSON in the body, escaped in the URL, as it is in\n" +
			"a header ({{raw .name}}: the bare text anywhere). Answers 408, 425, 429, 5xx and lost connections are tried again, as the server asks for it.\n" +
			"It survives Ctrl-C, kill -9 and a reboot: the same command again goes on where it stopped, and sends nothing again that has been answered.\n" +
			"Requests carry an Idempotency-Key that is the same on every attempt. Values of headers are not stored.\n" +
			"Exit code 1: a row has failed, or it was stopped before the end.",
		Flags: storeFlags(
			cli.Flag{Name: "rows", Value: "FILE", Help: "rows: CSV with a header, or one JSON object per line; - is the standard input"},
			cli.Flag{Name: "form", Value: "FORM", Words: []string{"csv", "jsonl"}, Shown: "by the name's ending", Help: "what is in it"},
			cli.Flag{Name: "url", Value: "URL", Help: "where the request of a row goes"},
			cli.Flag{Name: "method", Short: "X", Value: "METHOD", Shown: "POST with a body, else GET", Help: "method of the requests"},
			cli.Flag{Name: "header", Short: "H", Kind: cli.Many, Value: "'NAME: VALUE'", Help: "header of the requests"},
			cli.Flag{Name: "body", Short: "d", Value: "TEXT", Help: "body of the requests"},
			cli.Flag{Name: "concurrency", Kind: cli.Number, Value: "N", Default: "50", Min: 1, Help: "requests at the same time"},
			cli.Flag{Name: "attempts", Kind: cli.Number, Value: "N", Default: "5", Min: 1, Help: "how often a request is tried at most"},
			cli.Flag{Name: "timeout", Kind: cli.Span, Value: "TIME", Default: "1m", Help: "how long an answer may take"},
			cli.Flag{Name: "out", Short: "o", Value: "FILE", Shown: "the rows' name with .results.jsonl", Help: "where the answers go, one JSON object per row, by line; - is the standard output"},
			cli.Flag{Name: "skip-bad", Kind: cli.Switch, Help: "leave out rows that cannot be read; otherwise one of them stops it before anything is sent"},
			cli.Flag{Name: "retry-failed", Kind: cli.Switch, Help: "of a run that has ended: try the failed rows again"},
			cli.Flag{Name: "keep", Kind: cli.Span, Value: "TIME", Default: "168h", Help: "how long the answers are kept in the store once all rows have ended"},
		),
		Example: `outlast batch run --rows prompts.csv --url https://api.example.com/v1/x --body '{"q": {{.question}}}' --concurrency 200 --out results.jsonl`,
		Run:     batchRun,
	}
}

// running is one call of batch run.
type running struct {
	l     *cli.Line
	sheet *rowcall.Sheet
	cook  *rowcall.Kitchen
	job   *rowcall.Job
	out   string
	bad   int
}

func batchRun(ctx context.Context, l *cli.Line) (err error) {
	r, err := newRunning(l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.sheet.Close()) }()
	cfg := kernel.Config{Slots: map[string]int{rowcall.Queue: l.Number("concurrency")}, ShutdownTimeout: 10 * time.Second}
	return withStore(ctx, l, want{create: true, config: cfg}, func(d *ops.Direct) error { return r.run(ctx, d.Kernel()) })
}

// newRunning reads the command line and the recipe; nothing is stored or sent before all of it is found to be good.
func newRunning(l *cli.Line) (*running, error) {
	for _, name := range []string{"rows", "url"} {
		if l.Text(name) == "" {
			return nil, cli.Misused("say --%s; \"outlast batch run --help\" has an example", name)
		}
	}
	cook, err := rowcall.Prepare(rowcall.Recipe{
		Method: l.Text("method"), URL: l.Text("url"), Body: l.Text("body"), Header: l.Many("header"),
		Timeout: l.Span("timeout"), Attempts: l.Number("attempts"),
	})
	if err != nil {
		return nil, cli.Misused("%v", err)
	}
	r := &running{l: l, cook: cook, out: l.Text("out")}
	if r.out == "" {
		name := l.Text("rows")
		if r.out = strings.TrimSuffix(name, filepath.Ext(name)) + ".results.jsonl"; name == "-" {
			r.out = "-"
		}
	}
	if r.sheet, err = rowcall.OpenSheet(l.Text("rows"), l.Text("form"), l.In); err != nil {
		return nil, cli.Misused("%v", err)
	}
	if err := r.sheet.Check(cook); err != nil {
		return nil, errors.Join(cli.Misused("%v", err), r.sheet.Close())
	}
	key, err := r.sheet.Key(cook)
	if err == nil {
		r.job, err = rowcall.NewJob(cook, key, l.Span("keep"))
	}
	if err != nil {
		return nil, errors.Join(err, r.sheet.Close())
	}
	return r, nil
}

// run submits the rows, or finds that they were, works on them until all have ended or somebody stops it, and writes the answers.
func (r *running) run(ctx context.Context, k *kernel.Kernel) error {
	r.job.Serve(k)
	h, err := r.submit(ctx, k)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var worked error
	var group sync.WaitGroup
	group.Go(func() { worked = k.Run(work) })
	s, err := r.watch(ctx, h)
	stop()
	group.Wait()
	if err = errors.Join(err, worked); err != nil {
		return err
	}
	if !s.State.Ended() {
		if s, err = h.Status(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return r.finish(context.WithoutCancel(ctx), h, s)
}

// submit stores the rows; if they were stored before, it finds them.
func (r *running) submit(ctx context.Context, k *kernel.Kernel) (*batch.Handle[json.RawMessage, rowcall.Answer], error) {
	rows, err := r.sheet.Rows(r.cook)
	if err != nil {
		return nil, err
	}
	opts := batch.Options{Key: r.job.Key, Labels: map[string]string{"rows": cli.Cut(filepath.Base(r.l.Text("rows")), 100)}}
	if r.l.On("skip-bad") {
		opts.Bad = func(e *batch.LineError) {
			r.bad++
			fmt.Fprintf(r.l.Err, "left out: %s\n", cli.OneLine(e.Error()))
		}
	}
	h, err := r.job.Submit(ctx, k, rows, opts)
	var bad *batch.LineError
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%w; nothing was sent: mend the file, or say --skip-bad", err)
	case errors.Is(err, kernel.ErrInDoubt), ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("%w; nothing was sent: the same command again goes on", err)
	case err != nil:
		return nil, err
	}
	if !h.Existed() {
		return h, nil
	}
	s, err := h.Status(ctx)
	if err == nil && s.State == batch.Failed && r.l.On("retry-failed") {
		_, err = h.Retry(ctx)
	}
	if err == nil && r.l.Terminal {
		fmt.Fprintf(r.l.Err, "Going on with batch %s, which was submitted %s.\n", h.ID(), cli.Ago(r.l.Now(), s.CreatedAt))
	}
	return h, err
}

// watch shows how far it is until the batch has ended, or ctx has.
func (r *running) watch(ctx context.Context, h *batch.Handle[json.RawMessage, rowcall.Answer]) (s batch.Status, err error) {
	bar := newBar(r.l)
	defer bar.close()
	for {
		look, cancel := context.WithTimeout(ctx, bar.every())
		s, err = h.Wait(look)
		timeUp := look.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return s, nil // somebody stopped it
		case err == nil:
			bar.show(s)
			return s, nil
		case !timeUp:
			return s, err
		}
		bar.show(s)
	}
}

// write writes the answers to where they are wanted.
func (r *running) write(ctx context.Context, h *batch.Handle[json.RawMessage, rowcall.Answer]) (err error) {
	if r.out == "-" {
		_, err = rowcall.WriteTo(ctx, h, r.l.Out)
	} else {
		_, err = rowcall.Write(ctx, h, r.out)
	}
	return err
}

// outcome is how a run ended, as it is printed for programs.
type outcome struct {
	batchView
	Out  string `json:"out,omitempty"`
	Done bool   `json:"done"`
	Bad  int    `json:"left_out"`
}

// finish writes the answers of a batch that has ended, and says how it went.
func (r *running) finish(ctx context.Context, h *batch.Handle[json.RawMessage, rowcall.Answer], s batch.Status) error {
	o := outcome{batchView: viewOf(s), Done: s.State.Ended(), Bad: r.bad}
	if o.Done {
		if err := r.write(ctx, h); err != nil {
			return fmt.Errorf("the answers could not be written to %s: %w; the same command again writes them", r.out, err)
		}
		o.Out = r.out
	}
	told := r.l.Err // the standard output may have the answers
	if r.l.AsJSON() && r.out != "-" {
		if err := r.l.JSON(o); err != nil {
			return err
		}
	} else if o.Done {
		fmt.Fprintf(told, "%s rows: %s answered, %s failed, %s aborted. The answers are in %s.\n",
			cli.Thousands(s.Rows), cli.Thousands(s.Success), cli.Thousands(s.Failed), cli.Thousands(s.Aborted), r.out)
	}
	switch {
	case !o.Done:
		return fmt.Errorf("stopped: %s of %s rows have ended; the same command again goes on", cli.Thousands(s.Rows-s.Left()), cli.Thousands(s.Rows))
	case s.State == batch.Failed:
		fmt.Fprintf(told, "The same command with --retry-failed tries those that failed again.\n")
		return cli.Told
	case s.State == batch.Aborted:
		return cli.Told
	}
	return nil
}
