package job

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Values by which a Config or Options ask for what zero cannot say.
const (
	Forget    = kernel.Forget    // as Retention: input and result go as soon as the job is done or cancelled
	NoTimeout = kernel.NoTimeout // as Timeout: an attempt may take as long as it likes
)

// What becomes of a start whose Key is held by another.
const (
	Keep    kernel.Conflict = ""        // the other stands: the handle is its, and says Existed
	Reject  kernel.Conflict = "reject"  // as Keep, and Start says kernel.ErrDuplicate
	Replace kernel.Conflict = "replace" // if the other waits it is cancelled, reason "replaced"; if it runs, it stands as with Keep
	Latest  kernel.Conflict = "latest"  // as Replace, but beside one that runs the newcomer waits and has the key: the last one always runs
)

// What an ordered lane does after a job that failed.
const (
	Skip  kernel.Order = "skip"  // the next one runs
	Block kernel.Order = "block" // nothing of the lane runs until the failed one is retried or deleted
	Fail  kernel.Order = "fail"  // those of the lane that were started before it failed fail as well, reason "order"
)

// Options are of one start. The zero value starts the job at once, as its Config says.
type Options struct {
	// Delay is how long it waits at least; At is a time before which it does not begin. The later of both counts.
	Delay time.Duration
	At    time.Time

	// Key keeps a second start of the same job and key out, as OnConflict says (default Keep), for so long as KeyFor says: 0
	// until the job ends; negative: as long as its record is kept; else that long after its start. A job that fails lets go
	// of its key. Keys of different jobs do not meet.
	Key        string
	OnConflict kernel.Conflict
	KeyFor     time.Duration

	// Period lets the Key be started once in so long: later starts within it are told which job stands, unless that one has failed.
	// It is KeyFor, and keeps the job's record at least as long. Default: none.
	Period time.Duration

	// Lane is a tenant, an account, a customer: lanes take turns, and Order acts within one. Default: one lane for all.
	Lane string
	// Labels are shown and searched for. Default: none.
	Labels map[string]string
	// Correlation ties together what belongs to one request. Default: that of the run in which it is started, if any.
	Correlation string

	// Priority, Retry, Timeout, StartBy, Retention, Limit and Order stand, unless they are zero, for those of the Config.
	Priority  int
	Retry     kernel.Retry
	Timeout   time.Duration
	StartBy   time.Duration
	Retention time.Duration
	Limit     string
	Order     kernel.Order

	// ID is the task's. The same ID again has no effect, and says Existed. Default: a fresh one.
	ID kernel.ID
	// OnEnd is submitted when the job ends, by whichever road; Job.Spec makes one. Its run finds the ended task's id as
	// Run.Task().Parent. Default: nothing.
	OnEnd *kernel.Spec
}

// spec makes the task of a start.
func (j *Job[In, Out]) spec(args []byte, o Options) kernel.Spec {
	return kernel.Spec{
		ID: o.ID, Kind: j.Kind(), Queue: cmp.Or(j.cfg.Queue, kernel.DefaultQueue), Args: args,
		Delay: o.Delay, DueAt: o.At,
		Unique:      kernel.Unique{Key: o.Key, OnConflict: o.OnConflict, For: cmp.Or(o.KeyFor, o.Period)},
		Lane:        o.Lane,
		Labels:      maps.Clone(o.Labels), // a submit in doubt may outlast the call
		Correlation: o.Correlation,
		Priority:    cmp.Or(o.Priority, j.cfg.Priority),
		Retry:       retry(cmp.Or(o.Retry, j.cfg.Retry)),
		Timeout:     cmp.Or(o.Timeout, j.cfg.Timeout),
		StartBy:     cmp.Or(o.StartBy, j.cfg.StartBy),
		Retention:   retention(cmp.Or(o.Retention, j.cfg.Retention), o.Period),
		Limit:       cmp.Or(o.Limit, j.limitKey()),
		Order:       cmp.Or(o.Order, j.cfg.Order),
		OnEnd:       o.OnEnd,
	}
}

// retention keeps a record as long as its period lasts: its key is held no longer than the record is kept.
func retention(d, period time.Duration) time.Duration {
	if d <= 0 || d == Forget {
		return d // the kernel's default, which is as long as the key needs it; for ever; or none, as was asked for
	}
	return max(d, period)
}

// limitKey is the key of the limit that the job counts against. Bounds without a key are of the job alone.
func (j *Job[In, Out]) limitKey() string {
	if j.cfg.Limit == "" && (j.cfg.Running != 0 || len(j.cfg.Rates) > 0) {
		return j.Kind()
	}
	return j.cfg.Limit
}

// retry fills in the parts that are missing of a policy: one that says "five attempts" does not mean five within a moment.
func retry(r kernel.Retry) kernel.Retry {
	if r == (kernel.Retry{}) {
		return r
	}
	r.Max = cmp.Or(r.Max, 25)
	r.Base = cmp.Or(r.Base, time.Second)
	r.Factor = cmp.Or(r.Factor, 2)
	r.Cap = cmp.Or(r.Cap, max(10*time.Minute, r.Base))
	return r
}

// check says what of a task can never be stored. The kernel fills in what stands for defaults here.
func check(s kernel.Spec) error {
	if s.ID.IsZero() {
		s.ID = kernel.ID{1}
	}
	for next := &s; next != nil; next = next.OnEnd {
		next.Queue = cmp.Or(next.Queue, kernel.DefaultQueue)
		next.Timeout = max(next.Timeout, 0)
		if next.OnEnd != nil {
			copied := *next.OnEnd
			next.OnEnd = &copied
		}
	}
	if s.Unique.Key == "" && (s.Unique.OnConflict != Keep || s.Unique.For != 0) {
		return fmt.Errorf("%w: OnConflict and KeyFor need a Key", kernel.ErrInvalid)
	}
	return s.Validate()
}
