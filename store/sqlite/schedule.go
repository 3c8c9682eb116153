package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

func readSchedule(r *sqlite.Stmt) (sc store.Schedule, err error) {
	err = json.Unmarshal([]byte(r.ColumnText(0)), &sc)
	return sc, err
}

// schedule returns the schedule of that name, or nil.
func (s *step) schedule(name string) (found *store.Schedule) {
	s.query("schedule_get", func(r *sqlite.Stmt) {
		sc, err := readSchedule(r)
		if err != nil {
			s.fail(fmt.Errorf("schedule %s: %w", name, err))
			return
		}
		found = &sc
	}, name)
	return found
}

func (s *step) writeSchedule(sc *store.Schedule) {
	var next any
	if !sc.Paused && !sc.NextAt.IsZero() {
		next = sc.NextAt
	}
	s.do("schedule_put", sc.Name, next, s.json(sc))
}

// PutSchedule creates or replaces a schedule.
func (s *Store) PutSchedule(ctx context.Context, sc store.Schedule) (store.Schedule, error) {
	if err := sc.Validate(); err != nil {
		return store.Schedule{}, err
	}
	return write(ctx, s, func(s *step) (store.Schedule, error) {
		stored := sc
		have := s.schedule(sc.Name)
		switch {
		case have == nil && sc.Version != 0, have != nil && have.Version != sc.Version:
			return store.Schedule{}, fmt.Errorf("schedule %s at version %d: %w", sc.Name, sc.Version, store.ErrChanged)
		case have == nil:
			stored.CreatedAt, stored.LastTick, stored.LastTask = s.now, time.Time{}, store.ID{}
		default:
			stored.CreatedAt, stored.LastTick, stored.LastTask = have.CreatedAt, have.LastTick, have.LastTask
			switch {
			case sc.Rule != have.Rule || sc.Zone != have.Zone:
				stored.LastTick = time.Time{}
			case !stored.LastTick.IsZero() && !sc.NextAt.IsZero() && !sc.NextAt.After(stored.LastTick):
				stored.NextAt = have.NextAt
			}
		}
		stored.Version++
		stored.UpdatedAt = s.now
		s.writeSchedule(&stored)
		return stored, nil
	})
}

// Schedule reads one.
func (s *Store) Schedule(ctx context.Context, name string) (sc store.Schedule, err error) {
	err = s.read(ctx, func(v *view) error {
		found := false
		err := v.rows("schedule_get", func(r *sqlite.Stmt) (err error) {
			found = true
			sc, err = readSchedule(r)
			return err
		}, name)
		if err == nil && !found {
			return fmt.Errorf("schedule %s: %w", name, store.ErrNotFound)
		}
		return err
	})
	return sc, err
}

// ScheduleList pages through all.
func (s *Store) ScheduleList(ctx context.Context, page store.PageRequest) (res store.Page[store.Schedule], err error) {
	err = s.read(ctx, func(v *view) error {
		cut := newCut[store.Schedule](page)
		err := v.rows("schedule_page", func(r *sqlite.Stmt) error {
			sc, err := readSchedule(r)
			cut.add(sc, sc.Name)
			return err
		}, page.Cursor, cut.limit+1)
		res = cut.page
		return err
	})
	return res, err
}

// DeleteSchedule removes one.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	return s.write(ctx, func(s *step) error {
		s.do("schedule_delete", name)
		return nil
	})
}

// DueSchedules lists those whose time has come.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, wait time.Duration, err error) {
	err = s.read(ctx, func(v *view) error {
		err := v.rows("schedule_due", func(r *sqlite.Stmt) error {
			sc, err := readSchedule(r)
			due = append(due, sc)
			return err
		}, v.now, max(limit, 1))
		if err != nil || len(due) > 0 {
			return err
		}
		return v.each("schedule_next", func(r *sqlite.Stmt) { wait = instant(r.ColumnInt64(0)).Sub(v.now) })
	})
	return due, wait, err
}

// Tick submits the task of one tick.
func (s *Store) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	return write(ctx, s, func(s *step) (store.TickResult, error) { return s.tick(req) })
}

func (s *step) tick(req store.TickRequest) (res store.TickResult, err error) {
	sc := s.schedule(req.Name)
	switch {
	case sc == nil:
		return res, fmt.Errorf("schedule %s: %w", req.Name, store.ErrNotFound)
	case sc.Paused || sc.Version != req.Version || !sc.LastTick.Equal(req.Last):
		return res, fmt.Errorf("schedule %s: %w", req.Name, store.ErrChanged)
	case req.Tick.After(s.now) || !req.Last.IsZero() && !req.Tick.After(req.Last):
		return res, fmt.Errorf("%w: tick %v of schedule %s lies in the future or not after the last", store.ErrInvalid, req.Tick, req.Name)
	}
	last := s.task(sc.LastTask)
	res.Overlapped = last != nil && !last.State.Terminal()
	if !req.Skip && (!res.Overlapped || sc.Overlap != store.OverlapSkip) {
		spec := sc.Task
		spec.ID = store.TickID(sc.Name, sc.Version, req.Tick)
		spec.Delay += req.Delay
		if sub := s.submit(spec, true); sub.Err == nil {
			res.Task, sc.LastTask = sub.ID, sub.ID
		}
	}
	sc.LastTick, sc.NextAt, sc.UpdatedAt = req.Tick.UTC(), req.Next.UTC(), s.now
	if req.Next.IsZero() {
		sc.NextAt = time.Time{}
	}
	s.writeSchedule(sc)
	return res, nil
}
