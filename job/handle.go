package job

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// State says where a job stands.
type State = kernel.TaskState

// The states of a job. Only the last three are endings.
const (
	Scheduled State = "scheduled" // waits for its time: a delay, a retry, a snooze
	Ready     State = "ready"     // waits for a slot
	Running   State = "running"
	Ending    State = "ending" // has ended inside a transaction of the user's that is being settled
	Parked    State = "parked"
	Held      State = "held" // waits for its group, or for an operator
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Handle is a started job, seen from any process.
type Handle[Out any] struct {
	k       *kernel.Kernel
	job     string
	kind    string
	id      kernel.ID
	existed bool
	before  kernel.ID
}

// Handle returns a handle of a job that was started before, here or elsewhere. Whether there is one is seen by its first use:
// kernel.ErrNotFound.
func (j *Job[In, Out]) Handle(k *kernel.Kernel, id kernel.ID) *Handle[Out] {
	return &Handle[Out]{k: k, job: j.name, kind: j.Kind(), id: id}
}

// ID returns the id of the task that stands: the one that was started, or the one that held its Key.
func (h *Handle[Out]) ID() kernel.ID { return h.id }

// Existed reports whether Start stored nothing, because the Key was held or the ID was known.
func (h *Handle[Out]) Existed() bool { return h.existed }

// Replaced returns the id of the job that had the Key before and made room for this one: it was cancelled while it waited, or with
// Latest runs on. Zero: there was none.
func (h *Handle[Out]) Replaced() kernel.ID { return h.before }

// Wait returns the result once the job has ended. If it did not end well the error is an *Error, which is ErrFailed or
// ErrCancelled; if ctx ends first, its cause. ErrForgotten says that it ended well, and that its result was not kept.
func (h *Handle[Out]) Wait(ctx context.Context) (Out, error) {
	var out Out
	task, err := h.k.Wait(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	switch {
	case err != nil:
		return out, fmt.Errorf("wait for job %s: %w", h.job, err)
	case task.State != Done:
		return out, h.failure(&task)
	case !task.Stripped:
		if err := decode(nil, task.Result, &out); err != nil {
			return out, fmt.Errorf("wait for job %s: task %s is done; its result %w", h.job, h.id, err)
		}
	case reflect.TypeFor[Out]().Size() > 0:
		return out, fmt.Errorf("wait for job %s: task %s: %w", h.job, h.id, ErrForgotten)
	}
	return out, nil
}

// Status is how a job stands.
type Status struct {
	State       State
	Reason      string // why it ended or is held, if there is more to say than State does
	Asked       string // why it was asked to end; empty: it was not
	Attempts    int    // that have failed
	MaxAttempts int
	Crashes     int // processes that died while they ran it
	Progress    kernel.Progress
	Error       string // of the last attempt that failed
	ErrorType   string

	CreatedAt time.Time
	DueAt     time.Time // when it is due, or became so
	StartedAt time.Time // when it was last taken up; zero: not yet
	EndedAt   time.Time // zero: not yet
}

// Status reads how the job stands.
func (h *Handle[Out]) Status(ctx context.Context) (Status, error) {
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of job %s: %w", h.job, err)
	}
	s := Status{
		State: task.Read(), Reason: task.Reason, Asked: task.Asked,
		Attempts: task.Attempts, MaxAttempts: max(task.Retry.Max, 1), Crashes: task.Crashes, Progress: task.Progress,
		CreatedAt: task.CreatedAt, DueAt: task.DueAt, StartedAt: task.StartedAt, EndedAt: task.EndedAt,
	}
	if task.Error != nil {
		s.Error, s.ErrorType = task.Error.Message, task.Error.Type
	}
	return s, nil
}

// Cancel ends the job at once if it waits. If it runs, its context ends within a second, and if it finishes all the same,
// that counts. A job that has ended is left as it is. The reason is shown; empty: "cancelled".
func (h *Handle[Out]) Cancel(ctx context.Context, reason string) error {
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err == nil {
		_, err = h.k.Cancel(ctx, h.id, reason)
	}
	if err != nil {
		return fmt.Errorf("cancel job %s: %w", h.job, err)
	}
	return nil
}

// mine refuses a task that is of another kind: its id came from somewhere else.
func (h *Handle[Out]) mine(t *kernel.Task) error {
	if t.Kind != h.kind {
		return fmt.Errorf("%w: task %s is of kind %s, not %s", kernel.ErrNotFound, h.id, t.Kind, h.kind)
	}
	return nil
}

// failure makes an error of a task that did not end well.
func (h *Handle[Out]) failure(t *kernel.Task) error {
	e := &Error{Job: h.job, ID: t.ID, State: t.State, Reason: t.Reason, Attempts: t.Attempts}
	if t.Error != nil {
		e.Message, e.Type = t.Error.Message, t.Error.Type
	}
	return e
}
