package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/test/servers"
)

// with changes a URL.
func with(t *testing.T, text string, change func(u *url.URL, q url.Values)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	change(u, q)
	u.RawQuery = q.Encode()
	return u.String()
}

// refused opens what cannot be opened, and checks that the error says why, and not the password.
func refused(t *testing.T, url, secret string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := postgres.Open(ctx, url, postgres.Config{})
	if err == nil {
		_ = s.Close()
		t.Fatalf("Open = no error, want one about %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("Open = %v, want %q in it", err, w)
		}
	}
	if text := err.Error(); strings.Count(text, "the server") > 1 || strings.Count(text, "connection refused") > 1 {
		t.Errorf("Open = %v, and says it twice", err)
	}
	for _, hidden := range []string{secret, strings.ReplaceAll(secret, " ", "%20")} {
		if secret != "" && strings.Contains(err.Error(), hidden) {
			t.Errorf("Open = %v, and the password is in it", err)
		}
	}
}

// private is a server of this test alone, whatever OUTLAST_TEST_POSTGRES says: its users and settings are this test's.
func private(t *testing.T, settings ...string) *servers.Postgres {
	t.Helper()
	return servers.StartPostgres(t, settings...)
}

// FT-31
func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	t.Parallel()
	srv := private(t)
	good := srv.URL()
	secret := servers.PostgresPassword
	conn, err := pgx.Connect(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, text := range []string{
		"create role guest login password 'gu3st word'", "create database other", "revoke create on database other from public",
		"revoke all on schema public from public",
	} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, with(t, good, func(u *url.URL, _ url.Values) { u.User = url.UserPassword(servers.PostgresUser, "wr0ng word") }), "wr0ng word",
		"wrong password", servers.PostgresUser)
	refused(t, with(t, good, func(u *url.URL, _ url.Values) { u.Path = "/absent" }), secret, "no database \"absent\"", "createdb absent")
	refused(t, with(t, good, func(u *url.URL, _ url.Values) { u.User, u.Path = url.UserPassword("guest", "gu3st word"), "/other" }), "gu3st word",
		"may not", "grant create on database other to guest")
	refused(t, with(t, good, func(u *url.URL, _ url.Values) { u.Host = "127.0.0.1:1" }), secret, "not there")
	refused(t, "postgres://u:hidd3n@[bad/x", "hidd3n", "cannot be read")
	refused(t, "mysql://u:hidd3n@host/x", "hidd3n", "must begin with postgres://")
	for _, option := range []string{"namespace=Pg-Bad", "namespace=pg_catalog", "pooler=yes", "fsync=off", "conns=0", "sslmode=never"} {
		refused(t, good+"&"+option, secret)
	}
	refused(t, good+"&password="+url.QueryEscape("am0ng options")+"&namespace=Bad", "am0ng options")
}

func TestASchemaThatANewerVersionHasMadeIsRefused(t *testing.T) {
	t.Parallel()
	url, pool := shared(t)
	name := namespace(t)
	var found int
	if err := pool.QueryRow(t.Context(), fmt.Sprintf("select number from %s.version", name)).Scan(&found); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), fmt.Sprintf("update %s.version set number = 99", name)); err != nil {
		t.Fatal(err)
	}
	refused(t, url+"&namespace="+name, "", "schema 99", "update this program")
	if _, err := pool.Exec(t.Context(), fmt.Sprintf("update %s.version set number = %d", name, found)); err != nil {
		t.Fatal(err)
	}
}

// A namespace of the schema before is brought to the present one, with what is in it.
func TestANamespaceOfTheSchemaBeforeIsMigrated(t *testing.T) {
	t.Parallel()
	url, pool := shared(t)
	name := namespace(t)
	open := func() store.Store {
		s, err := postgres.Open(t.Context(), url+"&namespace="+name, postgres.Config{})
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := open()
	sc := store.Schedule{Name: "s", Rule: "every 1m", Task: store.Spec{Kind: "k", Queue: "q"}, NextAt: time.Now().Add(time.Hour)}
	if _, err := s.PutSchedule(t.Context(), sc); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutLimit(t.Context(), store.Limit{Key: "l", Running: 3}); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"drop index %[1]s.task_running, %[1]s.task_waits, %[1]s.task_alone", "create index task_worker on %s.task (worker)", "create index task_deadline on %s.task (deadline_at)", "create index task_state on %s.task (state)",
		"drop index %s.task_urgent", "drop index %s.task_suspect", "alter table %s.schedule drop column declared", "alter table %s.lim drop column declared", "alter table %s.grp drop column freed_to", "drop index %s.ended_broken", "drop index %s.ended_failed",
		"drop function %s.take_key(jsonb, bigint)", "drop function %s.room", "drop function %s.take_slots", "drop function %s.is_broken", "update %s.version set number = 1",
	} {
		if _, err := pool.Exec(t.Context(), fmt.Sprintf(query, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = open()
	if got := s.Info().Schema; got != 13 {
		t.Errorf("Schema = %d, want 13", got)
	}
	if got, err := s.Schedule(t.Context(), "s"); err != nil || got.Rule != "every 1m" || got.Declared != "" {
		t.Errorf("Schedule = %+v, %v, want the one from before", got, err)
	}
	if list, err := s.LimitList(t.Context()); err != nil || len(list) != 1 || list[0].Running != 3 || list[0].Declared {
		t.Errorf("LimitList = %+v, %v, want the one from before", list, err)
	}
	id := store.MakeID(time.Now(), [16]byte{1})
	res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{{ID: id, Kind: "k", Queue: "q", Unique: store.Unique{Key: "u", OnConflict: store.Latest}}}})
	if err != nil || res.Specs[0].Err != nil {
		t.Errorf("Submit = %+v, %v", res, err)
	}
}

func TestAServerThatDoesNotSyncIsRefusedUnlessThatIsMeant(t *testing.T) {
	t.Parallel()
	srv := private(t, "fsync=off")
	refused(t, srv.URL(), servers.PostgresPassword, "fsync=off", "fsync=off-ok")
	s, err := postgres.Open(t.Context(), srv.URL("fsync=off-ok"), postgres.Config{})
	if err != nil {
		t.Fatalf("Open with fsync=off-ok = %v, want no error", err)
	}
	_ = s.Close()
}

// FT-31
func TestAReplicaIsRefused(t *testing.T) {
	t.Parallel()
	srv := private(t)
	refused(t, srv.Replica(t).URL(), servers.PostgresPassword, "read-only replica", "primary")
}

// Several processes that start at once make the schema once.
func TestProcessesThatMigrateAtOnceMakeOneSchema(t *testing.T) {
	t.Parallel()
	url, pool := shared(t)
	name := fmt.Sprintf("migrate_%d", time.Now().UnixNano())
	var g sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		g.Go(func() {
			s, err := postgres.Open(t.Context(), url, postgres.Config{Namespace: name})
			if err == nil {
				_, err = s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(1)})
				_ = s.Close()
			}
			errs[i] = err
		})
	}
	g.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	var n int
	if err := pool.QueryRow(t.Context(), "select count(*) from "+name+".task").Scan(&n); err != nil || n != len(errs) {
		t.Errorf("%d tasks, %v; want %d", n, err, len(errs))
	}
	if _, err := pool.Exec(t.Context(), "drop schema "+name+" cascade"); err != nil {
		t.Error(err)
	}
}

// Namespaces share nothing: the same id may be in both.
func TestNamespacesShareNothing(t *testing.T) {
	t.Parallel()
	url, pool := shared(t)
	spec := benchSpecs(1)
	for _, name := range []string{namespace(t), namespace(t), "user"} { // one is a word of SQL
		s, err := postgres.Open(t.Context(), url, postgres.Config{Namespace: name})
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: spec})
		if err != nil || res.Specs[0].Existed {
			t.Errorf("Submit = %+v, %v; want it stored", res.Specs, err)
		}
		_ = s.Close()
	}
	if _, err := pool.Exec(t.Context(), `drop schema "user" cascade`); err != nil {
		t.Error(err)
	}
}
