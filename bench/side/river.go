package side

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/outlast-go/outlast/bench/part"
)

// Kind names River's jobs.
func (args) Kind() string { return "noop" }

// riverQueue is River on PostgreSQL through pgx, with 20 connections and 100 workers, which is what its guide starts with. At its
// best it has 1,000 workers and fetches every 5 ms.
type riverQueue struct {
	pool   *pgxpool.Pool
	driver *riverpgxv5.Driver
	cfg    river.Config
	insert *river.Client[pgx.Tx]
}

// riverWorker runs River's jobs.
type riverWorker struct {
	river.WorkerDefaults[args]
	run func(context.Context, int64)
}

func (w *riverWorker) Work(ctx context.Context, j *river.Job[args]) error {
	w.run(ctx, j.Args.Number)
	return ctx.Err()
}

func openRiver(ctx context.Context, o part.Order) (part.Queue, error) {
	pool, err := openPool(ctx, o.URL, 20)
	if err != nil {
		return nil, err
	}
	q := &riverQueue{pool: pool, driver: riverpgxv5.New(pool), cfg: river.Config{Logger: quiet}}
	m, err := rivermigrate.New(q.driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if q.insert, err = river.NewClient(q.driver, &river.Config{Logger: quiet}); err != nil {
		return nil, err
	}
	workers := 100
	if o.Setting == Best {
		workers, q.cfg.FetchCooldown = 1000, 5*time.Millisecond
	}
	if o.Slots > 0 {
		workers = o.Slots
	}
	q.cfg.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
	return q, nil
}

func (q *riverQueue) Submit(ctx context.Context, number int64) error {
	_, err := q.insert.Insert(ctx, args{number}, nil)
	return err
}

func (q *riverQueue) SubmitMany(ctx context.Context, n int) error {
	list := make([]river.InsertManyParams, n)
	for i := range list {
		list[i].Args = args{int64(i)}
	}
	_, err := q.insert.InsertManyFast(ctx, list)
	return err
}

func (q *riverQueue) Work(ctx context.Context, run func(context.Context, int64)) error {
	cfg := q.cfg
	cfg.Workers = river.NewWorkers()
	river.AddWorker(cfg.Workers, &riverWorker{run: run})
	client, err := river.NewClient(q.driver, &cfg)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	<-ctx.Done()
	return client.StopAndCancel(context.WithoutCancel(ctx))
}

func (q *riverQueue) Close() error {
	q.pool.Close()
	return nil
}

// openPool opens connections whose commits are synced.
func openPool(ctx context.Context, url string, connections int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = connections
	return pgxpool.NewWithConfig(ctx, cfg)
}
