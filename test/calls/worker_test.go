package calls_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/internal/failpoint"
	"github.com/outlast-go/outlast/kernel"
)

// TestMain lets the test's own program be a process that sends requests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := work(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// arguments of a worker process.
type arguments struct {
	store  string
	log    string
	slots  int
	grace  time.Duration
	place  string // where it kills itself
	visits int64  // at which visit
}

func (a arguments) list() []string {
	return []string{
		"worker", "-store", a.store, "-log", a.log, "-slots", fmt.Sprint(a.slots), "-grace", a.grace.String(), "-place", a.place, "-visits", fmt.Sprint(a.visits),
	}
}

func parse(args []string) (a arguments, err error) {
	f := flag.NewFlagSet("worker", flag.ContinueOnError)
	f.StringVar(&a.store, "store", "", "")
	f.StringVar(&a.log, "log", "", "")
	f.IntVar(&a.slots, "slots", 10, "")
	f.DurationVar(&a.grace, "grace", time.Second, "")
	f.StringVar(&a.place, "place", "", "")
	f.Int64Var(&a.visits, "visits", 0, "")
	return a, f.Parse(args)
}

// newCall defines the call that all processes know. Its callback writes one line per request, whole or not at all.
func newCall(log *os.File) (*call.Call, error) {
	client, err := call.NewClient(call.ClientConfig{
		Retry: kernel.Retry{Max: 8, Base: 20 * time.Millisecond, Cap: 100 * time.Millisecond}, Breaker: call.Breaker{Failures: -1},
		Timeouts: call.Timeouts{Total: patience},
	})
	if err != nil {
		return nil, err
	}
	write := func(id kernel.ID, outcome string) error {
		if log == nil {
			return errors.New("this process does not call back")
		}
		if _, err := fmt.Fprintf(log, "%s\t%s\n", id, outcome); err != nil {
			return err
		}
		failpoint.Hit("callback.logged")
		return nil
	}
	return call.Define("killed", call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error {
			return write(r.ID, fmt.Sprintf("status %d", r.Status))
		},
		OnError: func(_ context.Context, e *call.Error) error { return write(e.ID, "error "+string(e.Type)) },
	}, call.Config{Client: client, CallbackRetry: kernel.Retry{Max: 25, Base: 10 * time.Millisecond}}), nil
}

// work is the life of a worker process.
func work(args []string) error {
	a, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	st, err := engine.Open(ctx, a.store)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // everything that matters was answered
	log, err := os.OpenFile(a.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	c, err := newCall(log)
	if err != nil {
		return err
	}
	failpoint.Set(a.kill())
	k, err := kernel.New(st, kernel.Config{
		Slots: map[string]int{"calls": a.slots, "callbacks": max(a.slots/4, 2)}, ShutdownTimeout: a.grace, Observe: settled,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	defer k.Close()
	c.Serve(k)
	return k.Run(ctx)
}

// kill ends this process at the given visit of the given place, as kill -9 does.
func (a arguments) kill() func(string) {
	var visits atomic.Int64
	return func(place string) {
		if place == a.place && visits.Add(1) == a.visits {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it comes any moment
		}
	}
}

// settled is a place of its own: the outcome is durable, and nothing else has happened.
func settled(e kernel.Event) {
	if e.Kind != kernel.TaskSettled {
		return
	}
	if strings.HasPrefix(e.Name, "call.send") {
		failpoint.Hit("call.settled")
	} else {
		failpoint.Hit("callback.settled")
	}
}
