package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Work is a transaction that can be ended as it was begun: what a Tx does, and Commit and Rollback. It is what the Tx steps of sagas
// take. In is the user's own transaction, for his own tables; it is not to be ended by itself.
type Work[T any] struct {
	*Tx
	In T

	commit, rollback func() error
}

// Commit makes all of it durable. After an error nobody knows whether it is, save where the server has said that it is not.
func (w *Work[T]) Commit() error {
	if err := w.commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Rollback forgets all of it. After the end it has no effect.
func (w *Work[T]) Rollback() error {
	if err := w.rollback(); err != nil && !errors.Is(err, pgx.ErrTxClosed) && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// Begin begins a transaction on one of the connections of the handle: it has Conns of them, and needs them for its own work. Who has
// many or long transactions brings his own connections: see BeginOn and BeginSQL.
func (s *Store) Begin(ctx context.Context) (*Work[pgx.Tx], error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	w, err := s.BeginOn(s.pool.Begin)(ctx)
	if err != nil {
		return nil, s.tell("begin", err)
	}
	return w, nil
}

// BeginOn makes a Begin of the user's own: of a pgxpool.Pool, or of whatever begins a transaction of pgx on the same database.
func (s *Store) BeginOn(begin func(context.Context) (pgx.Tx, error)) func(context.Context) (*Work[pgx.Tx], error) {
	return func(ctx context.Context) (*Work[pgx.Tx], error) {
		tx, err := begin(ctx)
		if err != nil {
			return nil, err
		}
		return &Work[pgx.Tx]{
			Tx: s.Tx(tx), In: tx,
			commit: func() error { return tx.Commit(ctx) },
			// Also after ctx has ended: the connection goes back to where it came from.
			rollback: func() error {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TxLimit)
				defer cancel()
				return tx.Rollback(ctx)
			},
		}, nil
	}
}

// BeginSQL makes a Begin of a database/sql handle on the same database.
func (s *Store) BeginSQL(db *sql.DB) func(context.Context) (*Work[*sql.Tx], error) {
	return func(ctx context.Context) (*Work[*sql.Tx], error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		return &Work[*sql.Tx]{Tx: s.SQLTx(tx), In: tx, commit: tx.Commit, rollback: tx.Rollback}, nil
	}
}
