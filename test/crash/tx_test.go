package crash_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// pay is a job whose effect is a row of its own, written in the transaction that ends the run.
func pay(db *sqlite.Store, runs *atomic.Int32) *job.Job[string, int] {
	return job.Define("pay", func(ctx context.Context, who string) (int, error) {
		n := int(runs.Add(1))
		tx, err := db.Begin(ctx)
		if err != nil {
			return 0, err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it has no effect
		if _, err := tx.Exec("insert into payment (who) values (?)", who); err != nil {
			return 0, err
		}
		if n == 1 {
			return 0, errors.New("the first attempt fails before it commits")
		}
		if err := job.EndIn(ctx, tx, n); err != nil {
			return 0, err
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
		return 0, errors.New("what is said after the commit no longer counts")
	}, job.Config{Retry: kernel.Retry{Max: 5, Base: time.Millisecond}})
}

// payments counts the rows that the job has written.
func payments(t *testing.T, db *sqlite.Store) (n int) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := tx.Query("select count(*) from payment", func(r sqlite.Row) error { return r.Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func openWithPayments(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "tx.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("create table payment (who text)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return db
}

// A job whose effect and ending are one transaction has one effect, however often it is run.
func TestAnEffectInTheTransactionThatEndsTheRunHappensOnce(t *testing.T) {
	t.Parallel()
	db := openWithPayments(t)
	var runs atomic.Int32
	k := kerneltest.New(t, db, kernel.Config{})
	work := pay(db, &runs)
	work.Serve(k)
	kerneltest.Run(t, k)
	h, err := work.Start(t.Context(), k, "ann", job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.Wait(t.Context()); err != nil || got != 2 {
		t.Errorf("Wait = %d, %v; want the result that was staged by the second run", got, err)
	}
	if n := payments(t, db); n != 1 || runs.Load() != 2 {
		t.Errorf("%d payments after %d runs, want 1 after 2", n, runs.Load())
	}
	if err := job.EndIn(t.Context(), nil, 1); !errors.Is(err, job.ErrNoRun) {
		t.Errorf("EndIn outside a run = %v, want ErrNoRun", err)
	}
}

// A job that is submitted in a transaction is there if, and only if, the transaction is committed.
func TestAJobIsStartedWithItsUsersTransaction(t *testing.T) {
	t.Parallel()
	db := openWithPayments(t)
	var runs atomic.Int32
	runs.Store(1)
	k := kerneltest.New(t, db, kernel.Config{})
	work := pay(db, &runs)
	work.Serve(k)
	kerneltest.Run(t, k)
	var ids []kernel.ID
	for _, commit := range []bool{false, true} {
		spec, err := work.Spec("ann", job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if spec, err = k.Prepare(spec); err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Submit(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, spec.ID)
	}
	kerneltest.Wait(t, k, ids[1], store.Done)
	if _, err := k.Get(t.Context(), ids[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of what was rolled back = %v, want ErrNotFound", err)
	}
}
