package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/outlast-go/outlast/internal/cron"
	"github.com/outlast-go/outlast/store"
)

const (
	tickGrace  = time.Minute     // a tick that comes later was missed
	tickLate   = 5 * time.Second // ticks that come no later than this are driven all of them: it was their driver that was slow
	tickAtOnce = 100             // ticks of one schedule that one pass submits
	scheduleAt = 5 * time.Minute // a beat tells of what comes sooner than was known
)

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

// errNoTick says that a schedule is due by its record, and not by its rule: somebody wrote a time into it that is none of its ticks.
var errNoTick = errors.New("it is due, and no tick of its rule has come")

// drive submits the ticks of one schedule that have come. Another driver may be ahead: that is no error.
func (k *Kernel) drive(ctx context.Context, s Schedule, now time.Time) error {
	rule, err := cron.Parse(s.Rule, s.Zone)
	if err != nil {
		return err
	}
	ticks := missed(rule, s, now)
	if len(ticks) == 0 {
		return errNoTick
	}
	for _, at := range ticks {
		req := store.TickRequest{Name: s.Name, Version: s.Version, Last: s.LastTick, Tick: at, Next: rule.Next(at), Delay: share(s, at)}
		req.Skip = s.CatchUp == CatchUpNone && now.Sub(at) > tickGrace
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {
			_, err := k.store.Tick(ctx, req)
			return err
		})
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		s.LastTick = at
	}
	return nil
}

// missed lists the ticks that have come and were not driven, oldest first. Those that nobody wants are passed over in one jump.
func missed(rule cron.Rule, s Schedule, now time.Time) []time.Time {
	late, all := tickLate, s.CatchUp == CatchUpAll
	if s.CatchUp == CatchUpNone {
		late = tickGrace
	}
	at := s.NextAt
	if from := now.Add(-late); !all && at.Before(from) {
		if at = rule.Next(from.Add(-1)); at.IsZero() || at.After(now) {
			at = rule.Last(s.NextAt.Add(-1), now)
		}
	}
	if !at.After(s.LastTick) {
		at = rule.Next(s.LastTick)
	}
	var ticks []time.Time
	for ; !at.IsZero() && !at.After(now) && len(ticks) < tickAtOnce; at = rule.Next(at) {
		ticks = append(ticks, at)
	}
	return ticks
}

// share returns how much of a schedule's jitter a tick gets: the same for every driver.
func share(s Schedule, tick time.Time) time.Duration {
	if s.Jitter <= 0 {
		return 0
	}
	id := store.TickID(s.Name, s.Version, tick)
	return time.Duration(binary.BigEndian.Uint64(id[8:]) % uint64(s.Jitter))
}
