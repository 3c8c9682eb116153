package side

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/outlast-go/outlast/bench/part"
)

// barePostgres is PostgreSQL through pgx with one table and no promises. A submit is a statement of its own, many are a COPY; four
// connections claim and complete a hundred at a time. Commits are synced.
type barePostgres struct{ pool *pgxpool.Pool }

const barePostgresSchema = `
create table if not exists q (id bigserial primary key, kind text not null, args jsonb not null, state text not null default 'available',
	prio int not null default 1, attempt int not null default 0, created_at timestamptz not null default now(), attempted_at timestamptz, done_at timestamptz);
create index if not exists q_fetch on q (prio, id) where state = 'available'`

func openBarePostgres(ctx context.Context, o part.Order) (part.Queue, error) {
	pool, err := openPool(ctx, o.URL, 16)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, barePostgresSchema); err != nil {
		return nil, err
	}
	return &barePostgres{pool}, nil
}

func (s *barePostgres) Submit(ctx context.Context, _ int64) error {
	_, err := s.pool.Exec(ctx, "insert into q (kind, args) values ('noop', $1)", bareArgs)
	return err
}

func (s *barePostgres) SubmitMany(ctx context.Context, n int) error {
	_, err := s.pool.CopyFrom(ctx, pgx.Identifier{"q"}, []string{"kind", "args"},
		pgx.CopyFromSlice(n, func(int) ([]any, error) { return []any{"noop", bareArgs}, nil }))
	return err
}

func (s *barePostgres) Work(ctx context.Context, run func(context.Context, int64)) error {
	const connections = 4
	errs := make([]error, connections)
	var group sync.WaitGroup
	for i := range connections {
		group.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				errs[i] = s.cycle(context.WithoutCancel(ctx), run)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// cycle claims a hundred and completes them.
func (s *barePostgres) cycle(ctx context.Context, run func(context.Context, int64)) error {
	rows, err := s.pool.Query(ctx, `update q set state = 'running', attempted_at = now(), attempt = attempt + 1 where id in
		(select id from q where state = 'available' order by prio, id limit 100 for update skip locked) returning id, args`)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (id int64, err error) {
		var a []byte
		err = row.Scan(&id, &a)
		return id, err
	})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	for _, id := range ids {
		run(ctx, id)
	}
	if _, err := s.pool.Exec(ctx, "update q set state = 'done', done_at = now() where id = any($1) and state = 'running'", ids); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}

func (s *barePostgres) Close() error {
	s.pool.Close()
	return nil
}
