package sqlite

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/internal/failpoint"
)

// migrate brings a file to schemaVersion. It holds the write lock while it looks and while it changes, so of several
// processes that start at once one migrates, and the others find it done.
func migrate(c *conn, namespace string) (err error) {
	if _, err := c.exec("begin_immediate"); err != nil {
		return err
	}
	defer func() {
		if err != nil && !c.raw.AutocommitEnabled() {
			_, _ = c.exec("rollback") // the first error tells more
		}
	}()
	if err := checkFile(c.raw); err != nil { // again: it may have become another's meanwhile
		return err
	}
	have, err := oneInt(c.raw, "pragma user_version")
	if err != nil {
		return err
	}
	c.found = have
	files, err := fs.Glob(schemaFiles, "schema/*.sql")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := migrateBy(c.raw, file, have); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := checkNamespace(c, namespace); err != nil {
		return err
	}
	failpoint.Hit("migrate.commit")
	_, err = c.exec("commit")
	failpoint.Hit("migrate.done")
	return err
}

// migrateBy applies one migration, unless the file has it already.
func migrateBy(raw *sqlite.Conn, file string, have int) error {
	number, _, _ := strings.Cut(path.Base(file), "_")
	n, err := strconv.Atoi(number)
	if err != nil || n <= have {
		return err
	}
	text, err := schemaFiles.ReadFile(file)
	if err != nil {
		return err
	}
	return execScript(raw, string(text))
}

// execScript runs the statements of a migration one after the other.
func execScript(raw *sqlite.Conn, text string) error {
	for strings.TrimSpace(text) != "" {
		failpoint.Hit("migrate.statement")
		st, rest, err := raw.PrepareTransient(text)
		if err != nil {
			return err
		}
		_, err = st.Step()
		if err2 := st.Finalize(); err == nil {
			err = err2
		}
		if err != nil {
			return err
		}
		text = text[len(text)-rest:]
	}
	return nil
}

// checkNamespace writes the namespace into a new file, and refuses a file of another one.
func checkNamespace(c *conn, namespace string) error {
	have := ""
	if err := c.each("meta_get", func(r *sqlite.Stmt) { have = r.ColumnText(0) }, "namespace"); err != nil {
		return err
	}
	if have == "" {
		_, err := c.exec("meta_put", "namespace", namespace)
		return err
	}
	if have != namespace {
		return fmt.Errorf("the file holds the namespace %q, not %q; a namespace has a file of its own", have, namespace)
	}
	return nil
}
