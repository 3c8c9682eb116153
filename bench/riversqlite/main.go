// Command riversqlite is River on SQLite as a contestant of the benches. Its driver exists for River 0.31 alone, which cannot stand in
// one program with the present River: so it is a module of its own.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the engine of store/sqlite

	"github.com/outlast-go/outlast/bench/part"
)

func main() {
	os.Exit(part.Main(part.Queues(map[string]part.Open{"riversqlite": open})))
}

// args is what a job carries.
type args struct {
	Number int64 `json:"n"`
}

// Kind names the jobs.
func (args) Kind() string { return "noop" }

// worker runs them.
type worker struct {
	river.WorkerDefaults[args]
	run func(context.Context, int64)
}

func (w *worker) Work(ctx context.Context, j *river.Job[args]) error {
	w.run(ctx, j.Args.Number)
	return ctx.Err()
}

// queue is River with synchronous=FULL and 100 workers; at its best 1,000, and it fetches every 5 ms.
type queue struct {
	db     *sql.DB
	driver *riversqlite.Driver
	cfg    river.Config
	insert *river.Client[*sql.Tx]
}

var quiet = slog.New(slog.DiscardHandler)

func open(ctx context.Context, o part.Order) (part.Queue, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(o.URL, "sqlite:")+
		"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)&_txlock=immediate&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // as River's guide has it for SQLite
	q := &queue{db: db, driver: riversqlite.New(db), cfg: river.Config{Logger: quiet}}
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
	if o.Setting == "best" {
		workers, q.cfg.FetchCooldown, q.cfg.FetchPollInterval = 1000, 5*time.Millisecond, 5*time.Millisecond
	}
	if o.Slots > 0 {
		workers = o.Slots
	}
	q.cfg.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
	return q, nil
}

func (q *queue) Submit(ctx context.Context, number int64) error {
	_, err := q.insert.Insert(ctx, args{number}, nil)
	return err
}

// SubmitMany uses InsertMany: InsertManyFast of this version panics where there is no listener.
func (q *queue) SubmitMany(ctx context.Context, n int) error {
	list := make([]river.InsertManyParams, n)
	for i := range list {
		list[i].Args = args{int64(i)}
	}
	_, err := q.insert.InsertMany(ctx, list)
	return err
}

func (q *queue) Work(ctx context.Context, run func(context.Context, int64)) error {
	cfg := q.cfg
	cfg.Workers = river.NewWorkers()
	river.AddWorker(cfg.Workers, &worker{run: run})
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

func (q *queue) Close() error { return q.db.Close() }
