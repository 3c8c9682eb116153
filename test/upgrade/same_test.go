package upgrade_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// A store that was migrated is made as a new one is: the same tables, columns, indexes and functions. It may have functions besides: those that older
// programs call.
func TestAMigratedStoreIsMadeAsANewOne(t *testing.T) {
	t.Parallel()
	fresh := "sqlite:" + filepath.Join(t.TempDir(), "new.db")
	opened(t, fresh)
	want := madeOfSQLite(t, fresh)
	made := restorePostgres(t, nil)
	opened(t, made)
	wantPostgres := madeOfPostgres(t, made)
	if len(want) < 50 || len(wantPostgres) < 100 {
		t.Fatalf("a new store has %d and %d parts", len(want), len(wantPostgres))
	}
	for _, file := range stores(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			switch {
			case strings.Contains(file, "sqlite"):
				url := restore(t, file)
				opened(t, url)
				differ(t, madeOfSQLite(t, url), want)
			case strings.Contains(file, "postgres"):
				url := restore(t, file)
				opened(t, url)
				differ(t, madeOfPostgres(t, url), wantPostgres)
			}
		})
	}
}

func differ(t *testing.T, have, want []string) {
	t.Helper()
	for _, part := range have {
		if !slices.Contains(want, part) && !strings.HasPrefix(part, "CREATE OR REPLACE FUNCTION") {
			t.Errorf("a migrated one has, and a new one has not:\n%s", part)
		}
	}
	for _, part := range want {
		if !slices.Contains(have, part) {
			t.Errorf("a new one has, and a migrated one has not:\n%s", part)
		}
	}
}

func madeOfSQLite(t *testing.T, url string) (parts []string) {
	t.Helper()
	conn, err := sqlite.OpenConn(strings.TrimPrefix(url, "sqlite:"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range []string{
		`select 'column ' || m.name || '.' || p.name || ' ' || p.type || ' ' || p."notnull" || ' ' || coalesce(p.dflt_value, '-') || ' ' || p.pk
			from sqlite_schema m join pragma_table_info(m.name) p where m.type = 'table'`,
		`select sql from sqlite_schema where type = 'index' and sql is not null`,
	} {
		if err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(r *sqlite.Stmt) error {
			parts = append(parts, strings.Join(strings.Fields(r.ColumnText(0)), " "))
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

func madeOfPostgres(t *testing.T, url string) (parts []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, query := range []string{
		`select concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, column_default) from information_schema.columns where table_schema = 'outlast'`,
		`select indexdef from pg_indexes where schemaname = 'outlast'`,
		`select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'outlast' and p.prokind = 'f'`,
		`select concat_ws(' ', c.conname, c.conrelid::regclass, pg_get_constraintdef(c.oid)) from pg_constraint c join pg_namespace n on n.oid = c.connamespace where n.nspname = 'outlast'`,
		`select pg_get_triggerdef(g.oid) from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'outlast' and not g.tgisinternal`,
	} {
		rows, err := conn.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, list...)
	}
	return parts
}
