package sagas

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/sqlite"
)

// Both engines that have transactions give what a Tx step takes.
var (
	_ saga.Tx = (*sqlite.Tx)(nil)
	_ saga.Tx = (*postgres.Work[pgx.Tx])(nil)
	_ saga.Tx = (*postgres.Work[*sql.Tx])(nil)
)

// ledger is a table of the user's, on the database of the store.
type ledger struct {
	table string
	begin func(ctx context.Context) (*page, error)
}

// page is a transaction on the store that can write to the ledger. Commit goes through around, if it is set: a process may die there.
type page struct {
	saga.Tx
	add    func(line string) error
	run    func(query string) ([]string, error)
	around func(commit func() error) error
}

// Commit ends it.
func (p *page) Commit() error {
	if p.around == nil {
		return p.Tx.Commit()
	}
	return p.around(p.Tx.Commit)
}

// create makes the table.
func (l *ledger) create(ctx context.Context) error {
	p, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Rollback() }()
	if _, err := p.run("create table " + l.table + " (line text)"); err != nil {
		return err
	}
	return p.Commit()
}

// lines are what is in it, in no order.
func (l *ledger) lines(ctx context.Context) ([]string, error) {
	p, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Rollback() }()
	return p.run("select line from " + l.table)
}

// ledgerOf is the ledger of a store; nil where the engine has no transactions.
func ledgerOf(st store.Store) *ledger {
	switch db := st.(type) {
	case *sqlite.Store:
		return &ledger{"ledger", func(ctx context.Context) (*page, error) { return onSQLite(ctx, db) }}
	case *postgres.Store:
		return onPgx(db, db.Begin)
	}
	return nil
}

func onSQLite(ctx context.Context, db *sqlite.Store) (*page, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &page{
		Tx: tx,
		add: func(line string) error {
			_, err := tx.Exec("insert into ledger values (?)", line)
			return err
		},
		run: func(query string) (lines []string, err error) {
			err = tx.Query(query, func(r sqlite.Row) error {
				var line string
				err := r.Scan(&line)
				lines = append(lines, line)
				return err
			})
			return lines, err
		},
	}, nil
}

// tableOf keeps the tables of tests on one server apart.
func tableOf(db *postgres.Store) string { return "public." + db.Info().Namespace + "_ledger" }

// onPgx is a ledger by transactions of pgx.
func onPgx(db *postgres.Store, begin func(context.Context) (*postgres.Work[pgx.Tx], error)) *ledger {
	return &ledger{tableOf(db), func(ctx context.Context) (*page, error) {
		tx, err := begin(ctx)
		if err != nil {
			return nil, err
		}
		return &page{
			Tx: tx,
			add: func(line string) error {
				_, err := tx.In.Exec(ctx, "insert into "+tableOf(db)+" values ($1)", line)
				return err
			},
			run: func(query string) ([]string, error) {
				rows, err := tx.In.Query(ctx, query)
				if err != nil {
					return nil, err
				}
				return pgx.CollectRows(rows, pgx.RowTo[string])
			},
		}, nil
	}}
}

// onSQL is a ledger by transactions of database/sql.
func onSQL(db *postgres.Store, pool *sql.DB) *ledger {
	begin, l := db.BeginSQL(pool), onPgx(db, db.Begin)
	plain := l.begin
	l.begin = func(ctx context.Context) (*page, error) {
		tx, err := begin(ctx)
		if err != nil {
			return nil, err
		}
		p := &page{Tx: tx}
		p.add = func(line string) error {
			_, err := tx.In.ExecContext(ctx, "insert into "+tableOf(db)+" values ($1)", line)
			return err
		}
		p.run = func(query string) ([]string, error) {
			other, err := plain(ctx)
			if err != nil {
				return nil, err
			}
			defer func() { _ = other.Rollback() }()
			lines, err := other.run(query)
			if err == nil {
				err = other.Commit()
			}
			return lines, err
		}
		return p, nil
	}
	return l
}
