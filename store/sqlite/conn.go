package sqlite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

//go:embed query/*.sql
var queryFiles embed.FS

// queries are the statements of query/*.sql by their names. A file holds those of one noun; each begins with a line
// "-- name:" and what it is for.
var queries = readQueries()

func readQueries() map[string]string {
	all := map[string]string{}
	files, err := fs.Glob(queryFiles, "query/*.sql")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := queryFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, part := range strings.Split(string(text), "-- name: ")[1:] {
			name, rest, _ := strings.Cut(part, "\n")
			name, _, _ = strings.Cut(name, " ")
			if all[name] != "" {
				panic("two statements are called " + name)
			}
			all[name] = strings.TrimSpace(rest)
		}
	}
	return all
}

// conn is a connection and its prepared statements. One goroutine uses it at a time.
type conn struct {
	raw   *sqlite.Conn
	stmts map[string]*sqlite.Stmt
	found int // the schema of the file before it was migrated

	body, spec []byte // room for what is encoded,
	args       []any  // and for what is bound
}

func newConn(raw *sqlite.Conn) *conn { return &conn{raw: raw, stmts: map[string]*sqlite.Stmt{}} }

// prepare returns the statement of that name with its parameters bound.
func (c *conn) prepare(name string, args []any) (*sqlite.Stmt, error) {
	st := c.stmts[name]
	if st == nil {
		text, ok := queries[name]
		if !ok {
			return nil, fmt.Errorf("no statement is called %s", name)
		}
		var err error
		if st, err = c.raw.Prepare(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.stmts[name] = st
	}
	for i, a := range args {
		bind(st, i+1, a)
	}
	return st, nil
}

// exec runs a statement that returns nothing, and tells how many rows it changed.
func (c *conn) exec(name string, args ...any) (int, error) {
	st, err := c.prepare(name, args)
	if err != nil {
		return 0, err
	}
	return c.alter(name, st)
}

// alter runs a statement whose parameters are bound.
func (c *conn) alter(name string, st *sqlite.Stmt) (int, error) {
	if _, err := st.Step(); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	changed := c.raw.Changes()
	return changed, st.Reset()
}

// each calls row for each row of the answer. row must not use the same statement.
func (c *conn) each(name string, row func(r *sqlite.Stmt), args ...any) error {
	st, err := c.prepare(name, args)
	if err != nil {
		return err
	}
	for {
		more, err := st.Step()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !more {
			return st.Reset()
		}
		row(st)
	}
}

// known refuses a file that a newer program has migrated while this one had it open: what is written here could break what that one relies
// on. It is asked inside a transaction.
func (c *conn) known() error {
	version := 0
	if err := c.each("schema", func(r *sqlite.Stmt) { version = r.ColumnInt(0) }); err != nil {
		return err
	}
	return known(version)
}

func bind(st *sqlite.Stmt, i int, a any) {
	switch v := a.(type) {
	case nil:
		st.BindNull(i)
	case int:
		st.BindInt64(i, int64(v))
	case int64:
		st.BindInt64(i, v)
	case bool:
		st.BindBool(i, v)
	case string:
		st.BindText(i, v)
	case []byte:
		if v == nil {
			st.BindNull(i)
			return
		}
		st.BindBytes(i, v)
	case store.ID:
		st.BindBytes(i, v[:])
	case time.Time:
		st.BindInt64(i, nanos(v))
	case time.Duration:
		st.BindInt64(i, int64(v))
	default:
		panic(fmt.Sprintf("bind: %T", a))
	}
}

// orNull hands a value on, or null if it is the zero one.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// nanos is an instant as it is stored; 0 is none. Instants beyond the year 2262 are stored as the last one there is.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Year() > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func blobOf(r *sqlite.Stmt, col int) []byte {
	if r.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, r.ColumnLen(col))
	r.ColumnBytes(col, b)
	return b
}

func idOf(r *sqlite.Stmt, col int) (id store.ID) {
	r.ColumnBytes(col, id[:])
	return id
}

// busy reports whether an error says that another connection holds what is needed.
func busy(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return code == sqlite.ResultBusy || code == sqlite.ResultLocked
}

// full reports whether an error says that there is no room.
func full(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull }

// ErrFull says that there is no room for what was to be written: the disk is full. Nothing that was accepted is lost, and
// the store goes on by itself once there is room again.
var ErrFull = errors.New("no room left on the disk of the database")
