package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// readerCount is how many reads go on at once; more wait.
const readerCount = 8

// readers are the connections of reads. Who reads takes a place, and of the connections that are idle the one used last: its statements
// are prepared and its pages at hand, and there are never more of them than ever read at once.
type readers struct {
	path   string
	places chan struct{}

	mu   sync.Mutex
	idle []*conn
}

func newReaders(path string) *readers {
	return &readers{path: path, places: make(chan struct{}, readerCount)}
}

// take returns a connection to one who has a place.
func (r *readers) take(ctx context.Context) (c *conn, err error) {
	r.mu.Lock()
	if last := len(r.idle) - 1; last >= 0 {
		c, r.idle = r.idle[last], r.idle[:last]
	}
	r.mu.Unlock()
	if c == nil {
		err = patiently(ctx, func() (err error) { c, err = r.open(); return err })
	}
	return c, err
}

func (r *readers) giveBack(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, c)
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
	for range readerCount {
		r.places <- struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.raw.Close())
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
	select {
	case s.readers.places <- struct{}{}:
	case <-s.closing:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.readers.places }()
	c, err := s.readers.take(ctx)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.cfg.Path, err)
	}
	defer s.readers.giveBack(c)
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
