package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Stage writes an outcome as ended, unsettled.
func (s *Store) Stage(ctx context.Context, c store.Completion) error {
	return s.write(ctx, func(s *step) error { return s.stage(c) })
}

func (s *step) stage(c store.Completion) error {
	t := s.task(c.Fence.ID)
	if t == nil || !holds(t, c.Fence) {
		return fencedError(c.Fence)
	}
	if t.Staged != nil {
		return fmt.Errorf("task %s: an outcome is staged already: %w", t.ID, store.ErrState)
	}
	if err := s.valid(c.Outcome); err != nil {
		return err
	}
	out := c.Outcome
	out.Entries = maps.Clone(out.Entries)
	t.Staged = &out
	s.touch(t)
	return nil
}

// Save writes what a run wants to keep.
func (s *Store) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	return write(ctx, s, func(s *step) (string, error) {
		t := s.task(req.Fence.ID)
		if t == nil || !holds(t, req.Fence) {
			return "", fencedError(req.Fence)
		}
		if t.Staged != nil {
			s.settle(t, *t.Staged)
			return "", fencedError(req.Fence)
		}
		if req.Seq > 0 && req.Seq < t.Saves {
			return t.Asked, fmt.Errorf("save %d of task %s comes after save %d: %w", req.Seq, t.ID, t.Saves, store.ErrChanged)
		}
		t.Saves = max(t.Saves, req.Seq)
		s.setEntries(t, req.Entries)
		s.consume(t, req.Consume)
		if req.Progress != nil {
			t.Progress = *req.Progress
			t.Progress.At = s.now
		}
		if len(req.Entries) > 0 {
			absolve(t)
		}
		s.touch(t)
		return t.Asked, nil
	})
}

// setEntries writes checkpoint entries of a running task; a nil value removes one.
func (s *step) setEntries(t *task, entries map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if entries[name] == nil {
			s.do("entry_delete", t.seq, name)
			continue
		}
		s.do("entry_put", t.seq, name, entries[name])
		t.entries = true
	}
}

// Load reads checkpoint entries.
func (s *Store) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	entries := map[string][]byte{}
	err := s.read(ctx, func(v *view) error {
		t, err := v.find(id)
		if err != nil {
			return err
		}
		if t.Stripped {
			return fmt.Errorf("the checkpoint of task %s is gone: %w", id, store.ErrNotFound)
		}
		if len(names) == 0 {
			return v.each("entry_all", func(r *sqlite.Stmt) { entries[r.ColumnText(0)] = blobOf(r, 1) }, t.seq)
		}
		for _, name := range names {
			if err := v.each("entry_get", func(r *sqlite.Stmt) { entries[name] = blobOf(r, 0) }, t.seq, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}
