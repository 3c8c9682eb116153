package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/sqlite"
)

func TestAFullDiskRefusesLoudlyAndLosesNothing(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "full.db"))
	ctx := t.Context()
	pages, err := s.Pages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Limit(ctx, pages+20); err != nil {
		t.Fatal(err)
	}
	var accepted []store.ID
	for range 1000 {
		spec := newSpec()
		spec.Args = make([]byte, 2000)
		if _, err = s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
			break
		}
		accepted = append(accepted, spec.ID)
	}
	if !errors.Is(err, sqlite.ErrFull) || store.Answered(err) {
		t.Fatalf("Submit into a full file = %v, want ErrFull, which is no answer", err)
	}
	if err := s.Limit(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
		t.Errorf("Submit once there is room = %v, want no error", err)
	}
	for _, id := range accepted {
		if _, err := s.Get(ctx, id); err != nil {
			t.Errorf("Get of an accepted task = %v, want no error", err)
		}
	}
	if findings, err := fsck.Check(ctx, s); err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}

// What fits fails not for the company of what does not.
func TestOneThatFindsNoRoomFailsAlone(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "alone.db"))
	ctx := t.Context()
	pages, err := s.Pages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Limit(ctx, pages+20); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	large := newSpec()
	large.Args = make([]byte, 1<<20)
	refused := make(chan error, 1)
	first := inBackground(t, func() {
		_, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{large}})
		refused <- err
	})
	fine := make(chan error, 8)
	var others []func()
	for range cap(fine) {
		others = append(others, inBackground(t, func() {
			_, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{newSpec()}})
			fine <- err
		}))
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	first()
	if err := <-refused; !errors.Is(err, sqlite.ErrFull) {
		t.Errorf("Submit of what does not fit = %v, want ErrFull", err)
	}
	for _, wait := range others {
		wait()
		if err := <-fine; err != nil {
			t.Errorf("Submit beside it = %v, want no error", err)
		}
	}
}

func TestATransactionKeepsAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep=", keep), func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, filepath.Join(t.TempDir(), "tx.db"))
			run := claimOne(t, s)
			next := newSpec()
			tx := mustBegin(t, s)
			if _, err := tx.Exec("create table orders (id integer primary key, what text)"); err != nil {
				t.Fatal(err)
			}
			if n, err := tx.Exec("insert into orders (what) values (?1)", "tea"); err != nil || n != 1 {
				t.Fatalf("Exec = %d, %v, want 1", n, err)
			}
			if _, err := tx.Submit(t.Context(), next); err != nil {
				t.Fatal(err)
			}
			if err := tx.Stage(t.Context(), store.Completion{Fence: run.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}); err != nil {
				t.Fatal(err)
			}
			end := tx.Rollback
			if keep {
				end = tx.Commit
			}
			if err := end(); err != nil {
				t.Fatalf("the end of the transaction = %v, want no error", err)
			}
			if got, err := s.Get(t.Context(), run.ID); err != nil || (got.Read() == store.Ending) != keep {
				t.Errorf("the run is %s, %v", got.Read(), err)
			}
			if _, err := s.Get(t.Context(), next.ID); (err == nil) != keep {
				t.Errorf("Get of the submitted task = %v", err)
			}
			if n := tables(t, s, "orders"); (n == 1) != keep {
				t.Errorf("%d tables of the user", n)
			}
			if _, err := tx.Exec("select 1"); !errors.Is(err, sqlite.ErrTxDone) {
				t.Errorf("Exec after the end = %v, want ErrTxDone", err)
			}
		})
	}
}

func mustBegin(t *testing.T, s *sqlite.Store) *sqlite.Tx {
	t.Helper()
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatalf("Begin = %v, want no error", err)
	}
	return tx
}

// claimOne returns a task that runs under the worker w.
func claimOne(t *testing.T, s *sqlite.Store) store.Task {
	t.Helper()
	if err := join(t.Context(), s, "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
		t.Fatal(err)
	}
	res, err := s.Claim(t.Context(), claimOf("w", 1))
	if err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v, want one", len(res.Tasks), err)
	}
	return res.Tasks[0]
}

// tables counts the tables of that name.
func tables(t *testing.T, s *sqlite.Store, name string) (n int) {
	t.Helper()
	tx := mustBegin(t, s)
	err := tx.Query("select count(*) from sqlite_schema where name = ?1", func(r sqlite.Row) error { return r.Scan(&n) }, name)
	if err := errors.Join(err, tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestATransactionThatTakesTooLongIsRolledBack(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "long.db"))
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := newSpec()
	if _, err := tx.Submit(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{newSpec()}}); err != nil {
		t.Errorf("Submit of another = %v, want no error", err)
	}
	if waited := time.Since(begin); waited > 2*sqlite.TxLimit {
		t.Errorf("another waited %v, want at most about %v", waited, sqlite.TxLimit)
	}
	if err := tx.Commit(); !errors.Is(err, sqlite.ErrTxDone) {
		t.Errorf("Commit after the limit = %v, want ErrTxDone", err)
	}
	if _, err := s.Get(t.Context(), spec.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of its task = %v, want not found", err)
	}
}
