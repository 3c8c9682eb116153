// Package part measures one contestant in a process of its own: Outlast, a peer, or a store used bare. A process is told by
// an Order what to measure, and answers by a Report; so each figure has a fresh heap, and its CPU time is nobody else's. All
// contestants do the same work through a Queue and are measured by the same code.
//
// It is a module of its own, on the standard library alone, because River for SQLite exists only for an old River, which
// cannot stand in one program with the present one: see the folder riversqlite.
package part

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// Order says what a process is to measure.
type Order struct {
	Bench      string        // one of the measures below: submit, bulk, drain, …
	Side       string        // the contestant
	Setting    string        // of the contestant: default or best
	URL        string        // of the store
	Tasks      int           // how many tasks at most
	Goroutines int           // how many submit side by side
	Slots      int           // how many tasks run at once, where that is not the contestant's own default
	For        time.Duration // how long at most
	Steps      int           // of a saga
	Before     int           // how many tasks have ended in the store so far, where a bench goes on with a store
	Finished   int           // how many have to, before it measures
	Target     string        // URL of the HTTP server that calls go to
	Server     int           // process id of the store's server; 0 if it has none
}

// Report is what was measured.
type Report struct {
	// Values by name: rate (per second), p50 and p99 (milliseconds), memory (KiB per request), commits (per saga).
	Values map[string]float64
	// Tasks is how many the figures are made of.
	Tasks int
	// CPU and ServerCPU are microseconds per task of the program and of the store's server; negative if they cannot be told.
	CPU, ServerCPU float64
	// Notes are lines to be shown beside the figures.
	Notes []string `json:",omitempty"`
	// Error is why there are no figures.
	Error string `json:",omitempty"`
}

// Queue is what every contestant can do with tasks that do nothing.
type Queue interface {
	// Submit stores a task that carries a number; it is as durable as the contestant makes it when Submit returns.
	Submit(ctx context.Context, number int64) error
	// SubmitMany stores n tasks by the contestant's fastest call for many.
	SubmitMany(ctx context.Context, n int) error
	// Work runs tasks until ctx ends, calling run for each, side by side; it returns when nothing runs any more.
	Work(ctx context.Context, run func(ctx context.Context, number int64)) error
	// Close lets go of the store.
	Close() error
}

// Open opens a contestant on the store of an order.
type Open func(ctx context.Context, o Order) (Queue, error)

// Measure makes the figures of an order.
type Measure func(ctx context.Context, o Order, w *Wire) (Report, error)

// Wire is the pipe to who gave the order: lines come in by standard input and go out by standard output. The process ends when
// its input does, so that none is left behind.
type Wire struct {
	in  *bufio.Scanner
	out io.Writer
}

// Say sends a line.
func (w *Wire) Say(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// Hear waits for the next line; it is empty when there are no more.
func (w *Wire) Hear() string {
	if !w.in.Scan() {
		return ""
	}
	return w.in.Text()
}

// Main reads the order, has it measured, and writes the report as the last line. It returns the exit code.
func Main(measure Measure) int {
	w := &Wire{in: bufio.NewScanner(os.Stdin), out: os.Stdout}
	w.in.Buffer(nil, 1<<20)
	var o Order
	if err := json.Unmarshal([]byte(w.Hear()), &o); err != nil {
		fmt.Fprintln(os.Stderr, "read the order:", err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.For+20*time.Minute)
	defer cancel()
	stop, err := profile()
	if err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		return 2
	}
	r, err := measure(ctx, o, w)
	stop()
	if err != nil {
		r.Error = err.Error()
	}
	line, err := json.Marshal(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the report:", err)
		return 2
	}
	w.Say("%s", line)
	if r.Error != "" {
		return 1
	}
	return 0
}

// Queues makes a Measure of contestants that are queues.
func Queues(sides map[string]Open) Measure {
	return func(ctx context.Context, o Order, w *Wire) (r Report, err error) {
		open, ok := sides[o.Side]
		if !ok {
			return Report{}, fmt.Errorf("no contestant is called %q", o.Side)
		}
		measure, ok := measures[o.Bench]
		if !ok {
			return Report{}, fmt.Errorf("no measure is called %q", o.Bench)
		}
		q, err := open(ctx, o)
		if err != nil {
			return Report{}, fmt.Errorf("open %s: %w", o.Side, err)
		}
		defer func() { err = errors.Join(err, q.Close()) }()
		return measure(ctx, q, o, w)
	}
}

// ProfileTo names a folder for CPU profiles in the environment of a contestant's process.
const ProfileTo = "OUTLAST_BENCH_PROFILE"

// profile begins a CPU profile if one is asked for.
func profile() (stop func(), err error) {
	dir := os.Getenv(ProfileTo)
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("cpu-%d.prof", os.Getpid())))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile that is cut short says so when it is read
	}, nil
}
