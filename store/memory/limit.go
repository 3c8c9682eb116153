package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// limit counts the running tasks of a limit key, whether or not a limit was set for it, and keeps the rates of one that was.
type limit struct {
	store.Limit
	set     bool
	running int
	tats    []time.Time // GCRA: the theoretical arrival time of each rate
}

func (d *data) limit(key string) *limit {
	l := d.limits[key]
	if l == nil {
		l = &limit{Limit: store.Limit{Key: key}}
		d.limits[key] = l
	}
	return l
}

// forgetLimit drops a count that nobody needs, so that idle keys cost nothing.
func (d *data) forgetLimit(l *limit) {
	if !l.set && l.running == 0 {
		delete(d.limits, l.Key)
	}
}

// opens tells until when the limit of a task is closed; zero: it is open. A full limit opens at no known time.
func (d *data) opens(t *task) time.Time {
	l := d.limits[t.Limit]
	if t.Limit == "" || l == nil || !l.set {
		return time.Time{}
	}
	if l.Running > 0 && l.running >= l.Running {
		return never
	}
	if t.Charged {
		return time.Time{}
	}
	return l.ratesOpen(d.now)
}

// never is later than any time.
var never = time.Unix(1<<40, 0)

func (l *limit) ratesOpen(now time.Time) time.Time {
	var opens time.Time
	for i, r := range l.Rates {
		step, burst := r.Pace()
		// A stored time that the clock does not allow is clamped: the clock was stepped back.
		if most := now.Add(burst); l.tats[i].After(most) {
			l.tats[i] = most
		}
		if at := l.tats[i].Add(step - burst); at.After(now) && at.After(opens) {
			opens = at
		}
	}
	return opens
}

// take gives a task its slot and charges the rates, once per start.
func (d *data) take(t *task) {
	if t.Order != store.Unordered {
		d.lines[lineOf(t)].running++
	}
	if t.Limit == "" {
		return
	}
	l := d.limit(t.Limit)
	l.running++
	if t.Charged || !l.set {
		return
	}
	t.Charged = len(l.Rates) > 0
	for i, r := range l.Rates {
		step, _ := r.Pace()
		if l.tats[i].Before(d.now) {
			l.tats[i] = d.now
		}
		l.tats[i] = l.tats[i].Add(step)
	}
}

// give takes a task's slot back.
func (d *data) give(t *task) {
	if t.Order != store.Unordered {
		d.lines[lineOf(t)].running--
		d.notice(store.Notice{Kind: store.NoticeWork, Queue: t.Queue})
	}
	if t.Limit == "" {
		return
	}
	l := d.limit(t.Limit)
	l.running--
	if l.set {
		d.noticeAll()
	}
	d.forgetLimit(l)
}

// PutLimit sets a limit.
func (s *Store) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Limit{}, err
	}
	defer leave()
	if err := l.Validate(); err != nil {
		return store.Limit{}, err
	}
	have := s.d.limit(l.Key)
	before := store.Limit{}
	if have.set {
		before = have.Limit
	}
	l.Rates = slices.Clone(l.Rates)
	tats := make([]time.Time, len(l.Rates))
	for i, r := range l.Rates {
		if at := slices.Index(have.Rates, r); at >= 0 {
			tats[i] = have.tats[at] // a rate that stays is not opened by being set again
		}
	}
	have.Limit, have.tats, have.set = l, tats, l.Running > 0 || len(l.Rates) > 0
	s.d.forgetLimit(have)
	s.d.noticeAll()
	return before, nil
}

// LimitList lists limits and their use.
func (s *Store) LimitList(ctx context.Context, keys ...string) ([]store.LimitStatus, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.LimitStatus
	if len(keys) == 0 {
		keys = slices.Collect(maps.Keys(s.d.limits))
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if l := s.d.limits[key]; l != nil && l.set {
			list = append(list, s.d.limitStatus(l))
		}
	}
	return list, nil
}

func (d *data) limitStatus(l *limit) store.LimitStatus {
	st := store.LimitStatus{Limit: l.Limit, InUse: l.running}
	st.Rates = slices.Clone(l.Rates)
	if opens := l.ratesOpen(d.now); !opens.IsZero() {
		st.Opens = opens.Sub(d.now)
	}
	return st
}
