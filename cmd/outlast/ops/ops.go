// Package ops is what operators do to a store: the seam between the verbs of the command line and what they work on. Direct works on
// the store itself, Daemon through the HTTP API of a daemon.
package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

// Operator is all that the verbs need. What a method does is said at the method of kernel.Kernel, or of store.Store, of that name.
type Operator interface {
	Tasks
	Lanes
	Fleet
	Sagas
	Batches

	Info() store.Info
	Now(ctx context.Context) (time.Time, error)
	Close() error
}

// Tasks looks at tasks and groups, and changes them.
type Tasks interface {
	Get(ctx context.Context, id store.ID) (store.Task, error)
	List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error)
	Wait(ctx context.Context, id store.ID) (store.Task, error)
	Retry(ctx context.Context, id store.ID) error
	Cancel(ctx context.Context, id store.ID, reason string) (store.State, error)
	Free(ctx context.Context, id store.ID) error
	Delete(ctx context.Context, id store.ID) error

	Group(ctx context.Context, id store.ID) (store.Group, error)
	Groups(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error)
	Release(ctx context.Context, id store.ID) (store.Group, error)
	Abort(ctx context.Context, id store.ID, reason string) (store.Group, error)
}

// Lanes governs what is claimed.
type Lanes interface {
	Queues(ctx context.Context) ([]store.QueueStatus, error)
	Lanes(ctx context.Context, queue string, page store.PageRequest) (store.Page[store.LaneStatus], error)
	Pause(ctx context.Context, s store.Scope, d time.Duration, reason string) error
	Resume(ctx context.Context, s store.Scope) error
	Pauses(ctx context.Context) ([]store.Pause, error)
	Limits(ctx context.Context) ([]store.LimitStatus, error)
	PutLimit(ctx context.Context, l store.Limit) (store.Limit, error)
	PutWeight(ctx context.Context, queue, lane string, weight int) error
}

// Fleet is about workers, schedules and what happened.
type Fleet interface {
	Workers(ctx context.Context) ([]store.Worker, error)
	Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error)
	Schedules(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error)
	Schedule(ctx context.Context, name string) (store.Schedule, error)
	// PauseSchedule pauses a schedule, or lets it go on.
	PauseSchedule(ctx context.Context, name string, paused bool) (store.Schedule, error)
	DeleteSchedule(ctx context.Context, name string) error
}

// Sagas looks at sagas and helps them. What a method does is said at the function of package saga of that name.
type Sagas interface {
	Saga(ctx context.Context, id store.ID) (saga.Status, error)
	RetryUndo(ctx context.Context, id store.ID, step, note string) error
	Resolve(ctx context.Context, id store.ID, step, note string) error
	SkipStep(ctx context.Context, id store.ID, step string, result json.RawMessage, note string) error
	ReleaseSaga(ctx context.Context, id store.ID) error
	Signal(ctx context.Context, id store.ID, name string, value json.RawMessage) error
}

var _ Operator = (*Direct)(nil)

// All pages through a list to its end, and calls fn for each item until it says that it is enough.
func All[T any](ctx context.Context, list func(context.Context, store.PageRequest) (store.Page[T], error), page store.PageRequest, fn func(T) (more bool)) error {
	for {
		p, err := list(ctx, page)
		if err != nil {
			return err
		}
		for _, item := range p.Items {
			if !fn(item) {
				return nil
			}
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			return nil
		}
	}
}

// Kernel is the kernel beneath, for what only a process on the store can do.
func (d *Direct) Kernel() *kernel.Kernel { return d.k }

// Store is the store beneath.
func (d *Direct) Store() store.Store { return d.st }
