package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

// Direct works on a store.
type Direct struct {
	k     *kernel.Kernel
	st    store.Store
	limit time.Duration
}

// NewDirect works on a store through a kernel that is not run. A call that the store does not answer within limit is given up. Close
// closes both.
func NewDirect(st store.Store, k *kernel.Kernel, limit time.Duration) *Direct {
	return &Direct{k: k, st: st, limit: limit}
}

// Close lets go of the kernel and of the store.
func (d *Direct) Close() error {
	d.k.Close()
	return d.st.Close()
}

// Info tells what the store is.
func (d *Direct) Info() store.Info { return d.st.Info() }

var errLate = errors.New("it took too long")

// ask makes one call, and gives it up after the limit: somebody sits there and waits.
func ask[T any](ctx context.Context, d *Direct, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, errLate)
	defer cancel()
	v, err := fn(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLate) {
		err = fmt.Errorf("the store has not answered within %v: %w", d.limit, err)
	}
	return v, err
}

func do(ctx context.Context, d *Direct, fn func(context.Context) error) error {
	_, err := ask(ctx, d, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Now reads the store's clock.
func (d *Direct) Now(ctx context.Context) (time.Time, error) { return ask(ctx, d, d.st.Now) }

// Get reads a task.
func (d *Direct) Get(ctx context.Context, id store.ID) (store.Task, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Task, error) { return d.k.Get(ctx, id) })
}

// Wait waits until a task has ended, however long that takes.
func (d *Direct) Wait(ctx context.Context, id store.ID) (store.Task, error) { return d.k.Wait(ctx, id) }

// List pages through tasks.
func (d *Direct) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	return ask(ctx, d, func(ctx context.Context) (store.Page[store.Task], error) { return d.k.List(ctx, f, page) })
}

// Retry makes a failed or cancelled task ready.
func (d *Direct) Retry(ctx context.Context, id store.ID) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.Retry(ctx, id) })
}

// Cancel ends a task that waits, and asks one that runs.
func (d *Direct) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	return ask(ctx, d, func(ctx context.Context) (store.State, error) { return d.k.Cancel(ctx, id, reason) })
}

// Free makes a held task ready.
func (d *Direct) Free(ctx context.Context, id store.ID) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.Free(ctx, id) })
}

// Delete removes a task that has ended.
func (d *Direct) Delete(ctx context.Context, id store.ID) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.Delete(ctx, id) })
}

// Group reads a group.
func (d *Direct) Group(ctx context.Context, id store.ID) (store.Group, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Group, error) { return d.k.Group(ctx, id) })
}

// Groups pages through groups.
func (d *Direct) Groups(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error) {
	return ask(ctx, d, func(ctx context.Context) (store.Page[store.Group], error) { return d.st.GroupList(ctx, page) })
}

// Release ends the hold of a group.
func (d *Direct) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Group, error) { return d.k.Release(ctx, id) })
}

// Abort asks all members of a group to end.
func (d *Direct) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Group, error) { return d.k.Abort(ctx, id, reason) })
}

// Queues counts what waits.
func (d *Direct) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	return ask(ctx, d, d.k.Queues)
}

// Lanes pages through the lanes of a queue that have ready tasks.
func (d *Direct) Lanes(ctx context.Context, queue string, page store.PageRequest) (store.Page[store.LaneStatus], error) {
	return ask(ctx, d, func(ctx context.Context) (store.Page[store.LaneStatus], error) {
		return d.st.LaneList(ctx, queue, page)
	})
}

// Pause keeps claims away from a scope.
func (d *Direct) Pause(ctx context.Context, s store.Scope, span time.Duration, reason string) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.Pause(ctx, s, span, reason) })
}

// Resume ends a pause.
func (d *Direct) Resume(ctx context.Context, s store.Scope) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.Resume(ctx, s) })
}

// Pauses lists the pauses that stand.
func (d *Direct) Pauses(ctx context.Context) ([]store.Pause, error) { return ask(ctx, d, d.k.Pauses) }

// Limits lists limits and their use.
func (d *Direct) Limits(ctx context.Context) ([]store.LimitStatus, error) {
	return ask(ctx, d, func(ctx context.Context) ([]store.LimitStatus, error) { return d.k.Limits(ctx) })
}

// PutLimit sets a limit.
func (d *Direct) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Limit, error) { return d.k.PutLimit(ctx, l) })
}

// PutWeight sets how many tasks a lane gives in a turn.
func (d *Direct) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	return do(ctx, d, func(ctx context.Context) error { return d.st.PutWeight(ctx, queue, lane, weight) })
}

// Workers lists the fleet.
func (d *Direct) Workers(ctx context.Context) ([]store.Worker, error) {
	return ask(ctx, d, d.k.Workers)
}

// Stats lists what happened minute by minute.
func (d *Direct) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	return ask(ctx, d, func(ctx context.Context) ([]store.Minute, error) { return d.k.Stats(ctx, from, until) })
}

// Schedules pages through schedules.
func (d *Direct) Schedules(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error) {
	return ask(ctx, d, func(ctx context.Context) (store.Page[store.Schedule], error) { return d.k.Schedules(ctx, page) })
}

// Schedule reads one.
func (d *Direct) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Schedule, error) { return d.st.Schedule(ctx, name) })
}

// PauseSchedule pauses a schedule, or lets it go on from its next tick.
func (d *Direct) PauseSchedule(ctx context.Context, name string, paused bool) (store.Schedule, error) {
	return ask(ctx, d, func(ctx context.Context) (store.Schedule, error) {
		return d.k.EditSchedule(ctx, name, func(s *store.Schedule) error {
			s.Paused = paused
			return nil
		})
	})
}

// DeleteSchedule removes one. There need not be one.
func (d *Direct) DeleteSchedule(ctx context.Context, name string) error {
	return do(ctx, d, func(ctx context.Context) error { return d.k.DeleteSchedule(ctx, name) })
}

// Settle does what is ripe, as running processes do: it ends the members of groups that were aborted, and frees those of groups that were
// released.
func (d *Direct) Settle(ctx context.Context) error {
	for range 1000 { // others bring more all the time
		done, err := ask(ctx, d, func(ctx context.Context) (store.PromoteResult, error) { return d.st.Promote(ctx, 0) })
		if err != nil || !done.More {
			return err
		}
	}
	return nil
}

// Saga reads how a saga stands.
func (d *Direct) Saga(ctx context.Context, id store.ID) (saga.Status, error) {
	return ask(ctx, d, func(ctx context.Context) (saga.Status, error) { return saga.Look(ctx, d.k, id) })
}

// RetryUndo lets a stuck saga try again to undo a step, or all.
func (d *Direct) RetryUndo(ctx context.Context, id store.ID, step, note string) error {
	return do(ctx, d, func(ctx context.Context) error { return saga.RetryUndo(ctx, d.k, id, step, note) })
}

// Resolve tells a stuck saga that a step was put right by hand.
func (d *Direct) Resolve(ctx context.Context, id store.ID, step, note string) error {
	return do(ctx, d, func(ctx context.Context) error { return saga.Resolve(ctx, d.k, id, step, note) })
}

// SkipStep gives a held saga the result of a step that cannot be run.
func (d *Direct) SkipStep(ctx context.Context, id store.ID, step string, result json.RawMessage, note string) error {
	return do(ctx, d, func(ctx context.Context) error { return saga.SkipStep(ctx, d.k, id, step, result, note) })
}

// ReleaseSaga lets a saga go on that is held because its processes died.
func (d *Direct) ReleaseSaga(ctx context.Context, id store.ID) error {
	return do(ctx, d, func(ctx context.Context) error { return saga.Release(ctx, d.k, id) })
}

// Signal sends a signal to a saga.
func (d *Direct) Signal(ctx context.Context, id store.ID, name string, value json.RawMessage) error {
	return do(ctx, d, func(ctx context.Context) error {
		return saga.NewSignal[json.RawMessage](name).Send(ctx, d.k, id, value)
	})
}
