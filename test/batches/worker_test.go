//go:build unix

package batches_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
)

// Variables by which a process of this test learns what it is.
const (
	envStore   = "OUTLAST_BATCHES_STORE"
	envJournal = "OUTLAST_BATCHES_JOURNAL"
	envSubmit  = "OUTLAST_BATCHES_SUBMIT" // so many rows: it submits, and does not work
)

// journal is the file in which a process writes what it does: a line for each, which a kill cannot take back.
type journal struct {
	mu sync.Mutex
	f  *os.File
}

func (j *journal) note(format string, args ...any) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := fmt.Fprintf(j.f, format+"\n", args...); err != nil {
		panic(err)
	}
}

// square is what the rows of the trial do. Each writes down that it runs.
func square(j *journal) *batch.Batch[struct{}, int64, int64] {
	return batch.Define("trial/square", batch.Processor[struct{}, int64, int64]{
		Row: func(_ context.Context, _ struct{}, r batch.Row[int64]) (batch.Result[int64], error) {
			j.note("run %d", r.Line)
			return batch.Result[int64]{Out: r.Input * r.Input}, nil
		},
		Done: func(_ context.Context, _ struct{}, sum batch.Summary) error {
			j.note("done %d %d %d %d", sum.Rows, sum.Success, sum.Failed, sum.Aborted)
			return nil
		},
	}, batch.Config{})
}

// work is a worker process: it ends when it is told to, or killed.
func work() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	st, err := engine.Open(ctx, os.Getenv(envStore))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }() // every outcome was answered
	f, err := os.OpenFile(os.Getenv(envJournal), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	j := &journal{f: f}
	b := square(j)
	k, err := kernel.New(st, kernel.Config{
		Slots:  map[string]int{"default": 200},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Observe: func(e kernel.Event) {
			if e.Kind == kernel.TaskSettled && e.Err == nil && e.State == "done" {
				j.note("ended %s %s", e.Name, e.Task)
			}
		},
	})
	if err != nil {
		return err
	}
	defer k.Close()
	if rows := os.Getenv(envSubmit); rows != "" {
		if err := submitTrial(ctx, k, j, rows); err != nil {
			return err
		}
		return os.WriteFile(os.Getenv(envJournal)+peakSuffix, []byte(peak()), 0o600)
	}
	b.Serve(k)
	return k.Run(ctx)
}

// peakSuffix is behind the name of the journal of a process that tells how large it was at most.
const peakSuffix = ".peak"

// peak is how much memory this process held at most, in KiB; empty where that cannot be told. What the system tells of a child that has ended
// counts the memory of its parent, too.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ := strings.Cut(rest, "kB")
	return strings.TrimSpace(text)
}
