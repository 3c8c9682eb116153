package saga

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrUndone says that a step came to its database after its undo: the process that ran it had been taken for dead. Nothing was written.
var ErrUndone = errors.New("the step was undone before it came")

// Barrier lets the effects of a step come once, and in order, in a database of the user's that is not the store. One row per step,
// written in the user's own transaction, tells what came: a step that is run again finds its first result, an undo of what never
// came does nothing, and a step that comes after its undo is refused.
type Barrier struct {
	// Dialect is sqlite, postgres or mysql. Default sqlite.
	Dialect string
	// Table is where the rows are. Default saga_barrier. See Schema.
	Table string
}

// SQLTx is a transaction of the user's: *sql.Tx is one.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Schema is the statement that makes the table.
func (b Barrier) Schema() string {
	return "create table if not exists " + b.table() + " (id varchar(512) primary key, undone int not null, result text not null)"
}

// RunOnce runs fn inside a step, in tx, unless an earlier attempt has committed it: then its result is returned.
func RunOnce[R any](ctx context.Context, b Barrier, tx SQLTx, fn func() (R, error)) (R, error) {
	var v R
	key := Key(ctx)
	first, err := b.insert(ctx, tx, key, 0)
	if err != nil {
		return v, err
	}
	if !first {
		return v, b.recall(ctx, tx, key, &v)
	}
	if v, err = fn(); err != nil {
		return v, err // the transaction is rolled back, and the row with it
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = tx.ExecContext(ctx, b.text("update {table} set result = ? where id = ?"), string(data), key)
	}
	if err != nil {
		return v, fmt.Errorf("barrier of %s: %w", key, err)
	}
	return v, nil
}

// recall reads the result of the attempt that was committed.
func (b Barrier) recall(ctx context.Context, tx SQLTx, key string, into any) error {
	var undone int
	var result string
	err := tx.QueryRowContext(ctx, b.text("select undone, result from {table} where id = ?"), key).Scan(&undone, &result)
	switch {
	case err != nil:
		return fmt.Errorf("barrier of %s: %w", key, err)
	case undone != 0:
		return Permanent(fmt.Errorf("barrier of %s: %w", key, ErrUndone))
	}
	return json.Unmarshal([]byte(result), into)
}

// UndoOnce runs fn inside an undo or a compensation, in tx, if the step has come and was not undone. Either way the step cannot come
// any more.
func UndoOnce(ctx context.Context, b Barrier, tx SQLTx, fn func() error) error {
	key := strings.TrimSuffix(Key(ctx), "/undo")
	never, err := b.insert(ctx, tx, key, 1)
	if err != nil || never {
		return err
	}
	res, err := tx.ExecContext(ctx, b.text("update {table} set undone = 1 where id = ? and undone = 0"), key)
	if err != nil {
		return fmt.Errorf("barrier of %s: %w", key, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err // undone before
	}
	return fn()
}

// insert notes that something has come, and reports whether it was the first.
func (b Barrier) insert(ctx context.Context, tx SQLTx, key string, undone int) (bool, error) {
	if key == "" {
		return false, errors.New("barrier: not inside a step of a saga")
	}
	query := "insert into {table} (id, undone, result) values (?, ?, '') on conflict (id) do nothing"
	if b.Dialect == "mysql" {
		query = "insert ignore into {table} (id, undone, result) values (?, ?, '')"
	}
	res, err := tx.ExecContext(ctx, b.text(query), key, undone)
	if err != nil {
		return false, fmt.Errorf("barrier of %s: %w", key, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

func (b Barrier) table() string {
	if b.Table == "" {
		return "saga_barrier"
	}
	return b.Table
}

// text fills in the table, and the placeholders as the dialect writes them.
func (b Barrier) text(query string) string {
	query = strings.ReplaceAll(query, "{table}", b.table())
	if b.Dialect != "postgres" {
		return query
	}
	for i := 1; strings.Contains(query, "?"); i++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", i), 1)
	}
	return query
}
