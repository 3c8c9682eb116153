package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx" of database/sql

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
)

// room is a handle on a namespace on the real clock, and a table of the user's.
func room(t *testing.T, timing store.Timing) (*postgres.Store, string) {
	t.Helper()
	url, pool := shared(t)
	name := fmt.Sprintf("room_%d", time.Now().UnixNano())
	s, err := postgres.Open(t.Context(), url, postgres.Config{Namespace: name, Timing: timing})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if _, err := pool.Exec(context.Background(), "drop schema "+name+" cascade"); err != nil {
			t.Error(err)
		}
	})
	if _, err := pool.Exec(t.Context(), "create table "+name+".effect (task uuid, by text)"); err != nil {
		t.Fatal(err)
	}
	return s, name
}

func joinAs(t testing.TB, s *postgres.Store, id string) {
	t.Helper()
	if err := s.Join(t.Context(), store.JoinRequest{ID: id, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

// lock runs a statement that locks something, in a transaction that is open until release.
func lock(t *testing.T, s *postgres.Store, statement string, args ...any) (release func()) {
	t.Helper()
	tx, err := s.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
	if _, err := tx.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func takeOne(t *testing.T, s *postgres.Store, worker string) store.Task {
	t.Helper()
	res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: worker, Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 1}}})
	if err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v; want 1", len(res.Tasks), err)
	}
	return res.Tasks[0]
}

// effect writes a row and ends the run in one transaction of pgx, or of database/sql.
func effect(t *testing.T, s *postgres.Store, db *sql.DB, table, by string, run store.Task) error {
	t.Helper()
	done := store.Completion{Fence: run.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte(by)}}
	if db == nil {
		tx, err := s.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		if _, err := tx.Exec(t.Context(), "insert into "+table+" values ($1, $2)", run.ID.String(), by); err != nil {
			t.Fatal(err)
		}
		if err := s.Tx(tx).Stage(t.Context(), done); err != nil {
			return err
		}
		return tx.Commit(t.Context())
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "insert into "+table+" values ($1, $2)", run.ID.String(), by); err != nil {
		t.Fatal(err)
	}
	if err := s.SQLTx(tx).Stage(t.Context(), done); err != nil {
		return err
	}
	return tx.Commit()
}

// openSQL is database/sql on the shared server.
func openSQL(t *testing.T) *sql.DB {
	t.Helper()
	url, _ := shared(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// An old and a new owner both write their effect in the transaction that ends the run: there is one. FT-08
func TestAnEffectOfAnOldAndANewOwnerIsThereOnce(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]*sql.DB{"pgx": nil, "database/sql": openSQL(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, namespace := room(t, store.Timing{})
			table := namespace + ".effect"
			joinAs(t, s, "old")
			joinAs(t, s, "new")
			if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(1)}); err != nil {
				t.Fatal(err)
			}
			old := takeOne(t, s, "old")
			if _, err := s.Leave(t.Context(), "old"); err != nil { // its task goes back, and it does not know
				t.Fatal(err)
			}
			fresh := takeOne(t, s, "new")
			if err := effect(t, s, db, table, "old", old); !errors.Is(err, store.ErrFenced) {
				t.Errorf("the old owner's Stage = %v, want ErrFenced", err)
			}
			if err := effect(t, s, db, table, "new", fresh); err != nil {
				t.Errorf("the new owner's Stage = %v, want no error", err)
			}
			if err := effect(t, s, db, table, "old again", old); !errors.Is(err, store.ErrFenced) {
				t.Errorf("the old owner's Stage after it = %v, want ErrFenced", err)
			}
			// The process dies before it settles: whoever takes its tasks back does.
			if got, err := s.Get(t.Context(), fresh.ID); err != nil || got.Read() != store.Ending {
				t.Errorf("Get = %s, %v; want ending", got.Read(), err)
			}
			if _, err := s.Leave(t.Context(), "new"); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), fresh.ID); err != nil || got.State != store.Done || string(got.Result) != "new" {
				t.Errorf("Get = %s %q, %v; want done by the new owner", got.State, got.Result, err)
			}
			var n int
			var by string
			if err := s.Pool().QueryRow(t.Context(), "select count(*), min(by) from "+table).Scan(&n, &by); err != nil || n != 1 || by != "new" {
				t.Errorf("%d effects, by %s, %v; want one, by the new owner", n, by, err)
			}
		})
	}
}

// A call of a worker that is marked as dead at this moment waits for the mark, and is refused: nothing is handed out to the dead.
func TestACallThatWaitsForADeathIsRefused(t *testing.T) {
	t.Parallel()
	s, name := room(t, store.Timing{})
	joinAs(t, s, "w")
	spec := store.Spec{ID: benchID(), Kind: "k", Queue: "q"}
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }() // it has ended, or the test has failed
	if _, err := tx.Exec(t.Context(), "set local search_path to "+name); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select die('w', 'silent', clock())"); err != nil {
		t.Fatal(err)
	}
	claim := store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 1}}}
	suspects, here := claim, claim
	suspects.Suspects, here.Nonce = 1, benchID()
	var g sync.WaitGroup
	for what, call := range map[string]func() error{
		"Claim":             func() error { _, err := s.Claim(t.Context(), claim); return err },
		"Claim of suspects": func() error { _, err := s.Claim(t.Context(), suspects); return err },
		"Beat":              func() error { _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "w"}); return err },
		"Submit with a claim": func() error {
			res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{{ID: benchID(), Kind: "k", Queue: "q"}}, Claim: &here})
			return errors.Join(err, res.ClaimErr)
		},
	} {
		g.Go(func() {
			if err := call(); !errors.Is(err, store.ErrDead) {
				t.Errorf("%s = %v, want ErrDead", what, err)
			}
		})
	}
	waiting(t, s, name, 4)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Wait()
	if got, err := s.Get(t.Context(), spec.ID); err != nil || got.State != store.Ready {
		t.Errorf("Get = %s, %v; want the task ready", got.State, err)
	}
}

// A newcomer waits for a holder that ends at this moment, and is not told that it stands.
func TestAHolderThatHasEndedDoesNotStand(t *testing.T) {
	t.Parallel()
	for _, policy := range []store.Conflict{store.Latest, store.Replace} {
		s, name := room(t, store.Timing{})
		joinAs(t, s, "w")
		spec := func() store.Spec {
			return store.Spec{ID: benchID(), Kind: "k", Queue: "q", Unique: store.Unique{Key: "u", OnConflict: policy}}
		}
		submit := func(spec store.Spec) store.Submitted {
			res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{spec}})
			if err != nil || res.Specs[0].Err != nil {
				t.Errorf("Submit = %+v, %v", res, err)
				return store.Submitted{}
			}
			return res.Specs[0]
		}
		submit(spec())
		holder := takeOne(t, s, "w")
		release := lock(t, s, "select 1 from "+name+".task where id = $1 for update", holder.ID.String())
		var g sync.WaitGroup
		g.Go(func() {
			res, err := s.Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{{Fence: holder.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}}})
			if err != nil || res.Items[0].Err != nil {
				t.Errorf("Complete = %+v, %v", res, err)
			}
		})
		waiting(t, s, name, 1)
		newcomer := spec()
		g.Go(func() {
			if got := submit(newcomer); got.ID != newcomer.ID || got.Existed || got.State != store.Ready {
				t.Errorf("Submit = %+v, want %s ready", got, newcomer.ID)
			}
		})
		waiting(t, s, name, 2)
		release()
		g.Wait()
	}
}

// waiting waits until so many calls in a namespace wait for a lock.
func waiting(t *testing.T, s *postgres.Store, namespace string, n int) {
	t.Helper()
	for range 2000 {
		var got int
		err := s.Pool().QueryRow(t.Context(), "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and strpos(query, $1) > 0", namespace).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if got >= n {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("fewer than %d calls wait for a lock", n)
}

// A task that is submitted in a transaction is there if, and only if, that is committed, and is noticed then.
func TestATaskIsSubmittedWithItsUsersTransaction(t *testing.T) {
	t.Parallel()
	s, _ := room(t, store.Timing{})
	notices := make(chan store.Notice, 10)
	watching, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	other, err := postgres.Open(t.Context(), cluster.url, postgres.Config{Namespace: s.Info().Namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	goWatch(watching, other, notices, ended)
	if n := <-notices; n.Kind != store.NoticeStart {
		t.Fatalf("the first notice = %v", n)
	}
	for _, commit := range []bool{false, true} {
		tx, err := s.Pool().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		specs := benchSpecs(1)
		if res, err := s.Tx(tx).Submit(t.Context(), specs...); err != nil || res[0].Err != nil {
			t.Fatalf("Submit = %+v, %v; want no error", res, err)
		}
		if commit {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), specs[0].ID)
		if there := err == nil; there != commit {
			t.Errorf("Get = %v, want it there: %v", err, commit)
		}
	}
	select {
	case n := <-notices:
		if n.Kind != store.NoticeWork || n.Queue != "q" {
			t.Errorf("notice = %v, want work in q", n)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("no notice came of what was committed")
	}
}
