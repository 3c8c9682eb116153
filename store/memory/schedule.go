package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// PutSchedule creates or replaces a schedule.
func (s *Store) PutSchedule(ctx context.Context, sc store.Schedule) (store.Schedule, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Schedule{}, err
	}
	defer leave()
	if err := sc.Validate(); err != nil {
		return store.Schedule{}, err
	}
	have := s.d.schedules[sc.Name]
	switch {
	case have == nil && sc.Version != 0, have != nil && have.Version != sc.Version:
		return store.Schedule{}, fmt.Errorf("schedule %s at version %d: %w", sc.Name, sc.Version, store.ErrChanged)
	case have == nil:
		sc.CreatedAt, sc.LastTick, sc.LastTask = s.d.now, time.Time{}, store.ID{}
	default:
		sc.CreatedAt, sc.LastTick, sc.LastTask = have.CreatedAt, have.LastTick, have.LastTask
		switch {
		case sc.Rule != have.Rule || sc.Zone != have.Zone:
			sc.LastTick = time.Time{}
		case !sc.LastTick.IsZero() && !sc.NextAt.IsZero() && !sc.NextAt.After(sc.LastTick):
			sc.NextAt = have.NextAt
		}
	}
	sc.Version++
	sc.UpdatedAt = s.d.now
	s.d.schedules[sc.Name] = &sc
	return sc, nil
}

// Schedule reads one.
func (s *Store) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Schedule{}, err
	}
	defer leave()
	if sc := s.d.schedules[name]; sc != nil {
		return *sc, nil
	}
	return store.Schedule{}, fmt.Errorf("schedule %s: %w", name, store.ErrNotFound)
}

// ScheduleList pages through all.
func (s *Store) ScheduleList(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Page[store.Schedule]{}, err
	}
	defer leave()
	list := make([]*store.Schedule, 0, len(s.d.schedules))
	for _, sc := range s.d.schedules {
		list = append(list, sc)
	}
	return cut(list, page, func(sc *store.Schedule) string { return sc.Name }, func(sc *store.Schedule) store.Schedule { return *sc }), nil
}

// DeleteSchedule removes one.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	delete(s.d.schedules, name)
	return nil
}

// DueSchedules lists those whose time has come.
func (s *Store) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Duration, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	due, wait := s.d.dueSchedules(limit)
	return due, max(wait, 0), nil
}

// dueSchedules returns those that are due, and how long until the next one is: 0 if some are, -1 if none ever will be.
func (d *data) dueSchedules(limit int) ([]store.Schedule, time.Duration) {
	var due []store.Schedule
	wait := time.Duration(-1)
	for _, sc := range d.schedules {
		if sc.Paused || sc.NextAt.IsZero() {
			continue
		}
		in := sc.NextAt.Sub(d.now)
		if in <= 0 {
			due = append(due, *sc)
			in = 0
		}
		if wait < 0 || in < wait {
			wait = in
		}
	}
	slices.SortFunc(due, func(a, b store.Schedule) int {
		if c := a.NextAt.Compare(b.NextAt); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return due[:min(len(due), max(limit, 1))], wait
}

// Tick submits the task of one tick.
func (s *Store) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.TickResult{}, err
	}
	defer leave()
	sc := s.d.schedules[req.Name]
	switch {
	case sc == nil:
		return store.TickResult{}, fmt.Errorf("schedule %s: %w", req.Name, store.ErrNotFound)
	case sc.Paused || sc.Version != req.Version || !sc.LastTick.Equal(req.Last):
		return store.TickResult{}, fmt.Errorf("schedule %s: %w", req.Name, store.ErrChanged)
	case req.Tick.After(s.d.now) || !req.Last.IsZero() && !req.Tick.After(req.Last):
		return store.TickResult{}, fmt.Errorf("%w: tick %v of schedule %s lies in the future or not after the last", store.ErrInvalid, req.Tick, req.Name)
	}
	var res store.TickResult
	last := s.d.tasks[sc.LastTask]
	res.Overlapped = last != nil && !last.State.Terminal()
	if !req.Skip && (!res.Overlapped || sc.Overlap != store.OverlapSkip) {
		spec := sc.Task
		spec.ID = store.TickID(sc.Name, sc.Version, req.Tick)
		spec.Delay += req.Delay
		if sub := s.d.submit(spec, true); sub.Err == nil {
			res.Task, sc.LastTask = sub.ID, sub.ID
		}
	}
	sc.LastTick, sc.NextAt, sc.UpdatedAt = req.Tick.UTC(), req.Next.UTC(), s.d.now
	if req.Next.IsZero() {
		sc.NextAt = time.Time{}
	}
	return res, nil
}
