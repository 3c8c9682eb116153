package job

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

type runKey struct{}

// Run is one attempt at a job, as its function sees it. Outside a run it is nil, and its methods do no harm: they return zero
// values, Save says ErrNoRun, Load finds nothing, Logger is slog.Default. So a function can be called by a plain test.
type Run struct {
	run *kernel.Run

	mu     sync.Mutex
	follow []kernel.Spec
	over   bool
}

// From returns the run that ctx belongs to, or nil.
func From(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// ID returns the id of the task.
func (r *Run) ID() kernel.ID { return r.Task().ID }

// Key is the same on every attempt at this job, and no other job has it: for receivers that tell repeats by a key.
func (r *Run) Key() string {
	if r == nil {
		return ""
	}
	return r.run.Key()
}

// Attempt returns 1 for the first attempt. A crash and a snooze are no attempts.
func (r *Run) Attempt() int {
	if r == nil {
		return 1
	}
	return r.run.Attempt()
}

// MaxAttempts returns how many attempts there may be.
func (r *Run) MaxAttempts() int { return max(r.Task().Retry.Max, 1) }

// Crashes returns how many processes have died while they ran this job.
func (r *Run) Crashes() int { return r.Task().Crashes }

// Task returns the record as it was when the run began: labels, lane, correlation, times.
func (r *Run) Task() kernel.Task {
	if r == nil {
		return kernel.Task{}
	}
	return r.run.Task()
}

// Asked returns why the job was asked to end, or nothing.
func (r *Run) Asked() string {
	if r == nil {
		return ""
	}
	return r.run.Asked()
}

// Progress tells how far the run is. It costs nothing and never fails; what is told last is seen within about a second.
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
// durable, and a later run of this job finds it by Load, whatever crashes. kernel.ErrFenced says that the job was lost to
// another, and ends the run's context.
func (r *Run) Save(ctx context.Context, name string, value any) error {
	if r == nil {
		return fmt.Errorf("save %s: %w", name, ErrNoRun)
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
	if err := decode(r.run, data, value); err != nil {
		return true, fmt.Errorf("load %s: the value %w", name, err)
	}
	return true, nil
}

// Then starts another job in the same step in which this run ends well: if it fails, snoozes or crashes, nothing is started. A
// Key that is held never fails the run: the other job stands. ErrNoRun says that ctx is not that of a run, or the run is over. A job
// that starts itself anew is defined in an init function: in a package variable the compiler sees a cycle.
func Then[In, Out any](ctx context.Context, next *Job[In, Out], in In, opts Options) error {
	spec, err := next.Spec(in, inherit(ctx, opts))
	if err == nil {
		err = From(ctx).then(spec)
	}
	if err != nil {
		return fmt.Errorf("then %w", err)
	}
	return nil
}

func (r *Run) then(spec kernel.Spec) error {
	if r == nil {
		return ErrNoRun
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
		return ErrNoRun
	case len(r.follow) == kernel.FollowLimit:
		return fmt.Errorf("%w: a run starts at most %d jobs by Then; start more through a group or by StartMany", kernel.ErrInvalid, kernel.FollowLimit)
	}
	r.follow = append(r.follow, spec)
	return nil
}

// end returns what Then has collected, and lets it collect no more.
func (r *Run) end() []kernel.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.follow
}
