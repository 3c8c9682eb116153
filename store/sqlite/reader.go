package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// readerCount is how many reads go on at once; more wait.
const readerCount = 8

// readers are the connections of reads. A slot holds nil until it is first used.
type readers struct {
	path  string
	slots chan *conn
}

func newReaders(path string) *readers {
	r := &readers{path: path, slots: make(chan *conn, readerCount)}
	for range readerCount {
		r.slots <- nil
	}
	return r
}

func (r *readers) open() (*conn, error) {
	raw, err := sqlite.OpenConn(r.path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(0)
	if _, err := oneText(raw, "pragma query_only = on"); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	return newConn(raw), nil
}

// close waits for the reads under way and closes the connections.
func (r *readers) close() error {
	var errs []error
	for range readerCount {
		if c := <-r.slots; c != nil {
			errs = append(errs, c.raw.Close())
		}
	}
	return errors.Join(errs...)
}

// view is the store as of one moment.
type view struct {
	*conn
	now time.Time
	met []string // limits with rates that the clock does not allow
}

// read looks at the store as of one moment, beside the writer.
func (s *Store) read(ctx context.Context, fn func(*view) error) error {
	return s.reading(ctx, func(c *conn) error {
		if err := patiently(ctx, func() error { return begin(c) }); err != nil {
			return err
		}
		v := &view{conn: c, now: s.clock()}
		err := fn(v)
		if _, end := c.exec("rollback"); err != nil || end != nil || len(v.met) == 0 {
			return errors.Join(err, end)
		}
		return s.clampRates(ctx, v.met)
	})
}

// glance is read for one statement, which sees one moment by itself. It may be called again.
func (s *Store) glance(ctx context.Context, fn func(*view) error) error {
	return s.reading(ctx, func(c *conn) error {
		return patiently(ctx, func() error { return fn(&view{conn: c, now: s.clock()}) })
	})
}

// reading lends a connection for reads.
func (s *Store) reading(ctx context.Context, fn func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	var c *conn
	select {
	case c = <-s.readers.slots:
	case <-s.closing:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readers.slots <- c }()
	if c == nil {
		err := patiently(ctx, func() (err error) { c, err = s.readers.open(); return err })
		if err != nil {
			return fmt.Errorf("open %s: %w", s.cfg.Path, err)
		}
	}
	return fn(c)
}

// begin takes the moment of a read: the first look takes it, not the statement.
func begin(c *conn) error {
	if _, err := c.exec("begin_read"); err != nil {
		return err
	}
	err := c.each("meta_get", func(*sqlite.Stmt) {}, "namespace")
	if err != nil {
		_, end := c.exec("rollback")
		return errors.Join(err, end)
	}
	return nil
}

// rows is each for rows that may not make sense: the first error counts, and the rest is passed over.
func (v *view) rows(name string, row func(*sqlite.Stmt) error, args ...any) error {
	var first error
	err := v.each(name, func(r *sqlite.Stmt) {
		if first == nil {
			first = row(r)
		}
	}, args...)
	return errors.Join(first, err)
}

func (v *view) find(id store.ID) (found *task, err error) {
	err = v.each("task_get", func(r *sqlite.Stmt) { found = readTask(r) }, id)
	if err == nil && found == nil {
		return nil, fmt.Errorf("task %s: %w", id, store.ErrNotFound)
	}
	return found, err
}

// cut takes a page of a list that comes in its order: one more than fits shows that there is more.
type cut[T any] struct {
	page  store.Page[T]
	limit int
	last  string
}

func newCut[T any](page store.PageRequest) *cut[T] {
	limit := page.Limit
	if limit <= 0 {
		limit = 100
	}
	return &cut[T]{limit: min(limit, 1000)}
}

// add takes an item, and reports whether the page has room for another.
func (c *cut[T]) add(item T, key string) bool {
	if len(c.page.Items) == c.limit {
		c.page.Cursor = c.last
		return false
	}
	c.page.Items = append(c.page.Items, item)
	c.last = key
	return true
}
