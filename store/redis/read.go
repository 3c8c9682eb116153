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

// listChunk is how many tasks a list reads at a time, listLook how many it looks at for them, and listLive how many in a state that is
// still to change are found at once.
const (
	listChunk = 500
	listLook  = 1000
	listLive  = 5000
)

// List pages through tasks. Those in a state that few are in are found where these stand; a filter that no index serves looks at the state,
// kind and queue of every task, piece by piece.
func (s *Store) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	if f.Unique != "" && len(f.Kinds) != 1 {
		return store.Page[store.Task]{}, fmt.Errorf("%w: a filter by unique key needs exactly one kind", store.ErrInvalid)
	}
	from, err := listCursor(&f, page)
	if err != nil {
		return store.Page[store.Task]{}, err
	}
	l := listing{f: &f, page: page, index: listIndex(&f), from: from, newest: f.Group.IsZero() && !page.Oldest}
	if l.index == indexAll {
		if l.ids, l.live, err = s.live(ctx, &l); err != nil {
			return store.Page[store.Task]{}, err
		}
	}
	limit := pageLimit(page)
	var found []store.Task
	for chunk := min(limit+1, listChunk); ; chunk = min(4*chunk, listChunk) {
		tasks, more, err := s.listPiece(ctx, &l, chunk)
		if err != nil {
			return store.Page[store.Task]{}, err
		}
		for i := range tasks {
			if t := &tasks[i]; matches(&f, t) {
				found = append(found, shown(t, page.Payload))
			}
		}
		if !more || len(found) > limit {
			return cutPage(found, limit, func(t store.Task) string { return listKey(&f, &t) }), nil
		}
	}
}

// listing is a List under way: by an index from somewhere on, or by the ids of those that are left.
type listing struct {
	f      *store.Filter
	page   store.PageRequest
	index  string
	from   string
	newest bool
	live   bool
	ids    []string
}

// look is how many tasks are looked at for so many that match.
func (l *listing) look(chunk int) int {
	if len(l.f.States) == 0 && len(l.f.Kinds) == 0 && l.f.Queue == "" {
		return chunk
	}
	return min(4*chunk, listLook)
}

// listPiece reads the next tasks of a list that may match, up to so many, and reports whether there may be more.
func (s *Store) listPiece(ctx context.Context, l *listing, chunk int) ([]store.Task, bool, error) {
	n := 0
	if l.live {
		if n = min(chunk, len(l.ids)); n == 0 {
			return nil, false, nil
		}
	}
	r, err := s.run(ctx, "list", func(o *object) {
		if l.live {
			o.key("ids").str(strings.Join(l.ids[:n], ""))
		} else {
			o.key("index").str(l.index)
			o.key("from").str(l.from)
			o.bool("newest", l.newest)
			o.key("look").int(int64(l.look(chunk)))
		}
		o.key("limit").int(int64(chunk))
		packWanted(o, l.f)
		o.bool("payload", l.page.Payload)
	})
	if err != nil {
		return nil, false, err
	}
	tasks, err := readTasks(r.list("list"))
	last := r.str("last")
	if !l.live {
		l.from = last
		return tasks, last != "", err
	}
	if last != "" { // not all of them fitted into one answer
		n = slices.Index(l.ids, last) + 1
	}
	l.ids = l.ids[n:]
	return tasks, len(l.ids) > 0, err
}

// packWanted writes what the script can tell of whether a task matches. Of a group, a parent, a worker or a key it reads all: they are few, or
// most of them match.
func packWanted(o *object, f *store.Filter) {
	packTexts := func(name string, list []string) {
		if len(list) == 0 {
			return
		}
		p := o.key(name)
		p.array(len(list))
		for _, text := range list {
			p.str(text)
		}
	}
	var states []string
	for _, state := range f.States {
		if state == store.Ending {
			state = store.Running
		}
		states = append(states, string(state))
	}
	packTexts("states", states)
	packTexts("kinds", f.Kinds)
	o.str("queue", f.Queue)
}

// live finds the ids of tasks in the states of a filter, in the order of a list and from its cursor on; false: the index of all has to be gone
// through.
func (s *Store) live(ctx context.Context, l *listing) ([]string, bool, error) {
	if len(l.f.States) == 0 {
		return nil, false, nil
	}
	for _, state := range l.f.States {
		switch state {
		case store.Ready, store.Running, store.Ending, store.Scheduled, store.Parked, store.Failed:
		default:
			return nil, false, nil
		}
	}
	r, err := s.run(ctx, "live", func(o *object) {
		inner := o.key("states").object()
		for _, state := range l.f.States {
			if state == store.Ending {
				state = store.Running
			}
			inner.bool(string(state), true)
		}
		inner.close()
		o.str("queue", l.f.Queue)
		o.key("most").int(listLive)
	})
	if err != nil || r.bool("many") {
		return nil, false, err
	}
	all := r.str("ids")
	ids := make([]string, 0, len(all)/16)
	for ; len(all) >= 16; all = all[16:] {
		if id := all[:16]; l.from == "" || l.newest && id < l.from || !l.newest && id > l.from {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if l.newest {
		slices.Reverse(ids)
	}
	return ids, true, nil
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
