package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// What becomes of ticks that nobody was there to drive.
const (
	CatchUpLast = ""     // the last one that was missed is made up for
	CatchUpAll  = "all"  // every one is
	CatchUpNone = "none" // none is: a tick later than tickGrace passes without a task
)

const (
	tickGrace  = time.Minute
	tickAtOnce = 100 // ticks of one schedule that one pass submits
	scheduleAt = 30 * time.Second
)

// PutSchedule stores a schedule (Version 0: a new one; otherwise it replaces the one of that version) and returns it. Ticks
// are submitted by whichever process comes first, each once.
func (k *Kernel) PutSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	if err := store.CheckName("schedule", s.Name); err != nil {
		return s, err
	}
	rule, err := parseRule(s.Rule)
	if err != nil {
		return s, err
	}
	switch s.CatchUp {
	case CatchUpLast, CatchUpAll, CatchUpNone:
	default:
		return s, fmt.Errorf("%w: CatchUp is %q; use all, none or nothing", store.ErrInvalid, s.CatchUp)
	}
	s.Task.ID = store.TickID(s.Name, 0, time.Time{})
	if s.Task, err = k.prepare(s.Task); err != nil {
		return s, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	err = k.ask(ctx, func(ctx context.Context) error {
		now, err := k.store.Now(ctx)
		if err != nil {
			return err
		}
		if s.NextAt.IsZero() {
			s.NextAt = rule.next(now)
		}
		stored, err := k.store.PutSchedule(ctx, s)
		if err == nil {
			s = stored
		}
		return err
	})
	k.tickNow.Notify()
	return s, wrap("put schedule "+s.Name, err)
}

// DeleteSchedule removes a schedule; tasks that it has submitted stay.
func (k *Kernel) DeleteSchedule(ctx context.Context, name string) error {
	return wrap("delete schedule "+name, k.ask(ctx, func(ctx context.Context) error { return k.store.DeleteSchedule(ctx, name) }))
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

// tickLoop drives schedules. Any number of processes may: Tick lets each tick happen once.
func (k *Kernel) tickLoop(ctx context.Context) {
	for ctx.Err() == nil {
		k.tickNow.Wait(ctx, k.tick(ctx))
	}
}

// tick drives what is due and returns how long nothing is.
func (k *Kernel) tick(ctx context.Context) time.Duration {
	var due []Schedule
	var wait time.Duration
	var now time.Time
	err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
		if due, wait, err = k.store.DueSchedules(ctx, 100); err != nil || len(due) == 0 {
			return err
		}
		now, err = k.store.Now(ctx)
		return err
	})
	if err != nil {
		return k.jitter(time.Second)
	}
	again := time.Duration(0)
	for _, s := range due {
		if err := k.drive(ctx, s, now); err != nil {
			k.log.Error("schedule not driven", "schedule", s.Name, "err", err)
			again = k.jitter(time.Second)
		}
	}
	if len(due) > 0 {
		return again
	}
	if wait <= 0 {
		return scheduleAt
	}
	return min(wait, scheduleAt)
}

// drive submits the ticks of one schedule that have come. Another driver may be ahead: that is no error.
func (k *Kernel) drive(ctx context.Context, s Schedule, now time.Time) error {
	rule, err := parseRule(s.Rule)
	if err != nil {
		return err
	}
	ticks := missed(rule, s, now)
	for i, at := range ticks {
		last := i == len(ticks)-1
		req := store.TickRequest{Name: s.Name, Version: s.Version, Last: s.LastTick, Tick: at, Next: rule.next(at), Delay: share(s, at)}
		switch s.CatchUp {
		case CatchUpLast:
			req.Skip = !last
		case CatchUpNone:
			req.Skip = now.Sub(at) > tickGrace
		}
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {
			_, err := k.store.Tick(ctx, req)
			return err
		})
		if errors.Is(err, store.ErrChanged) {
			return nil
		}
		if err != nil {
			return err
		}
		s.LastTick = at
	}
	return nil
}

// missed lists the ticks that have come and were not driven, oldest first. Those that nobody wants are passed over in one go.
func missed(rule rule, s Schedule, now time.Time) []time.Time {
	var ticks []time.Time
	at := s.NextAt
	for !at.After(now) {
		ticks = append(ticks, at)
		at = rule.next(at)
		if len(ticks) <= tickAtOnce {
			continue
		}
		if s.CatchUp == CatchUpAll {
			return ticks[:tickAtOnce]
		}
		ticks = append(ticks[:0], rule.last(now)) // one jump over a long outage
		break
	}
	return ticks
}

// rule computes ticks.
type rule struct{ every time.Duration }

// parseRule reads "every 5m": ticks at the multiples of the duration since 1970, in UTC.
func parseRule(text string) (rule, error) {
	spec, ok := strings.CutPrefix(text, "every ")
	if !ok {
		return rule{}, fmt.Errorf("%w: the rule %.80q is not known; write it as \"every 5m\"", store.ErrInvalid, text)
	}
	d, err := time.ParseDuration(strings.TrimSpace(spec))
	if err != nil || d < time.Second {
		return rule{}, fmt.Errorf("%w: the rule %.80q needs a duration of at least 1s, as in \"every 5m\"", store.ErrInvalid, text)
	}
	return rule{d}, nil
}

// next returns the first tick after t.
func (r rule) next(t time.Time) time.Time { return r.last(t).Add(r.every) }

// last returns the last tick that is not after t.
func (r rule) last(t time.Time) time.Time {
	return time.Unix(0, t.UnixNano()-t.UnixNano()%int64(r.every)).UTC()
}

// share returns how much of a schedule's jitter a tick gets: the same for every driver.
func share(s Schedule, tick time.Time) time.Duration {
	if s.Jitter <= 0 {
		return 0
	}
	id := store.TickID(s.Name, s.Version, tick)
	return time.Duration(binary.BigEndian.Uint64(id[8:]) % uint64(s.Jitter))
}
