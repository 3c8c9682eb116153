package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/crash"
)

// workerCommand is what the demo starts itself as, for its workers.
const workerCommand = "demo-worker"

type demoOptions struct {
	store   string
	json    bool
	keep    string
	workers int
	tasks   int
	kills   int
	stops   int
	seed    uint64
	dead    time.Duration
}

func demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Short: "kill workers under load, and see that nothing is lost",
		Long: "Worker processes are started and killed while they work; at the end a report tells, as judged from outside the store, what became of\n" +
			"the tasks. With --json it is one JSON object, the last line of the output.",
		Example: "outlast demo\noutlast demo --kills 20 --stops 5 --dead-after 2s\noutlast demo --store postgres://user@host/database --json",
		Flags: []cli.Flag{
			{Name: "store", Value: "URL", Shown: "an SQLite file in a temporary folder", Help: "store to work on: " + engine.Lasting},
			{Name: "workers", Kind: cli.Number, Default: "3", Min: 1, Help: "worker processes at a time"},
			{Name: "tasks", Kind: cli.Number, Default: "5000", Min: 1, Help: "tasks to submit"},
			{Name: "kills", Kind: cli.Number, Default: "10", Help: "how often a worker is killed with SIGKILL, and another started"},
			{Name: "stops", Kind: cli.Number, Default: "0", Help: "how often a worker is stopped with SIGSTOP for longer than others wait for it"},
			{Name: "dead-after", Kind: cli.Span, Default: "15s", Help: "how long a silent worker is waited for"},
			{Name: "seed", Kind: cli.Number, Default: "1", Help: "decides who is killed when"},
			{Name: "logs", Value: "FOLDER", Shown: "a temporary one", Help: "keep the logs of the workers in this folder"},
		},
		Run: demo,
	}
}

// demo starts worker processes, submits tasks, kills workers while they work, and reports what became of the tasks.
func demo(ctx context.Context, l *cli.Line) error {
	o := demoOptions{
		store: l.Text("store"), json: l.AsJSON(), keep: l.Text("logs"), workers: l.Number("workers"), tasks: l.Number("tasks"),
		kills: l.Number("kills"), stops: l.Number("stops"), seed: uint64(l.Number("seed")), dead: l.Span("dead-after"),
	}
	if o.dead < 500*time.Millisecond {
		return cli.Misused("--dead-after is %v; it must be at least 500ms", o.dead)
	}
	report, err := runDemo(ctx, o, l.Out, l.Err)
	if err != nil {
		return err
	}
	if o.json {
		err = l.JSON(report)
	} else {
		tell(l.Out, report)
	}
	if err == nil && !report.Good() {
		err = cli.Told
	}
	return err
}

// runDemo sets the stage, in a temporary folder unless told otherwise, and clears it afterwards.
func runDemo(ctx context.Context, o demoOptions, out, errs io.Writer) (crash.Report, error) {
	dir, err := os.MkdirTemp("", "outlast-demo-")
	if err != nil {
		return crash.Report{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder: the system removes it sooner or later
	if o.store == "" {
		o.store = "sqlite:" + filepath.Join(dir, "demo.db")
	}
	if o.keep == "" {
		o.keep = filepath.Join(dir, "logs")
	}
	if err := os.MkdirAll(o.keep, 0o700); err != nil {
		return crash.Report{}, err
	}
	if strings.HasPrefix(o.store, "memory:") {
		return crash.Report{}, fmt.Errorf("memory: is gone with its process, and the demo kills processes; use sqlite:path/to/file.db")
	}
	self, err := os.Executable()
	if err != nil {
		return crash.Report{}, err
	}
	to := out
	if o.json {
		to = errs // the report alone goes where it may be read by a program
	}
	view := newView(to, o)
	defer view.close()
	return crash.Run(ctx, crash.Config{
		Store: o.store, Workers: o.workers, Tasks: o.tasks, Kills: o.kills, Stops: o.stops, Seed: o.seed, Dir: o.keep,
		Dead: o.dead, Beat: min(time.Second, o.dead/10),
		Open: func(ctx context.Context) (store.Store, error) { return engine.Open(ctx, o.store) },
		Worker: func(ctx context.Context, url string, args []string) *exec.Cmd {
			return exec.CommandContext(ctx, self, append([]string{workerCommand, url}, args...)...) //nolint:gosec // this program itself
		},
		Watch: view.show,
	})
}

// demoWorker is a worker process of the demo.
func demoWorker(ctx context.Context, l *cli.Line) error {
	if len(l.Args) < 1 {
		return cli.Misused("this command is for the demo's own use")
	}
	st, err := engine.Open(ctx, l.Args[0])
	if err == nil {
		err = crash.Work(ctx, st, l.Args[1:])
		_ = st.Close() // every outcome was answered
	}
	return err
}
