// Command temporal is Temporal as a contestant of the sagas: its server, its worker and its client in one process, which talk by gRPC
// over the loopback as they always do. The server keeps its data in SQLite (WAL, synchronous=FULL) or in PostgreSQL. It is a module of its
// own because of the hundreds that the server depends on.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/outlast-go/outlast/bench/part"
)

func main() { os.Exit(part.Main(measure)) }

const (
	namespace = "bench"
	queue     = "sagas"
)

// Settings of an order. The empty one is the default of server, worker and client.
const (
	best  = "best"  // four history shards, 16 pollers of each kind, workflows handed to the worker of their own process at once
	local = "local" // and steps are local activities: their results are stored with the end of the workflow task, not one by one
)

// measure runs workflows of empty steps side by side, each waited for.
func measure(ctx context.Context, o part.Order, _ *part.Wire) (r part.Report, err error) {
	if o.Bench != "sagas" {
		return r, fmt.Errorf("no measure is called %q", o.Bench)
	}
	address, stop, err := serve(ctx, o)
	if err != nil {
		return r, fmt.Errorf("start the server: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: mute{}})
	if err != nil {
		return r, fmt.Errorf("dial: %w", err)
	}
	defer c.Close()
	w := worker.New(c, queue, options(o.Setting))
	w.RegisterActivityWithOptions(step, activity.RegisterOptions{Name: "step"})
	w.RegisterWorkflowWithOptions(saga, workflow.RegisterOptions{Name: "saga"})
	if err := w.Start(); err != nil {
		return r, fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()
	if err := warm(ctx, c, o); err != nil {
		return r, err
	}
	if err := part.Parallel(o.Goroutines, func(int) error { return one(ctx, c, o) }); err != nil {
		return r, err
	}
	return part.Loop(o, func(int) error { return one(ctx, c, o) })
}

func options(setting string) worker.Options {
	if setting == "" {
		return worker.Options{}
	}
	return worker.Options{MaxConcurrentActivityTaskPollers: 16, MaxConcurrentWorkflowTaskPollers: 16}
}

// warm runs a workflow; a server that has just started may refuse the first ones.
func warm(ctx context.Context, c client.Client, o part.Order) (err error) {
	for begun := time.Now(); time.Since(begun) < 30*time.Second; {
		if err = one(ctx, c, o); err == nil {
			return nil
		}
		<-time.After(200 * time.Millisecond)
	}
	return fmt.Errorf("the server does not begin: %w", err)
}

// one runs a workflow to its end.
func one(ctx context.Context, c client.Client, o part.Order) error {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue, EnableEagerStart: o.Setting != ""}, "saga", o.Steps, o.Setting == local)
	if err != nil {
		return err
	}
	var n int
	return run.Get(ctx, &n)
}

// saga is a workflow of steps that do nothing, one after the other.
func saga(ctx workflow.Context, steps int, local bool) (n int, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	for range steps {
		var f workflow.Future
		if local {
			f = workflow.ExecuteLocalActivity(ctx, step, n)
		} else {
			f = workflow.ExecuteActivity(ctx, "step", n)
		}
		if err := f.Get(ctx, &n); err != nil {
			return n, err
		}
	}
	return n, nil
}

func step(_ context.Context, n int) (int, error) { return n + 1, nil }

// mute is the log of the client.
type mute struct{}

func (mute) Debug(string, ...any) {}
func (mute) Info(string, ...any)  {}
func (mute) Warn(string, ...any)  {}

// Error goes to standard error, which is shown when the process ends without a report.
func (mute) Error(text string, pairs ...any) {
	fmt.Fprintln(os.Stderr, strings.TrimSpace(text+" "+fmt.Sprintln(pairs...)))
}
