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
	// LanePage is a part of a list of lanes.
	LanePage = store.Page[store.LaneStatus]
)

// CountLimit is where the counts of a QueueStatus and a LaneStatus stop: so many means so many or more.
const CountLimit = store.CountLimit
