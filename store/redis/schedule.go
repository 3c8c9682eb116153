package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/store"
)

// nanos writes an instant exactly: ticks are compared, and ids are made of them. Empty is none.
func nanos(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func fromNanos(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// frozen is what of a schedule no script looks at.
type frozen struct {
	Rule, Zone, CatchUp string
	Overlap             store.Overlap
	Jitter              time.Duration
	Declared            string
}

// PutSchedule creates or replaces a schedule.
func (s *Store) PutSchedule(ctx context.Context, sc store.Schedule) (store.Schedule, error) {
	if err := sc.Validate(); err != nil {
		return store.Schedule{}, err
	}
	item, err := json.Marshal(frozen{sc.Rule, sc.Zone, sc.CatchUp, sc.Overlap, sc.Jitter, sc.Declared})
	if err != nil {
		return store.Schedule{}, fmt.Errorf("%w: schedule %s: %w", store.ErrInvalid, sc.Name, err)
	}
	spec := sc.Task
	spec.ID = store.ID{} // set by Tick
	r, err := s.run(ctx, "put_schedule", func(o *object) {
		o.key("name").str(sc.Name)
		o.key("version").int(sc.Version)
		o.key("rule").str(sc.Rule + "\x00" + sc.Zone)
		o.key("item").str(string(item))
		o.key("task").str(string(packSpec(&spec)))
		o.str("overlap", string(sc.Overlap))
		o.bool("paused", sc.Paused)
		o.str("nextat", nanos(sc.NextAt))
		o.int("next", micros(sc.NextAt))
	})
	if err != nil {
		return store.Schedule{}, err
	}
	return readSchedule(sc.Name, r.str("record"))
}

func readSchedule(name, raw string) (sc store.Schedule, err error) {
	r, err := unpack(raw)
	if err != nil {
		return sc, fmt.Errorf("schedule %s: %w", name, err)
	}
	var f frozen
	if err := json.Unmarshal([]byte(r.str("item")), &f); err != nil {
		return sc, fmt.Errorf("schedule %s: %w", name, err)
	}
	spec, err := unpackSpec(r.str("task"))
	if err != nil {
		return sc, fmt.Errorf("schedule %s: %w", name, err)
	}
	return store.Schedule{
		Name: name, Rule: f.Rule, Zone: f.Zone, CatchUp: f.CatchUp, Overlap: f.Overlap, Jitter: f.Jitter, Paused: r.bool("paused"), Declared: f.Declared, Task: spec,
		Version: r.int("version"), LastTick: fromNanos(r.str("last")), NextAt: fromNanos(r.str("nextat")), LastTask: idOf(r["lasttask"]),
		CreatedAt: instant(r.int("made")), UpdatedAt: instant(r.int("upd")),
	}, nil
}

func readSchedules(list []any) ([]store.Schedule, error) {
	var all []store.Schedule
	for i := 0; i+1 < len(list); i += 2 {
		sc, err := readSchedule(text(list[i]), text(list[i+1]))
		if err != nil {
			return nil, err
		}
		all = append(all, sc)
	}
	return all, nil
}

// Schedule reads one.
func (s *Store) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	r, err := s.run(ctx, "schedules", func(o *object) { o.key("name").str(name) })
	if err != nil {
		return store.Schedule{}, err
	}
	list, err := readSchedules(r.list("list"))
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("schedule %s: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return store.Schedule{}, err
	}
	return list[0], nil
}

// ScheduleList pages through all.
func (s *Store) ScheduleList(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error) {
	limit := pageLimit(page)
	r, err := s.run(ctx, "schedules", func(o *object) {
		o.key("after").str(page.Cursor)
		o.key("limit").int(int64(limit + 1))
	})
	if err != nil {
		return store.Page[store.Schedule]{}, err
	}
	list, err := readSchedules(r.list("list"))
	return cutPage(list, limit, func(sc store.Schedule) string { return sc.Name }), err
}

// DeleteSchedule removes one.
func (s *Store) DeleteSchedule(ctx context.Context, name string) error {
	return s.do(ctx, "delete_schedule", func(o *object) { o.key("name").str(name) })
}

// DueSchedules lists those whose time has come.
func (s *Store) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Duration, error) {
	r, err := s.run(ctx, "schedules", func(o *object) {
		o.bool("due", true)
		o.key("limit").int(int64(min(max(limit, 1), stepLimit)))
	})
	if err != nil {
		return nil, 0, err
	}
	due, err := readSchedules(r.list("list"))
	wait := time.Duration(0)
	if r.int("wait") > 0 {
		wait = span(r["wait"])
	}
	return due, wait, err
}

// Tick submits the task of one tick.
func (s *Store) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	id := store.TickID(req.Name, req.Version, req.Tick)
	r, err := s.run(ctx, "tick", func(o *object) {
		o.key("name").str(req.Name)
		o.key("version").int(req.Version)
		o.key("last").str(nanos(req.Last))
		o.key("tick").str(nanos(req.Tick))
		o.key("at").int(req.Tick.UnixMicro())
		o.bool("later", req.Last.IsZero() || req.Tick.After(req.Last))
		o.str("nextat", nanos(req.Next))
		o.int("next", micros(req.Next))
		o.key("delay").int(int64(req.Delay))
		o.bool("skip", req.Skip)
		o.key("id").str(string(id[:]))
		o.key("following").str(rawID(store.OnEndID(id, 0)))
		packErrors(o)
	})
	if err != nil {
		return store.TickResult{}, err
	}
	return store.TickResult{Task: idOf(r["task"]), Overlapped: r.bool("overlapped")}, nil
}
