package job

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// What becomes of ticks that nobody was there to drive, as When.CatchUp.
const (
	CatchUpLast = kernel.CatchUpLast // the last one that was missed is made up for
	CatchUpAll  = kernel.CatchUpAll  // every one is
	CatchUpNone = kernel.CatchUpNone // none is
)

// What a tick does while the job of the tick before has not ended, as When.Overlap.
const (
	OverlapSkip  = kernel.OverlapSkip  // it passes
	OverlapQueue = kernel.OverlapQueue // its job waits until the one before has ended
	OverlapAllow = kernel.OverlapAllow // its job runs beside the one before
)

// When says at which times a schedule starts its job. Every, Cron and At make one; its other fields may be set then.
type When struct {
	// Rule is "every 5m", "at 2026-11-15T10:00:00Z" or cron with five or six fields, or a name such as @daily.
	Rule string
	// Zone is the zone of the clock on the wall that the rule goes by, as "Europe/Berlin". Default: UTC.
	Zone string
	// CatchUp is what becomes of ticks that were missed because no process ran. Default CatchUpLast.
	CatchUp string
	// Overlap is what a tick does while the job of the one before has not ended. Default OverlapSkip.
	Overlap kernel.Overlap
	// Jitter delays each job by a part of this, the same for all processes, so that not all that is due at midnight begins at once.
	// Default: none.
	Jitter time.Duration
}

// Every starts a job at the multiples of a duration since 1970, in UTC: at least a second.
func Every(d time.Duration) When { return When{Rule: "every " + d.String()} }

// Cron starts a job by a cron expression of five or six fields, or a name such as @daily, on the clock of a zone (empty: UTC). A time
// that the clock leaps over ticks once, at the leap; one that it shows twice ticks once.
func Cron(expression, zone string) When { return When{Rule: expression, Zone: zone} }

// At starts a job once.
func At(t time.Time) When { return When{Rule: "at " + t.UTC().Format(time.RFC3339Nano)} }

// Schedule starts the job with this input again and again, as when says, for as long as the schedule stands: any process drives it,
// and each tick starts the job once. It declares the schedule under its name: every process may do so whenever it begins; only
// a declaration that says something else than the last one changes what is stored, so that edits at run time stand
// (kernel.EditSchedule, PauseSchedule, ResumeSchedule, DeleteSchedule). The error is kernel.ErrInvalid if the rule cannot be understood or never
// comes, or the zone is not known. A job that nobody serves is kept, and waits: kernel.ScheduleStatus says so.
func (j *Job[In, Out]) Schedule(ctx context.Context, k *kernel.Kernel, name string, when When, in In, opts Options) (kernel.Schedule, error) {
	if !opts.ID.IsZero() {
		return kernel.Schedule{}, fmt.Errorf("schedule %s of job %s: %w: Options.ID is set; each tick has an id of its own", name, j.name, kernel.ErrInvalid)
	}
	spec, err := j.Spec(in, opts)
	if err != nil {
		return kernel.Schedule{}, fmt.Errorf("schedule %s of %w", name, err)
	}
	s, err := k.DeclareSchedule(ctx, kernel.Schedule{
		Name: name, Rule: when.Rule, Zone: when.Zone, CatchUp: when.CatchUp, Overlap: when.Overlap, Jitter: when.Jitter, Task: spec,
	})
	if err != nil {
		return s, fmt.Errorf("schedule of job %s: %w", j.name, err)
	}
	return s, nil
}
