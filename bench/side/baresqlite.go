package side

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the engine of store/sqlite, through database/sql

	"github.com/outlast-go/outlast/bench/part"
)

// bareSQLite is SQLite in Go with one table and no promises: no owner, no fence, no retries. synchronous=FULL, as store/sqlite. Submits
// that arrive together are committed together; it claims and completes a hundred at a time.
type bareSQLite struct {
	db     *sql.DB
	insert *sql.Stmt
	asks   chan chan error
	stop   chan struct{}
	writer sync.WaitGroup
}

const bareSchema = `
create table if not exists q (id integer primary key, kind text not null, args blob not null, state int not null default 0, prio int not null default 1,
	attempt int not null default 0, created int not null default (unixepoch()), attempted int, done int);
create index if not exists q_fetch on q (prio, id) where state = 0`

// bareArgs is as large as a small payload with what the library puts around it.
var bareArgs = []byte(`{"n":1,"payload":"` + strings.Repeat("x", 80) + `"}`)

func openBareSQLite(ctx context.Context, o part.Order) (part.Queue, error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(o.URL, "sqlite:")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, bareSchema); err != nil {
		return nil, err
	}
	s := &bareSQLite{db: db, asks: make(chan chan error, 1024), stop: make(chan struct{})}
	if s.insert, err = db.PrepareContext(ctx, "insert into q (kind, args) values ('noop', ?)"); err != nil {
		return nil, err
	}
	s.writer.Go(func() { s.write(context.WithoutCancel(ctx)) })
	return s, nil
}

// write commits what has queued up.
func (s *bareSQLite) write(ctx context.Context) {
	for {
		var list []chan error
		select {
		case c := <-s.asks:
			list = append(list, c)
		case <-s.stop:
			return
		}
		for more := true; more && len(list) < 1000; {
			select {
			case c := <-s.asks:
				list = append(list, c)
			default:
				more = false
			}
		}
		err := s.SubmitMany(ctx, len(list))
		for _, c := range list {
			c <- err
		}
	}
}

func (s *bareSQLite) Submit(context.Context, int64) error {
	c := make(chan error, 1)
	s.asks <- c
	return <-c
}

func (s *bareSQLite) SubmitMany(ctx context.Context, n int) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert := tx.StmtContext(ctx, s.insert)
	defer func() { _ = insert.Close() }() // it goes with its transaction
	for range n {
		if _, err := insert.ExecContext(ctx, bareArgs); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

const (
	bareClaim = `update q set state = 1, attempted = unixepoch(), attempt = attempt + 1
		where id in (select id from q where state = 0 order by prio, id limit 100) returning id, args`
	bareComplete = `update q set state = 2, done = unixepoch() where id in (select value from json_each(?)) and state = 1`
)

func (s *bareSQLite) Work(ctx context.Context, run func(context.Context, int64)) error {
	always := context.WithoutCancel(ctx)
	claim, err := s.db.PrepareContext(ctx, bareClaim)
	if err != nil {
		return err
	}
	defer func() { _ = claim.Close() }() // it goes with its connection
	complete, err := s.db.PrepareContext(ctx, bareComplete)
	if err != nil {
		return err
	}
	defer func() { _ = complete.Close() }()
	for ctx.Err() == nil {
		ids, err := claimed(always, claim)
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		for _, id := range ids {
			run(ctx, id)
		}
		list, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		if _, err := complete.ExecContext(always, list); err != nil {
			return fmt.Errorf("complete: %w", err)
		}
	}
	return nil
}

func claimed(ctx context.Context, claim *sql.Stmt) (ids []int64, err error) {
	rows, err := claim.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var id int64
		var a []byte
		if err := rows.Scan(&id, &a); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *bareSQLite) Close() error {
	close(s.stop)
	s.writer.Wait()
	return s.db.Close()
}
