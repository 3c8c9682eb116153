package side

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mikestefanello/backlite"

	"github.com/outlast-go/outlast/bench/part"
)

// backliteQueue is backlite on SQLite, synchronous=FULL, with 10 workers; at its best 100.
type backliteQueue struct {
	db     *sql.DB
	client *backlite.Client
	run    atomic.Pointer[func(context.Context, int64)]
}

// backliteTask is one of its tasks.
type backliteTask args

// Config is the queue of the task, with the values of backlite's own example.
func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "noop", MaxAttempts: 3, Timeout: 5 * time.Minute, Backoff: 10 * time.Second}
}

func openBacklite(_ context.Context, o part.Order) (part.Queue, error) {
	db, err := sql.Open(backliteDriver, fmt.Sprintf(backliteSource, strings.TrimPrefix(o.URL, "sqlite:")))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	workers := 10
	if o.Setting == Best {
		workers = 100
	}
	if o.Slots > 0 {
		workers = o.Slots
	}
	q := &backliteQueue{db: db}
	q.client, err = backlite.NewClient(backlite.ClientConfig{DB: db, NumWorkers: workers, ReleaseAfter: 10 * time.Minute, CleanupInterval: time.Hour})
	if err != nil {
		return nil, err
	}
	if err := q.client.Install(); err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	q.client.Register(backlite.NewQueue(func(ctx context.Context, t backliteTask) error {
		if run := q.run.Load(); run != nil {
			(*run)(ctx, t.Number)
		}
		return ctx.Err()
	}))
	return q, nil
}

func (q *backliteQueue) Submit(_ context.Context, number int64) error {
	_, err := q.client.Add(backliteTask{number}).Save()
	return err
}

func (q *backliteQueue) SubmitMany(_ context.Context, n int) error {
	list := make([]backlite.Task, n)
	for i := range list {
		list[i] = backliteTask{int64(i)}
	}
	_, err := q.client.Add(list...).Save()
	return err
}

func (q *backliteQueue) Work(ctx context.Context, run func(context.Context, int64)) error {
	q.run.Store(&run)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	q.client.Start(work)
	<-ctx.Done()
	late, end := context.WithTimeout(work, 5*time.Second)
	defer end()
	q.client.Stop(late)
	return nil
}

func (q *backliteQueue) Close() error { return q.db.Close() }
