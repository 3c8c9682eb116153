package memory

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task.
func (s *Store) Get(ctx context.Context, id store.ID) (store.Task, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Task{}, err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return store.Task{}, err
	}
	return t.Clone(), nil
}

// List pages through tasks.
func (s *Store) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Page[store.Task]{}, err
	}
	defer leave()
	if f.Unique != "" && len(f.Kinds) != 1 {
		return store.Page[store.Task]{}, fmt.Errorf("%w: a filter by unique key needs exactly one kind", store.ErrInvalid)
	}
	if !f.Group.IsZero() {
		return s.d.members(&f, page)
	}
	var list []*task
	for _, t := range s.d.tasks {
		if matches(&f, t) {
			list = append(list, t)
		}
	}
	show := func(t *task) store.Task { return shown(t, page.Payload) }
	if page.Oldest {
		return cut(list, page, func(t *task) string { return t.ID.String() }, show), nil
	}
	return cutNewest(list, page, func(t *task) string { return t.ID.String() }, show), nil
}

func shown(t *task, payload bool) store.Task {
	c := t.Clone()
	if !payload {
		c.Args, c.Result, c.History = nil, nil, nil
	}
	return c
}

// members pages through the members of a group, by line, then id. It costs what it passes over.
func (d *data) members(f *store.Filter, page store.PageRequest) (res store.Page[store.Task], err error) {
	g := d.groups[f.Group]
	if g == nil {
		return res, nil
	}
	line, id := int64(math.MinInt64), store.ID{}
	if page.Cursor != "" {
		first, rest, _ := strings.Cut(page.Cursor, " ")
		if line, err = strconv.ParseInt(first, 10, 64); err == nil {
			id, err = store.ParseID(rest)
		}
		if err != nil {
			return res, fmt.Errorf("%w: cursor %.60q is not one of this list", store.ErrInvalid, page.Cursor)
		}
	}
	limit := pageLimit(page)
	var last *task
	for _, t := range d.after(g, line, id) {
		if d.tasks[t.ID] != t || !matches(f, t) {
			continue
		}
		if len(res.Items) == limit {
			res.Cursor = fmt.Sprintf("%020d %s", last.Line, last.ID)
			break
		}
		res.Items, last = append(res.Items, shown(t, page.Payload)), t
	}
	return res, nil
}

func pageLimit(page store.PageRequest) int {
	if page.Limit <= 0 {
		return 100
	}
	return min(page.Limit, 1000)
}

func matches(f *store.Filter, t *task) bool {
	switch {
	case len(f.States) > 0 && !slices.Contains(f.States, t.State) && (t.State != store.Running || !slices.Contains(f.States, store.Ending)),
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, t.Kind),
		f.Queue != "" && f.Queue != t.Queue,
		!f.Group.IsZero() && f.Group != t.Group,
		!f.Parent.IsZero() && f.Parent != t.Parent,
		f.Worker != "" && f.Worker != t.Worker,
		f.Unique != "" && f.Unique != t.Unique.Key,
		!f.Before.IsZero() && !t.CreatedAt.Before(f.Before),
		!f.After.IsZero() && !t.CreatedAt.After(f.After):
		return false
	}
	for k, v := range f.Labels {
		if have, ok := t.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// cut sorts a list by its keys and takes the page after the cursor.
func cut[R, T any](list []R, page store.PageRequest, key func(R) string, show func(R) T) store.Page[T] {
	return pageOf(list, page, key, show, 1)
}

// cutNewest is cut from the other end.
func cutNewest[R, T any](list []R, page store.PageRequest, key func(R) string, show func(R) T) store.Page[T] {
	return pageOf(list, page, key, show, -1)
}

func pageOf[R, T any](list []R, page store.PageRequest, key func(R) string, show func(R) T, sign int) store.Page[T] {
	slices.SortFunc(list, func(a, b R) int { return sign * strings.Compare(key(a), key(b)) })
	limit := pageLimit(page)
	var res store.Page[T]
	last := ""
	for _, r := range list {
		if page.Cursor != "" && sign*strings.Compare(key(r), page.Cursor) <= 0 {
			continue
		}
		if len(res.Items) == limit {
			res.Cursor = last
			break
		}
		res.Items = append(res.Items, show(r))
		last = key(r)
	}
	return res
}

// Queues counts what waits.
func (s *Store) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	counts := map[string]*store.QueueStatus{}
	for _, t := range s.d.tasks {
		q := counts[t.Queue]
		if q == nil {
			q = &store.QueueStatus{Queue: t.Queue, Paused: s.d.paused(t.Queue, "", "")}
			counts[t.Queue] = q
		}
		switch t.State {
		case store.Ready:
			q.Ready++
			if q.OldestAt.IsZero() || t.ReadyAt.Before(q.OldestAt) {
				q.OldestAt = t.ReadyAt
			}
		case store.Scheduled:
			q.Scheduled++
		case store.Parked:
			q.Parked++
		case store.Running:
			q.Running++
		}
	}
	var list []store.QueueStatus
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		q := counts[name]
		for _, n := range []*int64{&q.Ready, &q.Scheduled, &q.Parked, &q.Running} {
			*n = min(*n, store.CountLimit)
		}
		list = append(list, *q)
	}
	return list, nil
}

type statKey struct {
	at          time.Time
	queue, kind string
}

// count adds to the minute's statistics of a task's queue and kind.
func (d *data) count(t *task, fn func(*store.Minute)) {
	k := statKey{d.now.Truncate(time.Minute), t.Queue, t.Kind}
	m := d.stats[k]
	if m == nil {
		m = &store.Minute{At: k.at, Queue: k.queue, Kind: k.kind}
		d.stats[k] = m
		d.minutes = append(d.minutes, k)
	}
	fn(m)
}

// pruneStats removes up to n statistics that are too old.
func (d *data) pruneStats(n int) (removed int) {
	for removed < n && len(d.minutes) > 0 && d.minutes[0].at.Before(d.now.Add(-store.StatsKept)) {
		delete(d.stats, d.minutes[0])
		d.minutes = d.minutes[1:]
		removed++
	}
	return removed
}

// Stats lists the minutes in [from, until).
func (s *Store) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Minute
	for k, m := range s.d.stats {
		if !k.at.Before(from) && k.at.Before(until) {
			list = append(list, *m)
		}
	}
	slices.SortFunc(list, func(a, b store.Minute) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Queue+"\x00"+a.Kind, b.Queue+"\x00"+b.Kind)
	})
	return list, nil
}

// Info tells what this store is.
func (s *Store) Info() store.Info {
	return store.Info{
		Engine: "memory", Namespace: s.d.cfg.Namespace, ID: s.d.id, Version: "1", Schema: 1, Evidence: s.d.cfg.Evidence,
		Survives: "nothing survives the end of the process", Volatile: true, Timing: s.d.cfg.Timing,
	}
}

// Now reads the store's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer leave()
	return s.d.now, nil
}
