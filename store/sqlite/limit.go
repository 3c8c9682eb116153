package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// limit counts the running tasks of a limit key, whether or not a limit was set for it, and keeps the rates of one that was.
type limit struct {
	store.Limit
	set     bool
	running int
	tats    []time.Time // GCRA: the theoretical arrival time of each rate
	dirty   bool
}

// never is later than any time.
var never = time.Unix(1<<40, 0)

func readLimit(r *sqlite.Stmt) (*limit, error) {
	l := &limit{Limit: store.Limit{Key: r.ColumnText(0)}, running: r.ColumnInt(2)}
	if conf := r.ColumnText(1); conf != "" {
		l.set = true
		if err := json.Unmarshal([]byte(conf), &l.Limit); err != nil {
			return nil, err
		}
	}
	return l, json.Unmarshal([]byte(r.ColumnText(3)), &l.tats)
}

// limit returns the row of a limit key; nil if there is none.
func (s *step) limit(key string) *limit {
	l, ok := s.limits[key]
	if !ok {
		s.query("limit_get", func(r *sqlite.Stmt) {
			var err error
			if l, err = readLimit(r); err != nil {
				s.fail(err)
			}
		}, key)
		s.limits[key] = l
	}
	return l
}

// limitRow returns the row of a limit key, and makes one if there is none.
func (s *step) limitRow(key string) *limit {
	l := s.limit(key)
	if l == nil {
		l = &limit{Limit: store.Limit{Key: key}}
		s.limits[key] = l
	}
	l.dirty = true
	return l
}

// writeLimit writes a row that has changed. A count that nobody needs is dropped, so that idle keys cost nothing.
func (s *step) writeLimit(l *limit) {
	if l == nil || !l.dirty {
		return
	}
	l.dirty = false
	if !l.set && l.running == 0 {
		s.do("limit_delete", l.Key)
		return
	}
	conf := ""
	if l.set {
		conf = s.json(l.Limit)
	}
	s.do("limit_put", l.Key, conf, l.running, s.json(l.tats))
}

func (s *step) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		s.fail(err)
	}
	return string(b)
}

// opens tells until when a limit is closed for a task that was, or was not, charged; zero: it is open. A full limit opens at
// no known time.
func (s *step) opens(key string, charged bool) time.Time {
	if key == "" {
		return time.Time{}
	}
	l := s.limit(key)
	switch {
	case l == nil || !l.set:
		return time.Time{}
	case l.Running > 0 && l.running >= l.Running:
		return never
	case charged:
		return time.Time{}
	}
	return l.ratesOpen(s.now)
}

func (l *limit) ratesOpen(now time.Time) time.Time {
	var opens time.Time
	for i, r := range l.Rates {
		step, burst := r.Pace()
		// A stored time that the clock does not allow is clamped: the clock was stepped back.
		if most := now.Add(burst); l.tats[i].After(most) {
			l.tats[i], l.dirty = most, true
		}
		if at := l.tats[i].Add(step - burst); at.After(now) && at.After(opens) {
			opens = at
		}
	}
	return opens
}

// take gives a task its slot and charges the rates, once per start.
func (s *step) take(t *task) {
	if t.Limit == "" {
		return
	}
	l := s.limitRow(t.Limit)
	l.running++
	if t.Charged || !l.set {
		return
	}
	t.Charged = len(l.Rates) > 0
	for i, r := range l.Rates {
		step, _ := r.Pace()
		if l.tats[i].Before(s.now) {
			l.tats[i] = s.now
		}
		l.tats[i] = l.tats[i].Add(step)
	}
}

// give takes a task's slot back.
func (s *step) give(t *task) {
	if t.Order != store.Unordered {
		s.hints.work(t.Queue)
	}
	if t.Limit == "" {
		return
	}
	l := s.limitRow(t.Limit)
	l.running = max(l.running-1, 0)
	if l.set {
		s.hints.everything()
	}
}

// PutLimit sets a limit.
func (s *Store) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	if err := l.Validate(); err != nil {
		return store.Limit{}, err
	}
	return write(ctx, s, func(s *step) (before store.Limit, err error) {
		have := s.limitRow(l.Key)
		if have.set {
			before = have.Limit
		}
		tats := make([]time.Time, len(l.Rates))
		for i, r := range l.Rates {
			if at := slices.Index(have.Rates, r); at >= 0 {
				tats[i] = have.tats[at] // a rate that stays is not opened by being set again
			}
		}
		have.Limit, have.tats, have.set = l, tats, l.Running > 0 || len(l.Rates) > 0
		have.Rates = slices.Clone(l.Rates)
		s.hints.everything()
		return before, nil
	})
}

// LimitList lists limits and their use.
func (s *Store) LimitList(ctx context.Context, keys ...string) (list []store.LimitStatus, err error) {
	err = s.read(ctx, func(v *view) error {
		add := func(r *sqlite.Stmt) error {
			l, err := readLimit(r)
			if err == nil && l.set {
				list = append(list, v.status(l))
			}
			return err
		}
		if len(keys) == 0 {
			return v.rows("limit_list", add)
		}
		for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
			if err := v.rows("limit_get", add, key); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

func (v *view) status(l *limit) store.LimitStatus {
	st := store.LimitStatus{Limit: l.Limit, InUse: l.running}
	if opens := l.ratesOpen(v.now); !opens.IsZero() {
		st.Opens = opens.Sub(v.now)
	}
	if l.dirty {
		v.met = append(v.met, l.Key)
	}
	return st
}

// clampRates writes what a read has met: rates further ahead than the clock allows, since it was stepped back.
func (s *Store) clampRates(ctx context.Context, keys []string) error {
	return s.write(ctx, func(s *step) error {
		for _, key := range keys {
			if l := s.limit(key); l != nil && l.set {
				l.ratesOpen(s.now)
			}
		}
		return nil
	})
}
