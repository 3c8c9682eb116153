// Command crash puts an engine through real crashes: worker processes with all kinds of work are killed and stopped for as long as
// asked, and what became of the work is judged from outside the store. The last line is one JSON object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/crash"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		err = worker(ctx, os.Args[2], os.Args[3:])
	} else {
		err = parent(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

func worker(ctx context.Context, path string, args []string) error {
	st, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // every outcome was answered
	return crash.Work(ctx, st, args)
}

func parent(ctx context.Context) error {
	engine := flag.String("engine", "sqlite", "engine to put through it: sqlite")
	seconds := flag.Int("seconds", 60, "how long to go on")
	seed := flag.Uint64("seed", 1, "decides what happens when")
	workers := flag.Int("workers", 4, "worker processes at a time")
	calm := flag.Bool("calm", false, "kill and stop nobody: what is judged is that nobody is robbed")
	logs := flag.String("logs", "", "keep the logs and the store in this folder")
	flag.Parse()
	if *engine != "sqlite" {
		return fmt.Errorf("engine %q is not known; there is sqlite", *engine)
	}
	dir, err := folder(*logs)
	if err != nil {
		return err
	}
	if *logs == "" {
		defer func() { _ = os.RemoveAll(dir) }() // a temporary folder: the system removes it sooner or later
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "crash.db")
	event := ""
	report, err := crash.Run(ctx, crash.Config{
		Store: "sqlite:" + path, Workers: *workers, Seconds: *seconds, Seed: *seed, Mixed: true, Calm: *calm, Dir: dir,
		Open: func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, sqlite.Config{Path: path}) },
		Worker: func(ctx context.Context, args []string) *exec.Cmd {
			return exec.CommandContext(ctx, self, append([]string{"worker", path}, args...)...) //nolint:gosec // this program itself
		},
		Watch: func(s crash.Status) {
			if s.Event != event {
				event = s.Event
				fmt.Fprintf(os.Stderr, "%7.1fs %d of %d done: %s\n", s.Elapsed.Round(time.Millisecond).Seconds(), s.Done, s.Submitted, s.Event)
			}
		},
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", text)
	if !report.Good() {
		return fmt.Errorf("the promises were broken: replay with -seed %d", *seed)
	}
	return nil
}

func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "outlast-crash-")
	}
	return keep, os.MkdirAll(keep, 0o700)
}
