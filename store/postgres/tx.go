package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/outlast-go/outlast/store"
)

// TxLimit bounds how long a user's transaction that goes through a Tx may wait for its client: until its end the server holds what it has
// locked, the task that it ends among it. A process that is stopped longer loses the transaction, and nothing of it was done.
const TxLimit = 10 * time.Second

// Tx lets tasks be stored and runs end inside a transaction of the user's own, on the same database: his rows, tasks and staged outcomes
// become durable together, or not at all. It is made by Store.Tx or Store.SQLTx; begin, commit and rollback stay with the user.
type Tx struct {
	s *Store
	c querier
}

// Tx goes through a transaction of pgx.
func (s *Store) Tx(tx pgx.Tx) *Tx { return &Tx{s: s, c: tx} }

// SQLTx goes through a transaction of database/sql, whose driver must be one for PostgreSQL.
func (s *Store) SQLTx(tx *sql.Tx) *Tx { return &Tx{s: s, c: sqlTx{tx}} }

// Submit stores tasks, as the Submit of the Store does. Who waits for work hears of them when the transaction commits.
func (tx *Tx) Submit(ctx context.Context, specs ...store.Spec) ([]store.Submitted, error) {
	if err := tx.bound(ctx); err != nil {
		return nil, err
	}
	res, h, err := tx.s.submit(ctx, tx.c, store.SubmitRequest{Specs: specs})
	if err != nil {
		return nil, tx.s.tell("submit", err)
	}
	return res.Specs, tx.notify(ctx, h)
}

// Stage ends a run: its outcome counts once the transaction is committed, and is settled by whoever completes the run, or by Recover. After
// ErrFenced the run belongs to another: roll back.
func (tx *Tx) Stage(ctx context.Context, c store.Completion) error {
	if err := tx.bound(ctx); err != nil {
		return err
	}
	return tx.s.tell("stage", tx.s.stage(ctx, tx.c, c))
}

// bound sees to it that the server does not wait for ever for a client that is stopped.
func (tx *Tx) bound(ctx context.Context) error {
	if err := tx.s.begin(ctx); err != nil {
		return err
	}
	_, err := tx.c.Exec(ctx, tx.s.q.get("tx_limit"), fmt.Sprint(TxLimit.Milliseconds()))
	return tx.s.tell("use a transaction", err)
}

// notify tells others when the transaction commits.
func (tx *Tx) notify(ctx context.Context, h hints) error {
	if h.empty() || tx.s.session == nil {
		return nil
	}
	for _, text := range h.texts() {
		if _, err := tx.c.Exec(ctx, tx.s.q.get("notify"), tx.s.channel(), text); err != nil {
			return tx.s.tell("use a transaction", err)
		}
	}
	return nil
}

// sqlTx is a transaction of database/sql, as far as a Tx needs it.
type sqlTx struct{ tx *sql.Tx }

// QueryRow asks for one row.
func (t sqlTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return t.tx.QueryRowContext(ctx, query, args...)
}

// Exec runs a statement.
func (t sqlTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	_, err := t.tx.ExecContext(ctx, query, args...)
	return pgconn.CommandTag{}, err
}

// Query is not needed by a Tx.
func (sqlTx) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errors.New("rows cannot be read through database/sql")
}
