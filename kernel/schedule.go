package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/outlast-go/outlast/internal/cron"
	"github.com/outlast-go/outlast/store"
)

// What becomes of ticks that nobody was there to drive.
const (
	CatchUpLast = ""     // the last one that was missed is made up for
	CatchUpAll  = "all"  // every one is
	CatchUpNone = "none" // none is: a tick that comes more than a minute late passes without a task
)

// What a tick does while the task of the tick before has not ended.
const (
	OverlapSkip  = store.OverlapSkip  // it passes without a task
	OverlapQueue = store.OverlapQueue // its task waits until the one before has ended
	OverlapAllow = store.OverlapAllow // its task runs beside the one before
)

// ScheduleLabel is the label by which the tasks of a schedule are found: its value is the schedule's name.
const ScheduleLabel = "schedule"

// PutSchedule stores a schedule (Version 0: a new one; otherwise it replaces the one of that version) and returns it. Ticks
// are submitted by whichever process comes first, each once. The Rule is "every 5m", "at 2026-11-15T10:00:00Z" or cron with five or
// six fields, in its Zone (UTC if empty): a time that clocks leap over ticks once, and so does one that they show twice. NextAt, if it
// is later than the next tick would be, is the time before which none comes. ErrInvalid says what is wrong with the rule, the zone
// or the task; ErrChanged that another version stands.
func (k *Kernel) PutSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	if err := store.CheckName("schedule", s.Name); err != nil {
		return s, err
	}
	var have *Schedule
	if s.Version != 0 {
		stored, err := k.Schedule(ctx, s.Name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return s, err
		}
		if err == nil {
			have = &stored
		}
	}
	return k.putSchedule(ctx, s, have)
}

// putSchedule stores a schedule where have stands, or nothing does.
func (k *Kernel) putSchedule(ctx context.Context, s Schedule, have *Schedule) (Schedule, error) {
	rule, err := k.checkSchedule(&s, have)
	if err != nil {
		return s, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	err = k.ask(ctx, func(ctx context.Context) error {
		now, err := k.store.Now(ctx)
		if err != nil {
			return err
		}
		put := s
		if put.NextAt = firstTick(rule, s, have, now); put.NextAt.IsZero() && have == nil {
			return fmt.Errorf("%w: the rule %.80q has no tick after %v", store.ErrInvalid, s.Rule, now.Format(time.RFC3339))
		}
		stored, err := k.store.PutSchedule(ctx, put)
		if err == nil {
			s = stored
		}
		return err
	})
	k.tickNow.Notify()
	return s, wrap("put schedule "+s.Name, err)
}

// checkSchedule says what of a schedule cannot be, and makes its task ready to be stored, unless it stands already.
func (k *Kernel) checkSchedule(s, have *Schedule) (cron.Rule, error) {
	rule, err := cron.Parse(s.Rule, s.Zone)
	if err != nil {
		return rule, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	switch s.CatchUp {
	case CatchUpLast, CatchUpAll, CatchUpNone:
	default:
		return rule, fmt.Errorf("%w: CatchUp is %q; use all, none or nothing", store.ErrInvalid, s.CatchUp)
	}
	if have != nil && s.Overlap == have.Overlap && reflect.DeepEqual(s.Task, have.Task) {
		return rule, s.Validate() // what is stored has its defaults, and is sealed
	}
	s.Task.ID = store.TickID(s.Name, 0, time.Time{})
	labels := map[string]string{ScheduleLabel: s.Name}
	for name, value := range s.Task.Labels {
		labels[name] = value
	}
	s.Task.Labels = labels
	if s.Overlap == OverlapQueue && s.Task.Order == store.Unordered {
		s.Task.Order = store.OrderSkip
		if s.Task.Lane == "" {
			s.Task.Lane = "schedule/" + s.Name
		}
	}
	if s.Task, err = k.prepare(s.Task); err != nil {
		return rule, err
	}
	return rule, s.Validate()
}

// firstTick is when the next tick of a schedule comes that is about to be stored.
func firstTick(rule cron.Rule, s Schedule, have *Schedule, now time.Time) time.Time {
	switch {
	case have == nil, s.Rule != have.Rule, s.Zone != have.Zone, have.Paused && !s.Paused: // what passed before it was resumed is not missed
		if have == nil && s.NextAt.After(now) {
			now = s.NextAt.Add(-1)
		}
		return rule.Next(now)
	case s.NextAt.After(have.NextAt) && !have.NextAt.IsZero():
		return rule.Next(s.NextAt.Add(-1))
	}
	return have.NextAt
}

// DeclareSchedule says that a schedule is part of this program: it is created if there is none of its name, and replaced if this
// declaration is another one than the last; every process may declare it each time it starts. The same declaration again changes nothing,
// so what was edited at run time stands until the program itself changes; a pause stands in any case.
func (k *Kernel) DeclareSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	digest := scheduleDigest(s)
	for {
		have, err := k.Schedule(ctx, s.Name)
		switch {
		case err == nil && have.Declared == digest:
			return have, nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return have, err
		}
		next := s
		next.Version, next.Paused, next.Declared = have.Version, have.Paused || s.Paused, digest
		stands := &have
		if have.Version == 0 {
			stands = nil
		}
		put, err := k.putSchedule(ctx, next, stands)
		if !errors.Is(err, store.ErrChanged) || ctx.Err() != nil { // else another process was faster
			return put, err
		}
	}
}

// scheduleDigest tells declarations apart: by all that a program says of one.
func scheduleDigest(s Schedule) string {
	said, err := json.Marshal(Schedule{Rule: s.Rule, Zone: s.Zone, CatchUp: s.CatchUp, Overlap: s.Overlap, Jitter: s.Jitter, Task: s.Task, NextAt: s.NextAt})
	if err != nil {
		panic(err) // it is made of strings, numbers and bytes
	}
	return store.DeriveID("schedule", string(said)).String()
}

// EditSchedule changes a stored schedule: fn is called with what stands, again if another was faster, and what it leaves is
// stored. Its error is returned, and then nothing has changed. Tasks that the schedule has submitted stay as they are.
func (k *Kernel) EditSchedule(ctx context.Context, name string, fn func(*Schedule) error) (Schedule, error) {
	for {
		have, err := k.Schedule(ctx, name)
		if err != nil {
			return have, err
		}
		s := have
		s.Task = cloneSpec(have.Task)
		if err := fn(&s); err != nil {
			return have, err
		}
		s.Name, s.Version = have.Name, have.Version
		s, err = k.putSchedule(ctx, s, &have)
		if !errors.Is(err, store.ErrChanged) || ctx.Err() != nil {
			return s, err
		}
	}
}

func cloneSpec(s Spec) Spec { t := Task{Spec: s}; return t.Clone().Spec }

// PauseSchedule keeps a schedule from ticking until it is resumed. What passes meanwhile is not missed: nothing makes up for it.
func (k *Kernel) PauseSchedule(ctx context.Context, name string) error {
	return k.pauseSchedule(ctx, name, true)
}

// ResumeSchedule lets a paused schedule tick again, from its next tick on.
func (k *Kernel) ResumeSchedule(ctx context.Context, name string) error {
	return k.pauseSchedule(ctx, name, false)
}

func (k *Kernel) pauseSchedule(ctx context.Context, name string, paused bool) error {
	_, err := k.EditSchedule(ctx, name, func(s *Schedule) error {
		s.Paused = paused
		return nil
	})
	return err
}

// DeleteSchedule removes a schedule; tasks that it has submitted stay.
func (k *Kernel) DeleteSchedule(ctx context.Context, name string) error {
	return wrap("delete schedule "+name, k.ask(ctx, func(ctx context.Context) error { return k.store.DeleteSchedule(ctx, name) }))
}

// Schedule reads one. ErrNotFound if there is none.
func (k *Kernel) Schedule(ctx context.Context, name string) (Schedule, error) {
	var s Schedule
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		s, err = k.store.Schedule(ctx, name)
		return err
	})
	return s, wrap("read schedule "+name, err)
}

// Schedules pages through all schedules, by name.
func (k *Kernel) Schedules(ctx context.Context, page store.PageRequest) (store.Page[Schedule], error) {
	var p store.Page[Schedule]
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.ScheduleList(ctx, page)
		return err
	})
	return p, wrap("list schedules", err)
}

// Ticks lists the next n ticks of a rule after a time; fewer if no more come.
func Ticks(rule, zone string, after time.Time, n int) ([]time.Time, error) {
	r, err := cron.Parse(rule, zone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if n < 1 || n > 10_000 {
		return nil, fmt.Errorf("%w: %d ticks were asked for; ask for 1 to 10,000", store.ErrInvalid, n)
	}
	var ticks []time.Time
	for range n {
		if after = r.Next(after); after.IsZero() {
			break
		}
		ticks = append(ticks, after)
	}
	return ticks, nil
}

// ScheduleStatus is a schedule, when it ticks next, and whether anybody would run what it submits.
type ScheduleStatus struct {
	Schedule
	Next []time.Time // none if it is paused, or has no tick any more
	// Served reports whether a living worker runs tasks of its kind and queue. If none does, its tasks are kept, and wait.
	Served bool
}

// ScheduleStatus tells the next n ticks of a schedule, and whether its kind is served.
func (k *Kernel) ScheduleStatus(ctx context.Context, name string, n int) (ScheduleStatus, error) {
	s, err := k.Schedule(ctx, name)
	if err != nil {
		return ScheduleStatus{}, err
	}
	st := ScheduleStatus{Schedule: s}
	if !s.Paused && !s.NextAt.IsZero() {
		if st.Next, err = Ticks(s.Rule, s.Zone, s.NextAt.Add(-1), n); err != nil {
			return st, err
		}
	}
	workers, err := k.Workers(ctx)
	st.Served = slices.ContainsFunc(workers, func(w store.Worker) bool {
		return w.DeadAt.IsZero() && w.Info.Slots[s.Task.Queue] > 0 && slices.Contains(w.Info.Kinds, s.Task.Kind)
	})
	return st, err
}
