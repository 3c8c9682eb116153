package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/internal/failpoint"
)

var (
	//go:embed schema/*.sql
	schemaFiles embed.FS
	//go:embed function/*.sql
	functionFiles embed.FS
	//go:embed query/*.sql
	queryFiles embed.FS
)

// schemaVersion is the number of the last migration. The functions belong to it: one that changes needs a new number, as programs of
// the old one call it, too.
const schemaVersion = 13

// migrationLock is the key of the lock under which schemas are made; one for all namespaces, as extensions of the server's catalogue
// do not always bear being made side by side.
const migrationLock = 0x6f75746c617374 // "outlast"

// migrate brings the schema of a namespace to schemaVersion, in one transaction: two processes may do so at once, and one that dies has
// done nothing.
func migrate(ctx context.Context, conn *pgx.Conn, q *queries) (err error) {
	version, err := schemaAt(ctx, conn, q)
	q.found = version
	if err != nil || version == schemaVersion {
		return err
	}
	if version > schemaVersion {
		return fmt.Errorf("the namespace %s has schema %d, and this version knows up to %d; update this program", q.schema, version, schemaVersion)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// After a commit it has no effect; before it the error that led here says more.
		_ = tx.Rollback(context.WithoutCancel(ctx))
	}()
	if _, err := tx.Exec(ctx, q.get("migrate_lock"), int64(migrationLock)); err != nil {
		return err
	}
	if version, err = schemaAt(ctx, tx.Conn(), q); err != nil || version >= schemaVersion {
		return err // another was faster
	}
	if version == 0 {
		if _, err := tx.Exec(ctx, q.get("migrate_schema")); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, q.get("migrate_path")); err != nil {
		return err
	}
	if err := runFiles(ctx, tx, version); err != nil {
		return err
	}
	for _, name := range []string{"migrate_calls", "migrate_version"} {
		failpoint.Hit("migrate.statement")
		if _, err := tx.Exec(ctx, strings.ReplaceAll(q.get(name), ":version", fmt.Sprint(schemaVersion))); err != nil {
			return err
		}
	}
	failpoint.Hit("migrate.commit")
	defer failpoint.Hit("migrate.done")
	return tx.Commit(ctx)
}

// runFiles runs the migrations after a version, and then all functions.
func runFiles(ctx context.Context, tx pgx.Tx, version int) error {
	for _, from := range []struct {
		files embed.FS
		dir   string
		after int
	}{{schemaFiles, "schema", version}, {functionFiles, "function", 0}} {
		names, err := fs.Glob(from.files, from.dir+"/*.sql")
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			var number int
			if n, _ := fmt.Sscanf(name, from.dir+"/%d_", &number); n == 1 && number <= from.after {
				continue
			}
			text, err := from.files.ReadFile(name)
			if err != nil {
				return err
			}
			failpoint.Hit("migrate.statement")
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// schemaAt reads the version of a namespace; 0: it is not there.
func schemaAt(ctx context.Context, conn *pgx.Conn, q *queries) (version int, err error) {
	var there bool
	if err := conn.QueryRow(ctx, q.get("schema_there"), q.schema).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = conn.QueryRow(ctx, q.get("schema_version")).Scan(&version)
	return version, err
}

// queries are the statements of a namespace by their names.
type queries struct {
	schema string
	texts  map[string]string
	found  int // the schema before it was migrated
}

// readQueries reads the statements. In them ns and :schema stand for the schema, :name for its name as a text, :task for the columns of
// a task, :given for those of one that a submit hands out, which has no history, :taken for those that tell one that a claim hands out from
// others, :brief for those of one without its payload.
func readQueries(schema string) (*queries, error) {
	q := &queries{schema: schema, texts: map[string]string{}}
	quoted := pgx.Identifier{schema}.Sanitize()
	names, err := fs.Glob(queryFiles, "query/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := queryFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, part := range strings.Split(string(text), "-- name: ")[1:] {
			head, body, _ := strings.Cut(part, "\n")
			name, _, _ := strings.Cut(head, " ")
			var lines []string
			for _, line := range strings.Split(body, "\n") {
				if !strings.HasPrefix(line, "--") {
					lines = append(lines, line)
				}
			}
			body = strings.TrimSuffix(strings.TrimSpace(strings.Join(lines, "\n")), ";")
			body = strings.NewReplacer("ns.", quoted+".", ":schema", quoted, ":name", schema, ":given", strings.Replace(list("c.", columns), "c.history", "null::jsonb", 1),
				":taken", list("c.", takenColumns), ":task", list("f.", columns), ":brief", brief(list("f.", columns))).Replace(body)
			q.texts[name] = body
		}
	}
	return q, nil
}

// brief leaves out of a list of columns what is large and need not be shown.
func brief(list string) string {
	return strings.NewReplacer("f.args", "null::bytea", "f.result", "null::bytea", "f.history", "null::jsonb").Replace(list)
}

func (q *queries) get(name string) string {
	text, ok := q.texts[name]
	if !ok {
		panic("postgres: no query " + name) // a name that is written in this package
	}
	return text
}
