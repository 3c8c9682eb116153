package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

// scopeRequest names lanes.
type scopeRequest struct {
	Queue  string `json:"queue"`
	Kind   string `json:"kind"`
	Lane   string `json:"lane"`
	Reason []byte `json:"reason"`
	For    int64  `json:"for"`
	Weight int    `json:"weight"`
}

// Pause keeps claims away from a scope.
func (s *Store) Pause(ctx context.Context, scope store.Scope, d time.Duration, reason string) error {
	req := scopeRequest{Queue: scope.Queue, Kind: scope.Kind, Lane: scope.Lane, Reason: []byte(reason), For: bounded(max(d, 0))}
	return s.call(ctx, "put_pause", req, &answer{})
}

// Resume ends the pause of exactly this scope.
func (s *Store) Resume(ctx context.Context, scope store.Scope) error {
	return s.call(ctx, "resume", scopeRequest{Queue: scope.Queue, Kind: scope.Kind, Lane: scope.Lane}, &answer{})
}

// PauseList lists the pauses that stand.
func (s *Store) PauseList(ctx context.Context) (list []store.Pause, err error) {
	err = s.rows(ctx, "pause_list", func(r pgx.Rows) error {
		var p store.Pause
		var reason []byte
		var at int64
		var until *int64
		if err := r.Scan(&p.Scope.Queue, &p.Scope.Kind, &p.Scope.Lane, &reason, &at, &until); err != nil {
			return err
		}
		p.Reason, p.At, p.Until = string(reason), instant(&at), instant(until)
		list = append(list, p)
		return nil
	})
	return list, err
}

// PutWeight sets how many tasks lanes with this key give in a turn.
func (s *Store) PutWeight(ctx context.Context, queue, key string, weight int) error {
	return s.call(ctx, "put_weight", scopeRequest{Queue: queue, Lane: key, Weight: max(weight, 1)}, &answer{})
}

// LaneList pages through the lanes of a queue that have ready tasks.
func (s *Store) LaneList(ctx context.Context, name string, page store.PageRequest) (res store.Page[store.LaneStatus], err error) {
	limit := pageLimit(page)
	last := ""
	err = s.rows(ctx, "lane_list", func(r pgx.Rows) error {
		l := store.LaneStatus{Queue: name}
		var flag int16
		var laneName string
		var priority, weight int64
		var since *int64
		if err := r.Scan(&l.Kind, &l.Lane, &l.Limit, &flag, &laneName, &priority, &since, &l.Blocked, &weight, &l.Ready); err != nil {
			return err
		}
		if len(res.Items) == limit {
			res.Cursor = last
			return nil
		}
		last = laneName
		l.Ordered, l.Suspect = flag == 1 || flag == 2, flag == 2 || flag == 3
		l.Priority, l.Weight, l.OldestAt = int(priority), int(weight), instant(since)
		res.Items = append(res.Items, l)
		return nil
	}, name, page.Cursor, limit+1, store.CountLimit)
	return res, err
}

type limitRequest struct {
	Key    string       `json:"key"`
	Most   int          `json:"most"`
	Rates  []store.Rate `json:"rates"`
	Steps  []int64      `json:"steps"`
	Bursts []int64      `json:"bursts"`
	Said   bool         `json:"declared"`
}

// PutLimit sets a limit.
func (s *Store) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	if err := s.begin(ctx); err != nil {
		return store.Limit{}, err
	}
	if err := l.Validate(); err != nil {
		return store.Limit{}, err
	}
	req := limitRequest{Key: l.Key, Most: l.Running, Rates: l.Rates, Steps: []int64{}, Bursts: []int64{}, Said: l.Declared}
	if req.Rates == nil {
		req.Rates = []store.Rate{}
	}
	for _, r := range l.Rates {
		step, burst := r.Pace()
		req.Steps = append(req.Steps, bounded(step))
		req.Bursts = append(req.Bursts, bounded(burst))
	}
	var got struct {
		answer
		Set   bool         `json:"set"`
		Most  int          `json:"most"`
		Rates []store.Rate `json:"rates"`
		Said  bool         `json:"declared"`
	}
	if err := s.call(ctx, "put_limit", req, &got); err != nil || !got.Set {
		return store.Limit{}, err
	}
	before := store.Limit{Key: l.Key, Running: got.Most, Declared: got.Said}
	if len(got.Rates) > 0 {
		before.Rates = got.Rates
	}
	return before, nil
}

// LimitList lists limits and their use.
func (s *Store) LimitList(ctx context.Context, keys ...string) (list []store.LimitStatus, err error) {
	err = s.rows(ctx, "limit_list", func(r pgx.Rows) error {
		l, err := readLimit(r)
		list = append(list, l)
		return err
	}, append([]string{}, keys...))
	return list, err
}

func readLimit(r pgx.Rows) (l store.LimitStatus, err error) {
	var most, running, opens int64
	var rates []byte
	if err := r.Scan(&l.Key, &most, &rates, &running, &opens, &l.Declared); err != nil {
		return l, err
	}
	l.Running, l.InUse, l.Opens = int(most), int(running), time.Duration(opens)
	if err := json.Unmarshal(rates, &l.Rates); err != nil {
		return l, err
	}
	if len(l.Rates) == 0 {
		l.Rates = nil
	}
	return l, nil
}

// rows runs a query that changes nothing, and calls fn for each row.
func (s *Store) rows(ctx context.Context, name string, fn func(pgx.Rows) error, args ...any) error {
	return s.read(ctx, func(ctx context.Context, c querier) error { return each(ctx, c, s.q.get(name), fn, args...) })
}

func each(ctx context.Context, c querier, query string, fn func(pgx.Rows) error, args ...any) error {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return forEach(rows, fn)
}

// forEach calls fn for each row, and closes them.
func forEach(rows pgx.Rows, fn func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
