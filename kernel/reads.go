package kernel

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Now reads the store's clock: it also tells whether the store answers.
func (k *Kernel) Now(ctx context.Context) (now time.Time, err error) {
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		now, err = k.store.Now(ctx)
		return err
	})
	return now, wrap("read the clock", err)
}

// Limits lists limits and their use, by key.
func (k *Kernel) Limits(ctx context.Context) (list []store.LimitStatus, err error) {
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		list, err = k.store.LimitList(ctx)
		return err
	})
	return list, wrap("list limits", err)
}

// Lanes pages through the lanes of a queue that have ready tasks, by name.
func (k *Kernel) Lanes(ctx context.Context, queue string, page store.PageRequest) (p store.Page[store.LaneStatus], err error) {
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.LaneList(ctx, queue, page)
		return err
	})
	return p, wrap("list lanes of queue "+queue, err)
}

// PutWeight sets how many tasks lanes of a queue with this lane key give in a turn; below 1: 1.
func (k *Kernel) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	return wrap("put weight", k.ask(ctx, func(ctx context.Context) error { return k.store.PutWeight(ctx, queue, lane, weight) }))
}

// Schedule reads one schedule.
func (k *Kernel) Schedule(ctx context.Context, name string) (s Schedule, err error) {
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		s, err = k.store.Schedule(ctx, name)
		return err
	})
	return s, wrap("read schedule "+name, err)
}

// What reads answer with.
type (
	// QueueStatus counts what waits in a queue.
	QueueStatus = store.QueueStatus
	// LaneStatus is a lane with ready tasks.
	LaneStatus = store.LaneStatus
	// LimitStatus is a limit and its use.
	LimitStatus = store.LimitStatus
	// Worker is one incarnation of a process.
	Worker = store.Worker
	// Minute is what happened in one minute to the tasks of one queue and kind.
	Minute = store.Minute
	// TaskPage is a part of a list of tasks.
	TaskPage = store.Page[store.Task]
)

// CountLimit is where counting on reads stops.
const CountLimit = store.CountLimit
