package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/outlast-go/outlast/store"
)

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// tries is how often a step is repeated that the server gave up for the sake of another.
const tries = 20

// collided reports whether the server has given up a step for the sake of another: a deadlock, a conflict. Nothing of it was done.
func collided(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// unfit reports whether the server says that what it was handed can never be stored. Nothing of it was done.
func unfit(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code[:2] == "22" || pg.Code[:2] == "54")
}

// begin is what every call begins with.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// patiently repeats a step that collides with others.
func patiently(ctx context.Context, fn func() error) error {
	wait := 2 * time.Millisecond
	for try := 1; ; try++ {
		err := fn()
		if !collided(err) || try == tries {
			return err
		}
		timer := time.NewTimer(time.Duration(float64(wait) * (0.5 + rand.Float64())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// tell says how a call ended: ErrClosed where the handle was closed under it, ErrInvalid where what it brought cannot be stored.
func (s *Store) tell(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load():
		return store.ErrClosed
	case unfit(err):
		return fmt.Errorf("%s: %w: %w", what, store.ErrInvalid, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// read makes a call that changes nothing.
func (s *Store) read(ctx context.Context, fn func(ctx context.Context, c querier) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.tell("read", fn(ctx, s.pool))
}

// answer is what of every answer is the same.
type answer struct {
	Err    string     `json:"err"`
	State  string     `json:"state"`
	Detail string     `json:"detail"`
	Hints  *wireHints `json:"hints"`
}

// common gives the shared part of an answer.
func (a *answer) common() *answer { return a }

type answered interface{ common() *answer }

// call makes one step on the server: a function, one request, one answer. It is repeated while it collides.
func (s *Store) call(ctx context.Context, name string, req any, res answered) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	err := patiently(ctx, func() error { return ask(ctx, s.pool, s.q.get(name), req, res) })
	if err != nil {
		return s.tell(name, err)
	}
	s.publishWire(res.common().Hints)
	return nil
}

// ask sends a request and reads the answer.
func ask(ctx context.Context, c querier, query string, req, res any) error {
	text, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	var got []byte
	if err := c.QueryRow(ctx, query, string(text)).Scan(&got); err != nil {
		return err
	}
	return json.Unmarshal(got, res)
}

// askTasks sends a request whose answer brings tasks.
func askTasks(ctx context.Context, c querier, query string, req, res any) (tasks []store.Task, err error) {
	text, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	rows, err := c.Query(ctx, query, string(text))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if res != nil {
			var meta []byte
			targets := make([]any, len(columns)+1) // nil takes no notice of a column
			targets[0] = &meta
			if err := rows.Scan(targets...); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(meta, res); err != nil {
				return nil, err
			}
			res = nil
			continue
		}
		var r row
		if err := rows.Scan(append([]any{nil}, r.targets()...)...); err != nil {
			return nil, err
		}
		tasks = append(tasks, r.task())
	}
	return tasks, rows.Err()
}
