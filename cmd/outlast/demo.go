package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

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

// demo starts worker processes, submits tasks, kills workers while they work, and reports what became of the tasks.
func demo(ctx context.Context, args []string, out, errs io.Writer) int {
	var o demoOptions
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.store, "store", "", "store to work on: "+engine.Forms+" (default: an SQLite file in a temporary folder)")
	flags.IntVar(&o.workers, "workers", 3, "worker processes at a time")
	flags.IntVar(&o.tasks, "tasks", 5000, "tasks to submit")
	flags.IntVar(&o.kills, "kills", 10, "how often a worker is killed with SIGKILL, and another started")
	flags.IntVar(&o.stops, "stops", 0, "how often a worker is stopped with SIGSTOP for longer than others wait for it")
	flags.DurationVar(&o.dead, "dead-after", 15*time.Second, "how long a silent worker is waited for")
	flags.Uint64Var(&o.seed, "seed", 1, "decides who is killed when")
	flags.BoolVar(&o.json, "json", false, "print the report as one JSON object, the last line of the output")
	flags.StringVar(&o.keep, "logs", "", "keep the logs of the workers in this folder (default: a temporary one)")
	if code, ok := parseFlags(flags, args, out, errs); !ok {
		return code
	}
	for name, n := range map[string]int{"workers": o.workers, "tasks": o.tasks} {
		if n < 1 {
			fmt.Fprintf(errs, "outlast demo: --%s is %d; it must be at least 1\n", name, n)
			return exitUsage
		}
	}
	if o.dead < 500*time.Millisecond {
		fmt.Fprintf(errs, "outlast demo: --dead-after is %v; it must be at least 500ms\n", o.dead)
		return exitUsage
	}
	report, err := runDemo(ctx, o, out, errs)
	if err != nil {
		fmt.Fprintf(errs, "outlast demo: %v\n", err)
		return exitFail
	}
	if o.json {
		text, err := json.Marshal(report)
		if err != nil {
			fmt.Fprintf(errs, "outlast demo: %v\n", err)
			return exitFail
		}
		fmt.Fprintf(out, "%s\n", text)
	} else {
		tell(out, report)
	}
	if !report.Good() {
		return exitFail
	}
	return exitOK
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
		Worker: func(ctx context.Context, args []string) *exec.Cmd {
			return exec.CommandContext(ctx, self, append([]string{workerCommand, o.store}, args...)...) //nolint:gosec // this program itself
		},
		Watch: view.show,
	})
}

// demoWorker is a worker process of the demo.
func demoWorker(ctx context.Context, args []string, _, errs io.Writer) int {
	if len(args) < 1 {
		fmt.Fprintln(errs, "outlast: this command is for the demo's own use")
		return exitUsage
	}
	st, err := engine.Open(ctx, args[0])
	if err == nil {
		err = crash.Work(ctx, st, args[1:])
		_ = st.Close() // every outcome was answered
	}
	if err != nil {
		fmt.Fprintf(errs, "outlast demo worker: %v\n", err)
		return exitFail
	}
	return exitOK
}

// parseFlags parses flags, and says in one line what is wrong with them. If it returns false, the command is over.
func parseFlags(flags *flag.FlagSet, args []string, out, errs io.Writer) (int, bool) {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case err == nil && flags.NArg() > 0:
		fmt.Fprintf(errs, "outlast %s: unexpected argument %q; \"outlast %s --help\" lists the flags\n", flags.Name(), flags.Arg(0), flags.Name())
		return exitUsage, false
	case err == nil:
		return exitOK, true
	case err == flag.ErrHelp: //nolint:errorlint // the package returns it bare
		fmt.Fprintf(out, "usage: outlast %s [flags]\n\n", flags.Name())
		flags.VisitAll(func(f *flag.Flag) {
			def := ""
			if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
				def = " (default " + f.DefValue + ")"
			}
			fmt.Fprintf(out, "  --%-10s %s%s\n", f.Name, f.Usage, def)
		})
		return exitOK, false
	}
	text := err.Error()
	if name, found := strings.CutPrefix(text, "flag provided but not defined: -"); found {
		text = fmt.Sprintf("unknown flag --%s", name)
		var names []string
		flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if near, ok := nearest(name, names); ok {
			text += fmt.Sprintf("; did you mean --%s?", near)
		}
	}
	fmt.Fprintf(errs, "outlast %s: %s\n", flags.Name(), text)
	return exitUsage, false
}
