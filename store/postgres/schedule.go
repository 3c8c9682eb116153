package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

type scheduleRequest struct {
	Horizon int64     `json:"horizon"`
	Name    string    `json:"name"`
	Rule    []byte    `json:"rule"`
	Zone    []byte    `json:"zone"`
	CatchUp []byte    `json:"catch_up"`
	Overlap string    `json:"overlap"`
	Jitter  int64     `json:"jitter"`
	Paused  bool      `json:"paused"`
	Said    []byte    `json:"declared"`
	Task    *wireSpec `json:"task"`
	Version int64     `json:"version"`
	Next    *int64    `json:"next"`
}

// text is bytes that are never null.
func text(s string) []byte { return append([]byte{}, s...) }

// PutSchedule creates or replaces a schedule.
func (s *Store) PutSchedule(ctx context.Context, sc store.Schedule) (store.Schedule, error) {
	if err := s.begin(ctx); err != nil {
		return store.Schedule{}, err
	}
	if err := sc.Validate(); err != nil {
		return store.Schedule{}, err
	}
	req := scheduleRequest{
		Name: sc.Name, Rule: text(sc.Rule), Zone: text(sc.Zone), CatchUp: text(sc.CatchUp), Overlap: string(sc.Overlap), Jitter: int64(sc.Jitter),
		Paused: sc.Paused, Said: text(sc.Declared), Task: prepare(&sc.Task), Version: sc.Version, Next: nanos(sc.NextAt),
	}
	var got answer
	if err := s.call(ctx, "put_schedule", req, &got); err != nil {
		return store.Schedule{}, err
	}
	if got.Err != "" {
		return store.Schedule{}, fmt.Errorf("schedule %s at version %d: %w", sc.Name, sc.Version, store.ErrChanged)
	}
	return s.Schedule(ctx, sc.Name)
}

// Schedule reads one.
func (s *Store) Schedule(ctx context.Context, name string) (sc store.Schedule, err error) {
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		sc, err = readSchedule(c.QueryRow(ctx, s.q.get("schedule_get"), name))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Schedule{}, fmt.Errorf("schedule %s: %w", name, store.ErrNotFound)
	}
	return sc, err
}

func readSchedule(r pgx.Row) (sc store.Schedule, err error) {
	var rule, zone, catchUp, declared, task []byte
	var overlap string
	var jitter, created, updated int64
	var lastTick, next *int64
	var lastTask pgtype.UUID
	err = r.Scan(&sc.Name, &rule, &zone, &catchUp, &overlap, &jitter, &sc.Paused, &declared, &task, &sc.Version, &lastTick, &next, &lastTask, &created, &updated)
	if err != nil {
		return sc, err
	}
	sc.Rule, sc.Zone, sc.CatchUp, sc.Overlap, sc.Jitter = string(rule), string(zone), string(catchUp), store.Overlap(overlap), time.Duration(jitter)
	sc.Declared = string(declared)
	sc.LastTick, sc.NextAt, sc.LastTask = instant(lastTick), instant(next), lastTask.Bytes
	sc.CreatedAt, sc.UpdatedAt = instant(&created), instant(&updated)
	var w wireSpec
	if err := json.Unmarshal(task, &w); err != nil {
		return sc, fmt.Errorf("task of schedule %s: %w", sc.Name, err)
	}
	sc.Task, _ = w.spec()
	return sc, nil
}

// ScheduleList pages through all.
func (s *Store) ScheduleList(ctx context.Context, page store.PageRequest) (res store.Page[store.Schedule], err error) {
	limit := pageLimit(page)
	err = s.rows(ctx, "schedule_page", func(r pgx.Rows) error {
		sc, err := readSchedule(r)
		res.Items = append(res.Items, sc)
		return err
	}, page.Cursor, limit+1)
	if len(res.Items) > limit {
		res.Items = res.Items[:limit]
		res.Cursor = res.Items[limit-1].Name
	}
	return res, err
}

// DeleteSchedule removes one.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	return s.read(ctx, func(ctx context.Context, c querier) error {
		_, err := c.Exec(ctx, s.q.get("schedule_delete"), name)
		return err
	})
}

// DueSchedules lists those whose time has come.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, wait time.Duration, err error) {
	err = s.rows(ctx, "schedule_due", func(r pgx.Rows) error {
		sc, err := readSchedule(r)
		due = append(due, sc)
		return err
	}, max(limit, 1))
	if err != nil || len(due) > 0 {
		return due, 0, err
	}
	var next int64
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		return c.QueryRow(ctx, s.q.get("schedule_next")).Scan(&next)
	})
	return nil, time.Duration(max(next, 0)), err
}

type tickRequest struct {
	Horizon int64     `json:"horizon"`
	Name    string    `json:"name"`
	Version int64     `json:"version"`
	Last    *int64    `json:"last"`
	Tick    int64     `json:"tick"`
	Next    *int64    `json:"next"`
	Skip    bool      `json:"skip"`
	ID      wireID    `json:"id"`
	Task    *wireSpec `json:"task,omitempty"`
}

// Tick submits the task of one tick.
func (s *Store) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	wire := tickRequest{
		Horizon: int64(s.cfg.Timing.Horizon), Name: req.Name, Version: req.Version, Last: nanos(req.Last), Tick: req.Tick.UnixNano(),
		Next: nanos(req.Next), Skip: req.Skip, ID: wireID(store.TickID(req.Name, req.Version, req.Tick)),
	}
	if req.Delay > 0 {
		// Its share of the jitter stands in the task. The step compares the version, so it is this schedule's task or none.
		sc, err := s.Schedule(ctx, req.Name)
		if err != nil {
			return store.TickResult{}, err
		}
		sc.Task.Delay += req.Delay
		wire.Task = prepare(&sc.Task)
	}
	var got struct {
		answer
		Task       wireID `json:"task"`
		Overlapped bool   `json:"overlapped"`
	}
	if err := s.call(ctx, "tick", wire, &got); err != nil {
		return store.TickResult{}, err
	}
	switch got.Err {
	case "notfound":
		return store.TickResult{}, fmt.Errorf("schedule %s: %w", req.Name, store.ErrNotFound)
	case "changed":
		return store.TickResult{}, fmt.Errorf("schedule %s: %w", req.Name, store.ErrChanged)
	case "invalid":
		return store.TickResult{}, fmt.Errorf("%w: tick %v of schedule %s lies in the future or not after the last", store.ErrInvalid, req.Tick, req.Name)
	}
	return store.TickResult{Task: store.ID(got.Task), Overlapped: got.Overlapped}, nil
}
