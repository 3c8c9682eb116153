package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task.
func (s *Store) Get(ctx context.Context, id store.ID) (found store.Task, err error) {
	err = s.glance(ctx, func(v *view) error {
		t, err := v.find(id)
		if err == nil {
			found = t.Task
		}
		return err
	})
	return found, err
}

// List pages through tasks.
func (s *Store) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	if f.Unique != "" && len(f.Kinds) != 1 {
		return store.Page[store.Task]{}, fmt.Errorf("%w: a filter by unique key needs exactly one kind", store.ErrInvalid)
	}
	from, err := listCursor(&f, page)
	if err != nil {
		return store.Page[store.Task]{}, err
	}
	cut := newCut[store.Task](page)
	err = s.read(ctx, func(v *view) error {
		for {
			full, seen := false, 0
			name, args := listQuery(&f, page, from)
			err := v.each(name, func(r *sqlite.Stmt) {
				seen++
				from.id, from.line = idOf(r, 1), r.ColumnInt64(26)
				if !full && matches(&f, r) {
					full = !listOne(cut, readTask(r), &f, page)
				}
			}, append(args, cut.limit+1)...)
			if err != nil || full || seen <= cut.limit {
				return err
			}
		}
	})
	return cut.page, err
}

// listOne adds a task to a page if its labels match, and reports whether there is room for another.
func listOne(c *cut[store.Task], t *task, f *store.Filter, page store.PageRequest) bool {
	for k, v := range f.Labels {
		if have, ok := t.Labels[k]; !ok || have != v {
			return true
		}
	}
	if !page.Payload {
		t.Args, t.Result, t.History = nil, nil, nil
	}
	key := t.ID.String()
	if !f.Group.IsZero() {
		key = fmt.Sprintf("%020d %s", t.Line, t.ID)
	}
	return c.add(t.Task, key)
}

// place is where a list goes on.
type place struct {
	id   store.ID
	line int64
}

func listCursor(f *store.Filter, page store.PageRequest) (from place, err error) {
	text := page.Cursor
	switch {
	case !f.Group.IsZero() && text == "":
		return place{line: -1 << 63}, nil
	case !f.Group.IsZero():
		line, id, _ := strings.Cut(text, " ")
		if from.line, err = strconv.ParseInt(line, 10, 64); err != nil {
			return from, fmt.Errorf("%w: cursor %.60q is not one of this list", store.ErrInvalid, text)
		}
		text = id
	case text == "" && !page.Oldest:
		return place{id: lastID}, nil
	}
	from.id, err = store.ParseID(text)
	return from, err
}

// lastID comes after all others.
var lastID = store.ID(slices.Repeat([]byte{0xff}, 16))

// listQuery chooses the index that a list goes by.
func listQuery(f *store.Filter, page store.PageRequest, from place) (string, []any) {
	way := "_newest"
	if page.Oldest {
		way = "_oldest"
	}
	switch {
	case !f.Group.IsZero():
		return "list_group", []any{f.Group, from.line, from.id}
	case f.Unique != "":
		return "list_unique" + way, []any{f.Kinds[0], f.Unique, from.id}
	case !f.Parent.IsZero():
		return "list_parent" + way, []any{f.Parent, from.id}
	case f.Worker != "":
		return "list_worker" + way, []any{f.Worker, from.id}
	case len(f.States) == 1 && f.States[0] == store.Failed:
		return "list_failed" + way, []any{from.id}
	}
	return "list_all" + way, []any{from.id}
}

// matches looks at the columns of a row alone; labels are inside the record.
func matches(f *store.Filter, r *sqlite.Stmt) bool {
	state, created := stateOf(r.ColumnInt(2)), instant(r.ColumnInt64(5))
	switch {
	case len(f.States) > 0 && !slices.Contains(f.States, state) && (state != store.Running || !slices.Contains(f.States, store.Ending)),
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.ColumnText(9)),
		f.Queue != "" && f.Queue != r.ColumnText(8),
		!f.Group.IsZero() && f.Group != idOf(r, 13),
		!f.Parent.IsZero() && f.Parent != idOf(r, 12),
		f.Worker != "" && f.Worker != r.ColumnText(14),
		f.Unique != "" && f.Unique != r.ColumnText(11),
		!f.Before.IsZero() && !created.Before(f.Before),
		!f.After.IsZero() && !created.After(f.After):
		return false
	}
	return true
}

// Queues counts what waits.
func (s *Store) Queues(ctx context.Context) (list []store.QueueStatus, err error) {
	err = s.read(ctx, func(v *view) error {
		err := v.each("queue_list", func(r *sqlite.Stmt) {
			q := store.QueueStatus{
				Queue: r.ColumnText(0), Ready: r.ColumnInt64(2), Scheduled: r.ColumnInt64(3), Parked: r.ColumnInt64(4), Running: r.ColumnInt64(5),
			}
			for _, n := range []*int64{&q.Ready, &q.Scheduled, &q.Parked, &q.Running} {
				*n = min(*n, store.CountLimit)
			}
			list = append(list, q)
		})
		if err != nil {
			return err
		}
		pauses, err := v.pauses()
		for i := range list {
			q := &list[i]
			q.Paused = paused(pauses, v.now, q.Queue, "", "")
			if err == nil && q.Ready > 0 {
				err = v.each("queue_oldest", func(r *sqlite.Stmt) { q.OldestAt = instant(r.ColumnInt64(0)) }, q.Queue, store.CountLimit)
			}
		}
		return err
	})
	return list, err
}

// Stats lists the minutes in [from, until).
func (s *Store) Stats(ctx context.Context, from, until time.Time) (list []store.Minute, err error) {
	err = s.read(ctx, func(v *view) error {
		return v.each("minute_list", func(r *sqlite.Stmt) {
			list = append(list, store.Minute{
				At: instant(r.ColumnInt64(0)), Queue: r.ColumnText(1), Kind: r.ColumnText(2),
				Submitted: r.ColumnInt64(3), Claimed: r.ColumnInt64(4), Done: r.ColumnInt64(5), Failed: r.ColumnInt64(6),
				Cancelled: r.ColumnInt64(7), Retried: r.ColumnInt64(8), Crashed: r.ColumnInt64(9),
				Waited: time.Duration(r.ColumnInt64(10)), Ran: time.Duration(r.ColumnInt64(11)),
			})
		}, from, until)
	})
	return list, err
}
