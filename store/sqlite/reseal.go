package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// Reseal replaces sealed bytes of one record.
func (s *Store) Reseal(ctx context.Context, req store.ResealRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return s.write(ctx, func(s *step) error {
		switch {
		case !req.Group.IsZero():
			return s.resealGroup(&req)
		case req.Schedule != "":
			return s.resealSchedule(&req)
		}
		return s.resealTask(&req)
	})
}

func (s *step) resealGroup(req *store.ResealRequest) error {
	g := s.group(req.Group)
	if g == nil {
		return fmt.Errorf("group %s: %w", req.Group, store.ErrNotFound)
	}
	if err := req.ApplyGroup(&g.Group); err != nil {
		return err
	}
	g.Version++
	g.dirty = true
	return nil
}

func (s *step) resealSchedule(req *store.ResealRequest) error {
	sc := s.schedule(req.Schedule)
	if sc == nil {
		return fmt.Errorf("schedule %s: %w", req.Schedule, store.ErrNotFound)
	}
	if err := req.ApplySchedule(sc); err != nil {
		return err
	}
	sc.Version++
	s.writeSchedule(sc)
	return nil
}

// resealTask looks whether all is there before it replaces any of it.
func (s *step) resealTask(req *store.ResealRequest) error {
	t, err := s.find(req.Task)
	if err != nil {
		return err
	}
	s.flushTasks() // one that was submitted a moment ago gets the number that its entries are kept under
	missing := t.corrupt
	for name := range req.Entries {
		missing = missing || s.number("entry_there", t.seq, name) == 0
	}
	for id := range req.Messages {
		missing = missing || s.number("message_there", t.seq, id) == 0
	}
	if missing {
		return fmt.Errorf("reseal task %s, which has not got that: %w", t.ID, store.ErrChanged)
	}
	if err := req.Apply(&t.Task); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(req.Entries)) {
		s.do("entry_put", t.seq, name, req.Entries[name])
	}
	for id, body := range req.Messages {
		s.do("message_reseal", t.seq, id, body)
	}
	t.Version++
	s.change(t)
	s.flushTasks()
	if req.Args != nil || req.OnEnd != nil {
		s.oneRow(t, s.do("task_reseal", t.seq, t.Version, s.encodedSpec(t)))
	}
	return nil
}
