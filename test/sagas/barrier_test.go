package sagas

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver of a database that is not the store

	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// shop is a database of the user's.
type shop struct {
	db      *sql.DB
	barrier saga.Barrier
}

func openShop(t *testing.T) *shop {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &shop{db: db}
	for _, q := range []string{s.barrier.Schema(), "create table stock (taken int)", "insert into stock values (0)"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *shop) in(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// take takes one, and puts it back.
func (s *shop) take(ctx context.Context, _ string) (n int, err error) {
	err = s.in(ctx, func(tx *sql.Tx) error {
		n, err = saga.RunOnce(ctx, s.barrier, tx, func() (int, error) {
			_, err := tx.ExecContext(ctx, "update stock set taken = taken + 1")
			return 7, err
		})
		return err
	})
	return n, err
}

func (s *shop) put(ctx context.Context, _ int) error {
	return s.in(ctx, func(tx *sql.Tx) error {
		return saga.UndoOnce(ctx, s.barrier, tx, func() error {
			_, err := tx.ExecContext(ctx, "update stock set taken = taken - 1")
			return err
		})
	})
}

func (s *shop) taken(t *testing.T) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "select taken from stock").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Behind a barrier a step that is run again has one effect, and so has its undo; what never came is not undone, and what comes after
// its undo is refused.
func TestBarrier(t *testing.T) {
	t.Parallel()
	On(t, func(t *testing.T, w *World) {
		s := openShop(t)
		late := make(chan context.Context, 1)
		define := func(name string, took func(ctx context.Context, s string) (int, error), last error) *saga.Def[string, int] {
			return saga.Define(name, func(b *saga.Builder[string]) *saga.Node[int] {
				take := saga.Step1(b, "take", took, b.In()).Retry(3, saga.Fixed(0)).Undo(s.put).NullSafe()
				return saga.Step1(b, "last", func(_ context.Context, n int) (int, error) { return n, last }, take)
			})
		}
		twice := func(ctx context.Context, in string) (int, error) {
			n, err := s.take(ctx, in)
			if err == nil && saga.From(ctx).Attempt() == 1 {
				err = errors.New("the answer is lost")
			}
			return n, err
		}
		never := func(ctx context.Context, _ string) (int, error) {
			late <- context.WithoutCancel(ctx)
			return 0, saga.Permanent(saga.Unknown(errNo))
		}
		ok, undone, null := define("ok", twice, nil), define("undone", twice, errNo), define("null", never, nil)
		k := w.fleet(t, ok, undone, null)
		sagatest.Completed(t, start(t, w, ok, k, "", saga.Options{}), 7)
		if n := s.taken(t); n != 1 {
			t.Errorf("taken %d times, want once", n)
		}
		h := start(t, w, undone, k, "", saga.Options{})
		sagatest.Failed(t, h, saga.Failed, "last")
		if n := s.taken(t); n != 1 {
			t.Errorf("taken is %d after one that was undone, want 1", n)
		}
		sagatest.Failed(t, start(t, w, null, k, "", saga.Options{}), saga.Failed, "take")
		if n := s.taken(t); n != 1 {
			t.Errorf("taken is %d after the undo of what never came, want 1", n)
		}
		if _, err := s.take(<-late, ""); !errors.Is(err, saga.ErrUndone) {
			t.Errorf("the step that comes after its undo = %v, want ErrUndone", err)
		}
		if n := s.taken(t); n != 1 {
			t.Errorf("taken is %d after one that came late, want 1", n)
		}
	})
}
