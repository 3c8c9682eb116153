//go:build unix

package turns

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
)

// TestMain lets this binary be a worker process as well.
func TestMain(m *testing.M) {
	if url := os.Getenv("TURNS_WORKER"); url != "" {
		work(url, os.Getenv("TURNS_LOG"))
		return
	}
	os.Exit(m.Run())
}

// work is a worker process. It writes each start and each end into its own file, and lives until it is killed.
func work(url, log string) {
	ctx := context.Background()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	st, err := engine.Open(ctx, url)
	if err != nil {
		panic(err)
	}
	k, err := kernel.New(st, kernel.Config{Slots: map[string]int{"default": 8}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	say := func(what string, t kernel.Task) {
		// One write, so that a line is whole or is not there.
		_, _ = fmt.Fprintf(f, "%s %s %d %s %d %d %d\n", what, t.ID, t.Epoch, t.Limit, time.Now().UnixNano(), t.StartedAt.UnixNano(), os.Getpid())
	}
	k.Handle("work", func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		say("start", run.Task())
		select {
		case <-ctx.Done():
			say("lost", run.Task())
			return kernel.Outcome{}, ctx.Err()
		case <-time.After(time.Duration(5+rand.IntN(30)) * time.Millisecond):
		}
		say("end", run.Task())
		return kernel.Done(nil), nil
	})
	k.Handle("tick", func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done(nil), nil })
	_ = k.Run(ctx)
}
