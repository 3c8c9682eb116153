package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

type runKey struct{}

// Run is one attempt at a task, as the endpoint's function sees it. Outside a run it is nil, and its methods do no harm: they
// return zero values, Save keeps nothing, Load finds nothing. So a function can be called by a plain test.
type Run struct{ run *kernel.Run }

// From returns the run that ctx belongs to, or nil.
func From(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// ID returns the id of the task.
func (r *Run) ID() kernel.ID { return r.Task().ID }

// Key is the same on every attempt at this task, and no other task has it: for receivers that tell repeats by a key.
func (r *Run) Key() string { return r.Task().ID.String() }

// Attempt returns 1 for the first attempt. A crash is no attempt, unless Config.CrashSpendsAttempt says so.
func (r *Run) Attempt() int { return r.Task().Attempts + 1 }

// Task returns the record as it was when the run began.
func (r *Run) Task() kernel.Task {
	if r == nil {
		return kernel.Task{}
	}
	return r.run.Task()
}

// Progress tells how far the run is: clients see it in the status and as an event. It costs nothing and never fails; what is told last is seen
// within about a second.
func (r *Run) Progress(done, total int64, note string) {
	if r != nil {
		r.run.Progress(done, total, note)
	}
}

// Logger returns the kernel's log with the run's name in it.
func (r *Run) Logger() *slog.Logger {
	if r == nil {
		return slog.Default()
	}
	return r.run.Logger()
}

// Save keeps a value as JSON under a name, in place of what was there; a nil value removes it. When it returns nil the value is
// durable, and a later run of this task finds it by Load. kernel.ErrFenced says that the task was lost to another.
func (r *Run) Save(ctx context.Context, name string, value any) error {
	if r == nil {
		return nil
	}
	var data []byte
	if value != nil {
		var err error
		if data, err = encode.JSON(value); err != nil {
			return fmt.Errorf("save %s: %w: the value %w", name, kernel.ErrInvalid, err)
		}
	}
	return r.run.Save(ctx, map[string][]byte{name: data})
}

// Load reads what an earlier run, or this one, saved under a name. It reports whether there is anything; if not, value stays
// as it is.
func (r *Run) Load(ctx context.Context, name string, value any) (found bool, err error) {
	if r == nil {
		return false, nil
	}
	entries, err := r.run.Load(ctx, name)
	if err != nil {
		return false, err
	}
	data, found := entries[name]
	if !found {
		return false, nil
	}
	if err := json.Unmarshal(data, value); err != nil {
		return true, fmt.Errorf("load %s: the value does not decode: a %T", name, err)
	}
	return true, nil
}
