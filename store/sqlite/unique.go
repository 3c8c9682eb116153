package sqlite

import (
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// holder returns the task that holds a key, or nil. A key whose time is up is let go by the step that meets it.
func (s *step) holder(kind, key string) *task {
	if key == "" {
		return nil
	}
	var id store.ID
	var until time.Time
	s.query("key_get", func(r *sqlite.Stmt) { id, until = idOf(r, 0), instant(r.ColumnInt64(1)) }, kind, key)
	if !until.IsZero() && !s.now.Before(until) {
		s.do("key_delete", kind, key, id)
		return nil
	}
	return s.task(id)
}

// takeKey gives a task its unique key, which nobody holds.
func (s *step) takeKey(t *task) {
	if t.Unique.Key == "" {
		return
	}
	var until time.Time
	if t.Unique.For > 0 {
		until = s.now.Add(t.Unique.For)
	}
	s.do("key_put", t.Kind, t.Unique.Key, t.ID, until)
}

// dropKey takes a task's key away, if it holds it.
func (s *step) dropKey(t *task) {
	if t.Unique.Key != "" {
		s.do("key_delete", t.Kind, t.Unique.Key, t.ID)
	}
}

// letKeyGo is called when a task ends.
func (s *step) letKeyGo(t *task) {
	if t.State == store.Failed && t.Unique.For != store.KeyStays || t.Unique.For == 0 {
		s.dropKey(t)
	}
}
