// Command crash puts an engine through real crashes: worker processes with all kinds of work are killed and stopped for as long as
// asked, and what became of the work is judged from outside the store. The last line is one JSON object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/crash"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		err = worker(ctx, os.Args[2], os.Args[3:])
	} else if apart, code := runApart(ctx); apart {
		stop()
		os.Exit(code)
	} else {
		err = parent(ctx)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

func worker(ctx context.Context, url string, args []string) error {
	st, err := engine.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // every outcome was answered
	return crash.Work(ctx, st, args)
}

func parent(ctx context.Context) error {
	name := flag.String("engine", "sqlite", "what to put through it: "+engines)
	seconds := flag.Int("seconds", 60, "how long to go on")
	seed := flag.Uint64("seed", 1, "decides what happens when")
	rate := flag.Int("rate", 140, "tasks a second")
	pace := flag.Float64("pace", 1, "how much more often than usual things are done: usual is 1,280 kills in 30 minutes")
	only := flag.String("only", "", "do nothing but these, with commas between them: kill, stop, term, store, cut, idle, link, lose, delay, hold, disk")
	workers := flag.Int("workers", 8, "worker processes at a time")
	dead := flag.Duration("dead", 0, "dead-after of the workers; 0: the kernel's default")
	calm := flag.Bool("calm", false, "kill and stop nobody: what is judged is that nobody is robbed")
	logs := flag.String("logs", "", "keep the logs and the store in this folder")
	flag.Parse()
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
	disk := newDisk(ctx, dir)
	defer disk.close(context.WithoutCancel(ctx))
	st, err := setStage(*name, disk, rand.New(rand.NewPCG(*seed, 0x637574))) //nolint:gosec,contextcheck // a seed must repeat the same cuts; a server outlives what starts it
	if err != nil {
		return err
	}
	defer st.end()
	event := ""
	report, err := crash.Run(ctx, crash.Config{
		Store: st.url, Workers: *workers, Seconds: *seconds, Rate: *rate, Pace: *pace, Only: strings.FieldsFunc(*only, func(c rune) bool { return c == ',' }), Seed: *seed, Mixed: true, Calm: *calm, Dir: dir,
		Dead: *dead, Beat: *dead / 10, Stage: st.Stage,
		Open: func(ctx context.Context) (store.Store, error) { return engine.Open(ctx, st.url) },
		Worker: func(ctx context.Context, url string, args []string) *exec.Cmd {
			return exec.CommandContext(ctx, self, append([]string{"worker", url}, args...)...) //nolint:gosec // this program itself
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
	report.Engine = *name
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
