package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task.
func (s *Store) Get(ctx context.Context, id store.ID) (store.Task, error) {
	r, err := s.run(ctx, "get", func(o *object) { o.key("id").str(string(id[:])) })
	if err != nil {
		return store.Task{}, err
	}
	tasks, err := readTasks(r.list("list"))
	if err != nil || len(tasks) != 1 {
		return store.Task{}, fmt.Errorf("task %s: %w", id, err)
	}
	return tasks[0], nil
}

// listChunk is how many tasks a list reads at a time; listAll, of which it looks at every one.
const listChunk = 500

// List pages through tasks. A filter that no index serves looks at every task, piece by piece.
func (s *Store) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	if f.Unique != "" && len(f.Kinds) != 1 {
		return store.Page[store.Task]{}, fmt.Errorf("%w: a filter by unique key needs exactly one kind", store.ErrInvalid)
	}
	from, err := listCursor(&f, page)
	if err != nil {
		return store.Page[store.Task]{}, err
	}
	limit := pageLimit(page)
	chunk := min(limit+1, listChunk)
	var found []store.Task
	for ; ; chunk = min(4*chunk, listChunk) { // where few match, many are looked at: in large pieces, however few are wanted
		r, err := s.run(ctx, "list", func(o *object) {
			o.key("index").str(listIndex(&f))
			o.key("from").str(from)
			o.bool("newest", f.Group.IsZero() && !page.Oldest)
			o.key("limit").int(int64(chunk))
			o.bool("payload", page.Payload)
		})
		if err != nil {
			return store.Page[store.Task]{}, err
		}
		tasks, err := readTasks(r.list("list"))
		if err != nil {
			return store.Page[store.Task]{}, err
		}
		for i := range tasks {
			if t := &tasks[i]; matches(&f, t) {
				found = append(found, shown(t, page.Payload))
			}
		}
		if from = r.str("last"); from == "" || len(found) > limit {
			return cutPage(found, limit, func(t store.Task) string { return listKey(&f, &t) }), nil
		}
	}
}

func shown(t *store.Task, payload bool) store.Task {
	if !payload {
		t.Args, t.Result, t.History = nil, nil, nil
	}
	return *t
}

func listKey(f *store.Filter, t *store.Task) string {
	if f.Group.IsZero() {
		return t.ID.String()
	}
	return fmt.Sprintf("%020d %s", t.Line, t.ID)
}

// listIndex chooses the index that a list goes by.
func listIndex(f *store.Filter) string {
	switch {
	case !f.Group.IsZero():
		return indexMember + rawID(f.Group)
	case f.Unique != "":
		return indexKeyed + f.Kinds[0] + "\x00" + f.Unique
	case !f.Parent.IsZero():
		return indexKids + rawID(f.Parent)
	case f.Worker != "":
		return indexHeld + f.Worker
	case len(f.States) == 1 && f.States[0] == store.Failed:
		return indexFailed
	}
	return indexAll
}

// listCursor is where a list goes on in its index.
func listCursor(f *store.Filter, page store.PageRequest) (string, error) {
	if page.Cursor == "" {
		return "", nil
	}
	if f.Group.IsZero() {
		id, err := store.ParseID(page.Cursor)
		return rawID(id), err
	}
	line, text, _ := strings.Cut(page.Cursor, " ")
	n, err := strconv.ParseInt(line, 10, 64)
	id, idErr := store.ParseID(text)
	if err != nil || idErr != nil {
		return "", fmt.Errorf("%w: cursor %.60q is not one of this list", store.ErrInvalid, page.Cursor)
	}
	return placeOf(n) + string(id[:]), nil
}

func matches(f *store.Filter, t *store.Task) bool {
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

// Queues counts what waits.
func (s *Store) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	r, err := s.run(ctx, "queues", func(*object) {})
	if err != nil {
		return nil, err
	}
	queues := map[string]*store.QueueStatus{}
	counts := r.list("counts")
	for i := 0; i+1 < len(counts); i += 2 {
		name, what, _ := strings.Cut(text(counts[i]), "\x00")
		n, _ := strconv.ParseInt(text(counts[i+1]), 10, 64)
		if queues[name] == nil {
			queues[name] = &store.QueueStatus{Queue: name}
		}
		countQueue(queues[name], what, min(max(n, 0), store.CountLimit))
	}
	for name, at := range r.map_("oldest") {
		if q := queues[name]; q != nil {
			q.OldestAt = instant(whole(at))
		}
	}
	for name := range r.map_("paused") {
		if q := queues[name]; q != nil {
			q.Paused = true
		}
	}
	var list []store.QueueStatus
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		list = append(list, *queues[name])
	}
	return list, nil
}

func countQueue(q *store.QueueStatus, what string, n int64) {
	switch store.State(what) {
	case store.Ready:
		q.Ready = n
	case store.Scheduled:
		q.Scheduled = n
	case store.Parked:
		q.Parked = n
	case store.Running:
		q.Running = n
	}
}

// Stats lists the minutes in [from, until).
func (s *Store) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	const minute = int64(time.Minute / time.Second)
	first := (from.Unix() + minute - 1) / minute
	if from.Nanosecond() > 0 && from.Unix()%minute == 0 {
		first++
	}
	last := (until.Unix() - 1) / minute
	if until.Nanosecond() > 0 {
		last = until.Unix() / minute
	}
	r, err := s.run(ctx, "stats", func(o *object) {
		o.key("from").int(first)
		o.key("to").int(last)
	})
	if err != nil {
		return nil, err
	}
	var all []store.Minute
	list := r.list("list")
	for i := 0; i+1 < len(list); i += 2 {
		counts, _ := list[i+1].([]any)
		all = append(all, readMinute(time.Unix(whole(list[i])*minute, 0).UTC(), counts)...)
	}
	return all, nil
}

// readMinute reads the counts of one minute, by queue and kind.
func readMinute(at time.Time, counts []any) []store.Minute {
	byName := map[string]*store.Minute{}
	for i := 0; i+1 < len(counts); i += 2 {
		parts := split(text(counts[i]))
		n, err := strconv.ParseInt(text(counts[i+1]), 10, 64)
		if len(parts) != 3 || err != nil {
			continue
		}
		name := parts[0] + "\x00" + parts[1]
		if byName[name] == nil {
			byName[name] = &store.Minute{At: at, Queue: parts[0], Kind: parts[1]}
		}
		add(byName[name], parts[2], n)
	}
	var list []store.Minute
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, *byName[name])
	}
	return list
}

func add(m *store.Minute, what string, n int64) {
	switch what {
	case "submitted":
		m.Submitted += n
	case "claimed":
		m.Claimed += n
	case "done":
		m.Done += n
	case "failed":
		m.Failed += n
	case "cancelled":
		m.Cancelled += n
	case "retried":
		m.Retried += n
	case "crashed":
		m.Crashed += n
	case "waited":
		m.Waited += time.Duration(n) * time.Microsecond
	case "ran":
		m.Ran += time.Duration(n) * time.Microsecond
	}
}
