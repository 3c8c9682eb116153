package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task.
func (s *Store) Get(ctx context.Context, id store.ID) (store.Task, error) {
	if id.IsZero() {
		return store.Task{}, errors.Join(s.begin(ctx), notFound(id))
	}
	var r row
	err := s.read(ctx, func(ctx context.Context, c querier) error {
		return c.QueryRow(ctx, s.q.get("task_get"), id.String()).Scan(r.targets()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Task{}, notFound(id)
	}
	if err != nil {
		return store.Task{}, err
	}
	return r.task(), nil
}

// Queues counts what waits.
func (s *Store) Queues(ctx context.Context) (list []store.QueueStatus, err error) {
	err = s.rows(ctx, "queue_list", func(r pgx.Rows) error {
		var q store.QueueStatus
		var oldest *int64
		if err := r.Scan(&q.Queue, &q.Ready, &q.Scheduled, &q.Parked, &q.Running, &oldest, &q.Paused); err != nil {
			return err
		}
		q.OldestAt = instant(oldest)
		list = append(list, q)
		return nil
	}, store.CountLimit)
	return list, err
}

// Stats lists the minutes in [from, until).
func (s *Store) Stats(ctx context.Context, from, until time.Time) (list []store.Minute, err error) {
	err = s.rows(ctx, "stat_list", func(r pgx.Rows) error {
		var m store.Minute
		var at, waited, ran int64
		err := r.Scan(&at, &m.Queue, &m.Kind, &m.Submitted, &m.Claimed, &m.Done, &m.Failed, &m.Cancelled, &m.Retried, &m.Crashed, &waited, &ran)
		m.At, m.Waited, m.Ran = instant(&at), time.Duration(waited), time.Duration(ran)
		list = append(list, m)
		return err
	}, nano(from), nano(until))
	return list, err
}

// Export calls fn for every record, as of one moment. Writers go on meanwhile.
func (s *Store) Export(ctx context.Context, fn func(store.Entry) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	var stopped error
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		stopped = s.export(ctx, tx, fn)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return s.tell("export", err)
}

// exports are the kinds of records: the query that lists them, and how a row of it is read.
var exports = []struct {
	query string
	read  func(pgx.Rows) (store.Entry, error)
}{
	{"task_all", func(r pgx.Rows) (store.Entry, error) {
		var into row
		err := r.Scan(into.targets()...)
		t := into.task()
		return store.Entry{Task: &t}, err
	}},
	{"message_all", func(r pgx.Rows) (store.Entry, error) {
		m, _, err := readMessage(r)
		return store.Entry{Message: &m}, err
	}},
	{"group_all", func(r pgx.Rows) (store.Entry, error) {
		g, err := readGroup(r)
		return store.Entry{Group: &g}, err
	}},
	{"worker_all", func(r pgx.Rows) (store.Entry, error) {
		w, err := readWorker(r)
		return store.Entry{Worker: &w}, err
	}},
	{"key_all", readKey},
	{"limit_all", func(r pgx.Rows) (store.Entry, error) {
		l, err := readLimit(r)
		return store.Entry{Limit: &l}, err
	}},
	{"schedule_all", func(r pgx.Rows) (store.Entry, error) {
		sc, err := readSchedule(r)
		return store.Entry{Schedule: &sc}, err
	}},
}

// export asks for all kinds at once, and hands them on one after the other.
func (s *Store) export(ctx context.Context, tx pgx.Tx, fn func(store.Entry) error) (err error) {
	var batch pgx.Batch
	for _, part := range exports {
		batch.Queue(s.q.get(part.query))
	}
	answers := tx.SendBatch(ctx, &batch)
	defer func() {
		if closing := answers.Close(); err == nil {
			err = closing
		}
	}()
	for _, part := range exports {
		rows, err := answers.Query()
		if err != nil {
			return err
		}
		err = forEach(rows, func(r pgx.Rows) error {
			e, err := part.read(r)
			if err != nil {
				return err
			}
			return fn(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readKey(r pgx.Rows) (store.Entry, error) {
	var k store.Key
	var task pgtype.UUID
	var until *int64
	err := r.Scan(&k.Kind, &k.Key, &task, &until)
	k.Task, k.Until = task.Bytes, instant(until)
	return store.Entry{Key: &k}, err
}
