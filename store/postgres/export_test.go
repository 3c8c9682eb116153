package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/outlast-go/outlast/store"
)

// OpenOn opens a handle that shares a pool of connections, on a namespace that is there: a process costs a test no connections but the one
// for its session.
func OpenOn(ctx context.Context, pool *pgxpool.Pool, url string, cfg Config) (*Store, error) {
	p, err := parseURL(url, cfg)
	if err != nil {
		return nil, err
	}
	p.cfg.Timing = p.cfg.Timing.WithDefaults()
	p.cfg.Conns = 1
	return open(ctx, p, pool)
}

// Pool gives tests the connections of a handle.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Corrupt makes the record of a task unreadable, as a foreign hand would.
func (s *Store) Corrupt(ctx context.Context, id store.ID) error {
	_, err := s.pool.Exec(ctx, fmt.Sprintf(`update %s.body set rest = '\x00' where id = '%s'`, s.cfg.Namespace, id))
	return err
}

// Damage spoils what is derived of the records, as a foreign hand would.
func (s *Store) Damage(ctx context.Context, r store.Repair, n int) error {
	space := s.cfg.Namespace
	text := fmt.Sprintf(`update %s.grp set done = done + %d where id = '%s'`, space, n, r.Group)
	switch {
	case r.Limit != "":
		text = fmt.Sprintf(`update %s.lim set running = running + %d where key = '%s'`, space, n, r.Limit)
	case r.Key != "":
		text = fmt.Sprintf(`insert into %s.key (kind, key, task) values ('%s', '%s', '%s') on conflict (kind, key) do update set task = excluded.task, until = null`,
			space, r.Kind, r.Key, store.DeriveID("nobody"))
	}
	_, err := s.pool.Exec(ctx, text)
	return err
}

// SessionPID is the server's process that holds the locks of the handle's workers; 0: there is none.
func (s *Store) SessionPID() uint32 {
	if s.session == nil {
		return 0
	}
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.pid
}

// KeyOf is the key of the lock that vouches for a worker of the handle; 0: there is none.
func (s *Store) KeyOf(worker string) int64 {
	held, _ := s.session.of(worker)
	if held == nil {
		return 0
	}
	return held.key
}

// SetClock makes the clock of a namespace stand still at an instant, until the next call.
func SetClock(ctx context.Context, pool *pgxpool.Pool, namespace string, now time.Time) error {
	_, err := pool.Exec(ctx, fmt.Sprintf(`update %s.test_clock set now = %d`, namespace, now.UnixNano()))
	return err
}

// StopClock replaces the clock of a namespace by one that tests set.
func StopClock(ctx context.Context, pool *pgxpool.Pool, namespace string, now time.Time) error {
	_, err := pool.Exec(ctx, fmt.Sprintf(`
		create table if not exists %[1]s.test_clock (now bigint);
		delete from %[1]s.test_clock;
		insert into %[1]s.test_clock values (%[2]d);
		create or replace function %[1]s.clock() returns bigint language sql volatile as $$ select now from %[1]s.test_clock $$`, namespace, now.UnixNano()))
	return err
}

// Empty removes all records of a namespace: row by row if they are few, which is faster then.
func Empty(ctx context.Context, pool *pgxpool.Pool, namespace string) error {
	var many bool
	if err := pool.QueryRow(ctx, fmt.Sprintf(`select pg_relation_size('%[1]s.body') + pg_relation_size('%[1]s.grp') > 4000000`, namespace)).Scan(&many); err != nil {
		return err
	}
	text := "set local synchronous_commit to off;"
	for _, table := range strings.Fields("body task ended entry message grp key lim pause weight schedule worker beat stat watch blob chunk") {
		if many {
			text += fmt.Sprintf("truncate %s.%s;", namespace, table)
		} else {
			text += fmt.Sprintf("delete from %s.%s;", namespace, table)
		}
	}
	_, err := pool.Exec(ctx, text+fmt.Sprintf("update %s.fleet set pulse_since = 0, pulse_last = 0, recover_at = 0, recover_by = 0, suspect_at = 0", namespace))
	return err
}
