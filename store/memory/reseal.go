package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// Reseal replaces sealed bytes of one record.
func (s *Store) Reseal(ctx context.Context, req store.ResealRequest) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := req.Validate(); err != nil {
		return err
	}
	switch {
	case !req.Group.IsZero():
		return s.d.resealGroup(&req)
	case req.Schedule != "":
		return s.d.resealSchedule(&req)
	}
	t, err := s.d.find(req.Task)
	if err != nil {
		return err
	}
	entries, inbox, err := resealRest(t, &req)
	if err != nil {
		return err
	}
	if err := req.Apply(&t.Task); err != nil {
		return err
	}
	t.entries, t.inbox = entries, inbox
	t.Version++
	return nil
}

func (d *data) resealGroup(req *store.ResealRequest) error {
	g := d.groups[req.Group]
	if g == nil {
		return fmt.Errorf("group %s: %w", req.Group, store.ErrNotFound)
	}
	if err := req.ApplyGroup(&g.Group); err != nil {
		return err
	}
	g.Version++
	return nil
}

func (d *data) resealSchedule(req *store.ResealRequest) error {
	have := d.schedules[req.Schedule]
	if have == nil {
		return fmt.Errorf("schedule %s: %w", req.Schedule, store.ErrNotFound)
	}
	sc := *have
	if err := req.ApplySchedule(&sc); err != nil {
		return err
	}
	sc.Version++
	d.schedules[req.Schedule] = &sc
	return nil
}

// resealRest returns the entries and the inbox of a task with what is to be replaced.
func resealRest(t *task, req *store.ResealRequest) (map[string][]byte, []store.Message, error) {
	entries, inbox := maps.Clone(t.entries), slices.Clone(t.inbox)
	missing := t.corrupt
	for name, value := range req.Entries {
		missing = missing || entries[name] == nil
		if !missing {
			entries[name] = value
		}
	}
	for id, body := range req.Messages {
		i := slices.IndexFunc(inbox, func(m store.Message) bool { return m.ID == id })
		if missing = missing || i < 0; !missing {
			inbox[i].Body = body
		}
	}
	if missing {
		return nil, nil, fmt.Errorf("reseal task %s, which has not got that: %w", t.ID, store.ErrChanged)
	}
	return entries, inbox, nil
}
