package sagas

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/storetest"
	"github.com/outlast-go/outlast/test/servers"
)

// books is a saga whose step writes a line, and whose undo writes another.
func books(l *ledger, name string, async bool, fails bool) *saga.Def[string, int] {
	return saga.Define(name, func(b *saga.Builder[string]) *saga.Node[int] {
		book := saga.Tx1(b, "book", l.begin, func(_ context.Context, p *page, s string) (int, error) {
			return 1, p.add(s)
		}, b.In()).UndoTx(func(_ context.Context, p *page, n int) error { return p.add(fmt.Sprintf("undo %d", n)) })
		if async {
			book.Async("books")
		}
		return saga.Step1(b, "last", func(_ context.Context, n int) (int, error) {
			if fails {
				return 0, errNo
			}
			return n, nil
		}, book.Node)
	})
}

// onLedgers runs a test on each engine that has transactions.
func onLedgers(t *testing.T, test func(t *testing.T, w *World, st store.Store, l *ledger)) {
	t.Helper()
	found := 0
	for _, e := range engines {
		if e.name != "sqlite" && e.name != "postgres" {
			continue
		}
		found++
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			bubbled(t, e, func(t *testing.T) {
				w := &World{engine: e}
				w.fresh(t)
				st := w.store()
				l := ledgerOf(st)
				if err := l.create(t.Context()); err != nil {
					t.Fatal(err)
				}
				test(t, w, st, l)
			})
		})
	}
	if found != 2 {
		t.Fatalf("%d engines with transactions, want 2", found)
	}
}

// holds fails the test if the ledger has other lines than these.
func holds(t *testing.T, l *ledger, want ...string) {
	t.Helper()
	got, err := l.lines(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ledger %q, %v; want %q", got, err, want)
	}
}

// What a step writes in its transaction and that it is done become durable together: the effects come once, at whatever call of the
// store the answer is lost. X-15
func TestTheEffectsOfTxStepsComeOnce(t *testing.T) {
	t.Parallel()
	onLedgers(t, func(t *testing.T, _ *World, st store.Store, l *ledger) {
		for i, c := range []struct{ async, fails bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			for lost := range 12 {
				bookOnce(t, st, l, fmt.Sprintf("books-%d-%d", i, lost), c.async, c.fails, lost)
				if t.Failed() {
					t.Fatalf("async %v, fails %v, the answer of call %d lost", c.async, c.fails, lost)
				}
			}
		}
	})
}

func bookOnce(t *testing.T, db store.Store, l *ledger, name string, async, fails bool, lost int) {
	t.Helper()
	before, err := l.lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	st := storetest.Wrap(db, func(_ context.Context, op string, do func() error) error {
		err := do()
		if op == "Complete" || op == "Save" {
			if calls++; calls == lost {
				return errors.New("the answer is lost")
			}
		}
		return err
	})
	def := books(l, name, async, fails)
	k := kerneltest.New(t, st, kernel.Config{Slots: map[string]int{"default": 4, "books": 4}, Logger: quiet(t)})
	def.Serve(k)
	stop := kerneltest.Run(t, k)
	h, err := def.Start(t.Context(), k, "line", saga.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := append(before, "line")
	if fails {
		sagatest.Failed(t, h, saga.Failed, "last")
		want = append(want, "undo 1")
	} else {
		sagatest.Completed(t, h, 1)
	}
	slices.Sort(want)
	holds(t, l, want...)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The transactions of a user's own connections do the same, those of pgx and those of database/sql.
func TestTxStepsOnTheUsersOwnConnections(t *testing.T) {
	t.Parallel()
	url := servers.PostgresSpace(t)
	db, ok := openURL(t, url)().(*postgres.Store)
	if !ok {
		t.Fatalf("no store of PostgreSQL")
	}
	plain, err := sql.Open("pgx", servers.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	conn, err := pgx.Connect(t.Context(), servers.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	own, bySQL := onPgx(db, db.BeginOn(conn.Begin)), onSQL(db, plain)
	if err := own.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	bookOnce(t, db, own, "own", false, true, 0)
	bookOnce(t, db, bySQL, "sql", false, true, 0)
	bookOnce(t, db, bySQL, "sql-async", true, true, 0)
	holds(t, own, "line", "line", "line", "undo 1", "undo 1", "undo 1")
}

// A transaction that fails leaves nothing, and the attempt counts.
func TestATxStepThatFailsWritesNothing(t *testing.T) {
	t.Parallel()
	onLedgers(t, func(t *testing.T, _ *World, st store.Store, l *ledger) {
		def := saga.Define("fails", func(b *saga.Builder[string]) *saga.Node[int] {
			return saga.Tx2(b, "book", l.begin, func(ctx context.Context, p *page, s, _ string) (int, error) {
				if err := p.add(s); err != nil {
					return 0, err
				}
				if saga.From(ctx).Attempt() < 3 {
					return 0, errNo
				}
				return 1, nil
			}, b.In(), b.In()).Retry(3, saga.Fixed(0))
		})
		k := kerneltest.New(t, st, kernel.Config{Logger: quiet(t)})
		def.Serve(k)
		kerneltest.Run(t, k)
		h, err := def.Run(t.Context(), k, "line", saga.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, h, 1)
		sagatest.Sequence(t, h, "failed book", "failed book", "done book", "completed")
		holds(t, l, "line")
	})
}
