package call

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Handle is a started request, seen from any process.
type Handle struct {
	k       *kernel.Kernel
	call    *Call
	id      kernel.ID
	existed bool
	inline  *verdict // of an inline start
}

// Handle returns a handle of a request that was started before, here or elsewhere. Whether there is one is seen by its first use:
// kernel.ErrNotFound.
func (c *Call) Handle(k *kernel.Kernel, id kernel.ID) *Handle { return &Handle{k: k, call: c, id: id} }

// ID returns the id of the request that stands: the one that was started, or the one that held its Key.
func (h *Handle) ID() kernel.ID { return h.id }

// Existed reports whether Start stored nothing, because the Key was held or the ID was known.
func (h *Handle) Existed() bool { return h.existed }

// Wait returns the answer once the request has ended; its callback may not have been called yet. If there is no answer the error is
// an *Error; if ctx ends first, its cause. ErrForgotten says that the answer was not kept.
func (h *Handle) Wait(ctx context.Context) (*Response, error) {
	if h.inline != nil {
		return h.inline.result()
	}
	task, err := h.k.Wait(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for call %s: %w", h.call.name, err)
	}
	if task.Stripped && task.State == stateDone {
		return nil, fmt.Errorf("wait for call %s: task %s: %w", h.call.name, h.id, ErrForgotten)
	}
	var back wireCallback
	args, err := h.k.OnEndArgs(task)
	if err != nil {
		return nil, fmt.Errorf("wait for call %s: %w", h.call.name, err)
	}
	_, _ = unframe(args, &back) // only for what the answer repeats of its request
	v, err := h.call.client.verdict(ctx, h.k, &task, back)
	if err != nil {
		return nil, fmt.Errorf("wait for call %s: %w", h.call.name, err)
	}
	return v.result()
}

// WaitCallback returns once the callback has ended: nil if it was called and went well.
func (h *Handle) WaitCallback(ctx context.Context) error {
	if h.inline != nil {
		return nil
	}
	task, err := h.k.Wait(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err == nil {
		task, err = h.k.Wait(ctx, kernel.OnEndID(task))
	}
	if err != nil {
		return fmt.Errorf("wait for the callback of call %s: %w", h.call.name, err)
	}
	if task.State != stateDone {
		message := ""
		if task.Error != nil {
			message = ": " + task.Error.Message
		}
		return fmt.Errorf("the callback of call %s is %s (%s)%s", h.call.name, task.State, task.Reason, message)
	}
	return nil
}

// Status is how a request stands.
type Status struct {
	State       kernel.TaskState
	Reason      string // why it ended, if there is more to say than State does
	Attempts    int    // that have failed
	MaxAttempts int
	Crashes     int    // processes that died while they had it
	Error       string // of the last attempt that failed
	ErrorType   Type
	Host        string

	CreatedAt time.Time
	DueAt     time.Time // when it is due, or became so
	StartedAt time.Time // when it was last taken up; zero: not yet
	EndedAt   time.Time // zero: not yet
}

// Status reads how the request stands.
func (h *Handle) Status(ctx context.Context) (Status, error) {
	if h.inline != nil {
		return h.inline.status(), nil
	}
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of call %s: %w", h.call.name, err)
	}
	s := Status{
		State: task.Read(), Reason: task.Reason, Attempts: task.Attempts, MaxAttempts: max(task.Retry.Max, 1), Crashes: task.Crashes,
		Host: task.Lane, CreatedAt: task.CreatedAt, DueAt: task.DueAt, StartedAt: task.StartedAt, EndedAt: task.EndedAt,
	}
	if task.Error != nil {
		s.Error, s.ErrorType = task.Error.Message, Type(task.Error.Type)
	}
	return s, nil
}

// Cancel ends the request at once if it waits. If it is under way the connection is given up within a second, and if the answer
// comes all the same, that counts. One that has ended is left as it is. The callback comes, with TypeCancelled.
func (h *Handle) Cancel(ctx context.Context, reason string) error {
	if h.inline != nil {
		return nil
	}
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err == nil {
		_, err = h.k.Cancel(ctx, h.id, reason)
	}
	if err != nil {
		return fmt.Errorf("cancel call %s: %w", h.call.name, err)
	}
	return nil
}

// mine refuses a task that is of another kind: its id came from somewhere else.
func (h *Handle) mine(t *kernel.Task) error {
	if t.Kind != h.call.client.Kind() {
		return fmt.Errorf("%w: task %s is of kind %s, not %s", kernel.ErrNotFound, h.id, t.Kind, h.call.client.Kind())
	}
	return nil
}
