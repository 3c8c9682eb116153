// Command bench measures Outlast beside its peers and beside the bare stores, in rounds that take turns, on private servers and
// files. It prints a table and writes latest.json and a plot per bench; with -write or -add also BENCHMARKS.md of the
// repository.
//
//	go run . -quick            # under five minutes on two cores
//	go run . -only drain       # benches whose engine/name match
//	go run . -write            # a full run into BENCHMARKS.md
//	go run . -only crash -add  # a part of one, beside what is there
//	go run . -memory 1h        # whether the memory of workers stays flat
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/outlast-go/outlast/bench/contest"
	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/report"
	"github.com/outlast-go/outlast/bench/side"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "part" {
		os.Exit(part.Main(side.Measure))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "short measurements, peers at their best alone; no bench begins after 220 s, and it tells what it leaves out")
	only := flags.String("only", "", "run benches whose engine/name match this regular `expression`")
	rounds := flags.Int("rounds", 0, "how many `rounds`; default 5, quick 3")
	out := flags.String("out", "out", "write results and plots into this `folder`")
	write := flags.Bool("write", false, "write BENCHMARKS.md, in the folder above")
	add := flags.Bool("add", false, "put what is measured into BENCHMARKS.md, beside what it has of other benches")
	huge := flags.Bool("huge", false, "fill the store with 10,000,000 finished tasks, not 1,000,000")
	memory := flags.Duration("memory", 0, "watch the memory of workers for so `long`, and measure nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg := contest.Config{Command: command(args), Quick: *quick, Rounds: *rounds, Huge: *huge, Memory: *memory, Source: ".", Log: os.Stderr}
	var err error
	if cfg.Only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if cfg.Rounds == 0 {
		cfg.Rounds = 5
		if *quick {
			cfg.Rounds = 3
		}
	}
	if *quick {
		cfg.Budget = 220 * time.Second
	}
	if *write && (*quick || *only != "" || *memory > 0) {
		return errors.New("-write needs a full run: leave out -quick, -only and -memory; or -add this to what is there")
	}
	if *add && (*quick || *write) {
		return errors.New("-add is for a part of a full run: leave out -quick and -write")
	}
	r, err := contest.Run(ctx, cfg)
	if err != nil {
		return err
	}
	report.Table(os.Stdout, r)
	if err := report.Save(*out, r); err != nil {
		return err
	}
	switch {
	case *write:
		return report.Write("..", r)
	case *add:
		return report.Add("..", r)
	}
	return nil
}

// command is how a shell is told to run this with arguments.
func command(args []string) string {
	text := "go run ."
	for _, arg := range args {
		if strings.ContainsAny(arg, " |()*$") {
			arg = "'" + arg + "'"
		}
		text += " " + arg
	}
	return text
}
