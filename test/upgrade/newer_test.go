package upgrade_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/upgrade/fill"
)

// engines has one old store of each engine.
var engines = []string{"testdata/sqlite-4.gz", "testdata/postgres-3.gz", "testdata/redis-1.gz"}

// mark writes the number of a schema into a store, as a newer program would.
func mark(t *testing.T, url string, schema int) {
	t.Helper()
	ctx := t.Context()
	var err error
	switch scheme, path, _ := strings.Cut(url, ":"); scheme {
	case "sqlite":
		var conn *sqlite.Conn
		if conn, err = sqlite.OpenConn(path, sqlite.OpenReadWrite); err != nil {
			t.Fatal(err)
		}
		conn.SetBusyTimeout(10 * time.Second)
		err = sqlitex.ExecuteTransient(conn, fmt.Sprintf("pragma user_version = %d", schema), nil)
		if end := conn.Close(); err == nil {
			err = end
		}
	case "postgres":
		var conn *pgx.Conn
		if conn, err = pgx.Connect(ctx, url); err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(ctx, fmt.Sprintf("update outlast.version set number = %d", schema))
		conn.Close(ctx)
	default:
		c := connect(t, url)
		err = c.Do(ctx, c.B().Hset().Key("outlast:{default}:meta").FieldValue().FieldValue("schema", fmt.Sprint(schema)).Build()).Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A store of a newer version is not opened: the error says what to do, and nothing in the store is touched.
func TestAStoreOfANewerVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, file := range engines {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			url := restore(t, file)
			first := opened(t, url)
			present := first.Info().Schema
			first.Close()
			mark(t, url, 99)
			st, err := engine.Open(t.Context(), url)
			if err == nil {
				st.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), "schema 99") || !strings.Contains(err.Error(), "update this program") {
				t.Errorf("Open = %v; want the number, and what to do", err)
			}
			mark(t, url, present)
			back := opened(t, url)
			asLeft(t, back)
			clean(t, back)
		})
	}
}

// A program that has a store open when a newer one migrates it is not kept alive any more, so that others take over what it holds; in a file, where
// each program brings its own statements, it cannot write either.
func TestAProgramThatIsOvertakenStops(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/sqlite-4.gz", "testdata/redis-1.gz"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			ctx, url := t.Context(), restore(t, file)
			st := opened(t, url)
			const worker = "overtaken:1:00"
			if err := st.Join(ctx, store.JoinRequest{ID: worker, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Beat(ctx, store.BeatRequest{Worker: worker}); err != nil {
				t.Fatal(err)
			}
			mark(t, url, 99)
			if _, err := st.Beat(ctx, store.BeatRequest{Worker: worker}); err == nil || store.Answered(err) || !strings.Contains(err.Error(), "update this program") {
				t.Errorf("Beat = %v; want that it is too old", err)
			}
			if err := st.Join(ctx, store.JoinRequest{ID: worker + "1", Beat: time.Second, DeadAfter: 15 * time.Second}); err == nil || store.Answered(err) {
				t.Errorf("Join = %v; want that it is too old", err)
			}
			if strings.HasPrefix(url, "sqlite:") {
				if _, err := st.Cancel(ctx, fill.ID("ready"), "x"); err == nil || store.Answered(err) {
					t.Errorf("Cancel = %v; want that it is too old", err)
				}
				if task, err := st.Get(ctx, fill.ID("ready")); err != nil || task.State != store.Ready {
					t.Errorf("the task is %s, %v; want it ready", task.State, err)
				}
			}
			mark(t, url, st.Info().Schema)
			if _, err := st.Beat(ctx, store.BeatRequest{Worker: worker}); err != nil {
				t.Errorf("Beat once it is known again = %v", err)
			}
		})
	}
}

// Programs of the schema before find every function that they call, also after a newer program has migrated: on PostgreSQL old and new
// work side by side, on the functions of the new one.
func TestFunctionsThatOlderProgramsCallAreStillThere(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/postgres-1.gz", "testdata/postgres-2.gz", "testdata/postgres-3.gz", "testdata/postgres-9.gz", "testdata/postgres-10.gz"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			url := restore(t, file)
			before := called(t, url)
			opened(t, url)
			after := called(t, url)
			for _, name := range before {
				if !slices.Contains(after, name) {
					t.Errorf("%s is gone", name)
				}
			}
			if len(before) < 20 {
				t.Errorf("there were %d functions: %v", len(before), before)
			}
		})
	}
}

// They do what they did: a program of the schema before claims and completes beside a newer one.
func TestAnOlderProgramWorksBesideANewerOne(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/postgres-9.gz")
	st := opened(t, url)
	ctx := t.Context()
	if err := st.Join(ctx, store.JoinRequest{ID: "older", Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	claim := fmt.Sprintf(`{"horizon": 600000000000, "worker": "older", "nonce": "%s", "repeat": false, "kinds": ["%s"], "suspects": 0, "aged": 60000000000,
		"queues": [{"queue": "ready", "slots": 10, "cursor": ""}]}`, fill.ID("nonce"), fill.Kind)
	var id, worker string
	var epoch int64
	err = conn.QueryRow(ctx, "select id::text, epoch, worker from outlast.claim_rows($1::text::jsonb) where meta is null", claim).Scan(&id, &epoch, &worker)
	if err != nil || id != fill.ID("ready").String() || worker != "older" {
		t.Fatalf("the older program claims %s for %q, %v; want %s", id, worker, err, fill.ID("ready"))
	}
	var meta string
	err = conn.QueryRow(ctx, "select meta::text from outlast.complete_rows($1::text::jsonb)", fmt.Sprintf(
		`{"horizon": 600000000000, "quick": true, "brief": true, "claim": %s, "items": [{"id": "%s", "epoch": %d, "nonce": "%s", "quick": true, "out": {"kind": "done", "result": "b2s="}}]}`,
		claim, id, epoch, fill.ID("nonce"))).Scan(&meta)
	if err != nil || strings.Contains(meta, "dead") {
		t.Fatalf("the older program completes: %s, %v", meta, err)
	}
	if task, err := st.Get(ctx, fill.ID("ready")); err != nil || task.State != store.Done || string(task.Result) != "ok" {
		t.Errorf("the task is %s with %q, %v; want it done", task.State, task.Result, err)
	}
}

// called lists the functions that are called from outside: those whose path is fixed.
func called(t *testing.T, url string) (names []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select p.oid::regprocedure::text || ' returns ' || pg_get_function_result(p.oid)
		from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'outlast' and p.proconfig is not null order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A migration that was part of a version is never changed: stores that have it would not have the change. What is to be another way goes into a new file.
// The list has those of all versions; it grows when one is made.
func TestAMigrationIsNeverChanged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/migrations.sha256")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	files, err := filepath.Glob("../../store/*/schema/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		at := slices.Index(known, name)
		if at > 0 && known[at-1] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s was changed: write a new migration instead", name)
		}
		if at < 0 {
			t.Logf("%s is of no version yet", name)
			continue
		}
		known = slices.Delete(known, at-1, at+1)
	}
	if len(known) > 0 {
		t.Errorf("these are gone: %q", known)
	}
}
