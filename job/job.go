package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Config is what holds for every start of a job, unless its Options say otherwise. The zero value works.
type Config struct {
	// Queue is where the job waits. Default "default". It is run by processes whose kernel.Config.Slots name the queue.
	Queue string
	// Priority goes first if it is higher. Default 0.
	Priority int
	// Retry says when to try again. Default: the kernel's (25 attempts, 1 s doubling up to 10 minutes, with jitter). If only
	// some of its parts are set, these values stand for the others. Max 1: once.
	Retry kernel.Retry
	// Timeout of one attempt. Default: the kernel's (30 minutes); NoTimeout, or negative: none.
	Timeout time.Duration
	// StartBy cancels the job, reason "expired", if it was not started so long after Start. Default: never.
	StartBy time.Duration
	// Retention is how long it is kept once done or cancelled. Default: the kernel's (24 h); Forget: not; negative: for ever.
	// A failed job is kept until it is retried or deleted.
	Retention time.Duration
	// Limit is the key of the limit that the job counts against: see kernel.PutLimit. Default: none, or if Running or Rates are
	// set the job's own.
	Limit string
	// Running is how many of the limit may run at once, in all processes together; Rates how many may start, in one or more windows
	// which must all have room. A job that must wait spends no attempt. Serve declares them: see kernel.DeclareLimit. Default: no bound.
	Running int
	Rates   []kernel.Rate
	// Order runs the jobs of one Lane one after the other, in the order they were started, to the millisecond of the starter's
	// clock; those of one StartMany exactly. Default: in no order.
	Order kernel.Order
}

// Job is a function that can be started to run in the background. Make one with Define; it may be used from any goroutine.
type Job[In, Out any] struct {
	name string
	fn   func(context.Context, In) (Out, error)
	cfg  Config
}

// Define gives a function a name under which it is stored, and so must keep for as long as jobs of it may be left. It
// panics on a programmer's mistake: a name of other than ASCII letters, digits and . _ - : /, no function, a Config that no
// job can have.
func Define[In, Out any](name string, fn func(context.Context, In) (Out, error), cfg Config) *Job[In, Out] {
	if name == "" {
		panic("job.Define: the name is empty; give the job a name of ASCII letters, digits and . _ - : /")
	}
	if fn == nil {
		panic(fmt.Sprintf("job.Define(%q): the function is nil", name))
	}
	j := &Job[In, Out]{name: name, fn: fn, cfg: cfg}
	if err := check(j.spec(nil, Options{})); err != nil {
		panic(fmt.Sprintf("job.Define(%q): %v", name, err))
	}
	if l := j.limit(); l.Key != "" {
		if err := l.Validate(); err != nil {
			panic(fmt.Sprintf("job.Define(%q): %v", name, err))
		}
	}
	return j
}

// Name returns the name that Define was given.
func (j *Job[In, Out]) Name() string { return j.name }

// Kind returns the kind of the job's tasks: "job." and the name.
func (j *Job[In, Out]) Kind() string { return "job." + j.name }

// Serve says that this process runs the job. It must be called before k.Run, once; otherwise it panics.
func (j *Job[In, Out]) Serve(k *kernel.Kernel) {
	k.Handle(j.Kind(), j.run)
	if l := j.limit(); l.Running != 0 || len(l.Rates) > 0 {
		if err := k.DeclareLimit(l); err != nil {
			panic(fmt.Sprintf("job %s: %v", j.name, err))
		}
	}
}

func (j *Job[In, Out]) limit() kernel.Limit {
	return kernel.Limit{Key: j.limitKey(), Running: j.cfg.Running, Rates: j.cfg.Rates}
}

// run is the handler of the job's tasks.
func (j *Job[In, Out]) run(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	var in In
	if err := decode(kr, kr.Task().Args, &in); err != nil {
		return kernel.Outcome{}, kernel.Permanent(fmt.Errorf("job %s: the input %w", j.name, err))
	}
	r := &Run{run: kr}
	defer r.end()
	out, err := j.fn(context.WithValue(ctx, runKey{}, r), in)
	var later snooze
	if errors.As(err, &later) {
		return kernel.Snooze(time.Duration(later)), nil
	}
	if err != nil {
		return kernel.Outcome{}, err
	}
	result, err := encode.JSON(out)
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("encode", fmt.Errorf("job %s: the result %w", j.name, err)))
	}
	outcome := kernel.Done(result)
	outcome.Follow = r.end()
	return outcome, nil
}
