package sagas

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/store/storetest"
)

// books is a saga whose step writes a row, and whose undo writes another.
func books(db *sqlite.Store, async bool, fails bool) *saga.Def[string, int] {
	return saga.Define("books", func(b *saga.Builder[string]) *saga.Node[int] {
		book := saga.Tx1(b, "book", db.Begin, func(_ context.Context, tx *sqlite.Tx, s string) (int, error) {
			return tx.Exec("insert into ledger (line) values (?)", s)
		}, b.In()).UndoTx(func(_ context.Context, tx *sqlite.Tx, n int) error {
			_, err := tx.Exec("insert into ledger (line) values (?)", fmt.Sprintf("undo %d", n))
			return err
		})
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

func ledger(t *testing.T, db *sqlite.Store) []string {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var lines []string
	err = tx.Query("select line from ledger order by rowid", func(r sqlite.Row) error {
		var s string
		if err := r.Scan(&s); err != nil {
			return err
		}
		lines = append(lines, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func openLedger(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "tx.db"), Local: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec("create table ledger (line text)")
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// What a step writes in its transaction and that it is done become durable together: the effects come once, at whatever call of the
// store the answer is lost. X-15
func TestTheEffectsOfTxStepsComeOnce(t *testing.T) {
	t.Parallel()
	for _, async := range []bool{false, true} {
		for _, fails := range []bool{false, true} {
			for lost := range 12 {
				t.Run(fmt.Sprintf("async=%v/fails=%v/lost=%d", async, fails, lost), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { bookOnce(t, async, fails, lost) })
				})
			}
		}
	}
}

func bookOnce(t *testing.T, async, fails bool, lost int) {
	db := openLedger(t)
	def := books(db, async, fails)
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
	k := kerneltest.New(t, store.Store(st), kernel.Config{Slots: map[string]int{"default": 4, "books": 4}, Logger: quiet(t)})
	def.Serve(k)
	kerneltest.Run(t, k)
	h, err := def.Start(t.Context(), k, "line", saga.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"line"}
	if fails {
		sagatest.Failed(t, h, saga.Failed, "last")
		want = append(want, "undo 1")
	} else {
		sagatest.Completed(t, h, 1)
	}
	if got := ledger(t, db); !slices.Equal(got, want) {
		t.Errorf("ledger %q, want %q", got, want)
	}
}

// A transaction that fails leaves nothing, and the attempt counts.
func TestATxStepThatFailsWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openLedger(t)
		def := saga.Define("fails", func(b *saga.Builder[string]) *saga.Node[int] {
			return saga.Tx2(b, "book", db.Begin, func(ctx context.Context, tx *sqlite.Tx, s, _ string) (int, error) {
				if _, err := tx.Exec("insert into ledger (line) values (?)", s); err != nil {
					return 0, err
				}
				if saga.From(ctx).Attempt() < 3 {
					return 0, errNo
				}
				return 1, nil
			}, b.In(), b.In()).Retry(3, saga.Fixed(0))
		})
		k := kerneltest.New(t, db, kernel.Config{Logger: quiet(t)})
		def.Serve(k)
		kerneltest.Run(t, k)
		h, err := def.Run(t.Context(), k, "line", saga.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sagatest.Completed(t, h, 1)
		sagatest.Sequence(t, h, "failed book", "failed book", "done book", "completed")
		if got := ledger(t, db); len(got) != 1 {
			t.Errorf("ledger %q, want one line", got)
		}
	})
}
