package secrets_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
)

// home is a fresh store of one test.
type home struct {
	db  store.Store
	dir string // has all of its files
	log string // of its writes: what the name of a file in it, or the path to it, begins with
	// submit stores a prepared task, and stage an outcome before it is settled, in a transaction where the engine has them.
	submit func(ctx context.Context, s store.Spec) error
	stage  func(ctx context.Context, c store.Completion) error
	// flush brings to the files what the server still has in memory, and returns what the server has logged.
	flush func() string
}

// engines are those that write files, each on a server of its own.
var engines = []struct {
	name string
	make func(t *testing.T) home
}{{"sqlite", onSQLite}, {"postgres", onPostgres}, {"redis", onRedis}}

func onSQLite(t *testing.T) home {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "planted.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	within := func(ctx context.Context, fn func(*sqlite.Tx) error) error {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(fn(tx), tx.Commit())
	}
	return home{
		db: db, dir: dir, log: "planted.db-wal", flush: func() string { return "" },
		submit: func(ctx context.Context, s store.Spec) error {
			return within(ctx, func(tx *sqlite.Tx) error { _, err := tx.Submit(ctx, s); return err })
		},
		stage: func(ctx context.Context, c store.Completion) error {
			return within(ctx, func(tx *sqlite.Tx) error { return tx.Stage(ctx, c) })
		},
	}
}

func onPostgres(t *testing.T) home {
	s := servers.StartPostgres(t)
	db, err := postgres.Open(t.Context(), s.URL(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return home{
		db: db, dir: s.Dir(), log: filepath.Join("data", "pg_wal"), submit: submitTo(db), stage: db.Stage,
		flush: func() string {
			s.Query(t, "CHECKPOINT")
			return s.Log()
		},
	}
}

func onRedis(t *testing.T) home {
	s := servers.NewRedis(t, servers.RedisConfig{})
	db, err := redis.Open(t.Context(), s.URL(), redis.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return home{
		db: db, dir: s.Dir(), log: "appendonlydir", submit: submitTo(db), stage: db.Stage,
		flush: func() string {
			s.Do("SAVE") // beside the append-only file
			return s.Log()
		},
	}
}

func submitTo(db store.Store) func(context.Context, store.Spec) error {
	return func(ctx context.Context, s store.Spec) error {
		res, err := db.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{s}})
		if err == nil {
			err = res.Specs[0].Err
		}
		return err
	}
}
