package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Bounds of one page of a list, and of what is looked through for it.
const (
	pageRows   = 50
	findTime   = 40 * time.Millisecond
	findChunk  = 250
	sampleFew  = 300
	sampleMost = 500
)

// found is a page of tasks.
type found struct {
	Tasks  []kernel.Task
	Cursor string // of the next page; empty: there is none
	Looked int    // tasks that were looked through; 0: none in vain
	Short  bool   // the search stopped for its time: there may be more further on
}

// list lists tasks without ever looking through all that is stored: where the store has an order for what is asked, by that; else it
// looks through the newest, as many as a moment allows, and tells where it stopped.
func (q *request) list(ctx context.Context, f kernel.Filter, page kernel.PageRequest) (found, error) {
	if direct(&f) {
		p, err := q.newest(ctx, f, page)
		return found{Tasks: p.Items, Cursor: p.Cursor}, err
	}
	var out found
	until := time.Now().Add(findTime)
	chunk := kernel.PageRequest{Cursor: page.Cursor, Oldest: page.Oldest, Limit: findChunk}
	among := kernel.Filter{Group: f.Group}
	for {
		p, err := q.newest(ctx, among, chunk)
		if err != nil {
			return out, err
		}
		for i, t := range p.Items {
			out.Looked++
			if !fits(&f, &t) {
				continue
			}
			// Members of a group are not listed by id: a page of them ends where a chunk does.
			if out.Tasks = append(out.Tasks, t); len(out.Tasks) >= page.Limit && f.Group.IsZero() {
				if i < len(p.Items)-1 || p.Cursor != "" {
					out.Cursor = q.behind(t.ID, page.Oldest)
				}
				return out, nil
			}
		}
		if chunk.Cursor = p.Cursor; p.Cursor == "" {
			return out, nil
		}
		if len(out.Tasks) >= page.Limit {
			out.Cursor = p.Cursor
			return out, nil
		}
		if !strings.HasPrefix(chunk.Cursor, made) && beyond(&f, page.Oldest, p.Items) {
			if page.Oldest {
				return out, nil
			}
			chunk.Cursor = made // those whose ids tell no time may be younger
		}
		if time.Now().After(until) {
			out.Cursor, out.Short = chunk.Cursor, true
			return out, nil
		}
	}
}

// made marks the cursor of a list that has passed all ids that tell their time.
const made = "made/"

// newest lists tasks as kernel.List does, save that newest first means by time. Ids that were made of others (of the rows of a batch, of callbacks, of ticks)
// tell no time and would come first, as most of them are larger: they come last.
func (q *request) newest(ctx context.Context, f kernel.Filter, page kernel.PageRequest) (kernel.TaskPage, error) {
	if page.Oldest || !f.Group.IsZero() || !f.Parent.IsZero() || f.Worker != "" || f.Unique != "" {
		return q.h.k.List(ctx, f, page)
	}
	first := q.latest()
	rest, second := strings.CutPrefix(page.Cursor, made)
	if second {
		page.Cursor, page.Limit = rest, min(page.Limit, pageRows) // where they end is only seen by reading beyond
		p, err := q.h.k.List(ctx, f, page)
		if i := slices.IndexFunc(p.Items, func(t kernel.Task) bool { return t.ID.String() <= first.String() }); i >= 0 {
			p.Items, p.Cursor = p.Items[:i], "" // these came first
		}
		if p.Cursor != "" {
			p.Cursor = made + p.Cursor
		}
		return p, err
	}
	if page.Cursor == "" {
		page.Cursor = first.String()
	}
	p, err := q.h.k.List(ctx, f, page)
	if err != nil || p.Cursor != "" {
		return p, err
	}
	page.Cursor = made
	if len(p.Items) == 0 {
		return q.newest(ctx, f, page)
	}
	page.Limit = 1
	more, err := q.newest(ctx, f, page)
	if len(more.Items) > 0 {
		p.Cursor = made
	}
	return p, err
}

// latest is an id larger than all that tell their time: the clocks of those who made them may be ahead, though not by a day.
func (q *request) latest() (id kernel.ID) {
	ms := uint64(q.now.Truncate(24 * time.Hour).Add(48 * time.Hour).UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// behind is the cursor of what comes after a task.
func (q *request) behind(id kernel.ID, oldest bool) string {
	if text := id.String(); !oldest && text > q.latest().String() {
		return made + text
	}
	return id.String()
}

// direct reports whether the store finds what is asked for without looking at much else.
func direct(f *kernel.Filter) bool {
	only := len(f.Kinds) == 0 && f.Queue == "" && len(f.Labels) == 0 && f.Before.IsZero() && f.After.IsZero()
	switch {
	case !f.Group.IsZero():
		return only && len(f.States) == 0 && f.Parent.IsZero() && f.Worker == ""
	case !f.Parent.IsZero(), f.Worker != "", f.Unique != "":
		return true
	case len(f.States) == 0:
		return only
	}
	return only && len(f.States) == 1 && f.States[0] == "failed"
}

// beyond reports whether nothing further on can have been created in time.
func beyond(f *kernel.Filter, oldest bool, items []kernel.Task) bool {
	if len(items) == 0 {
		return true
	}
	if !f.Group.IsZero() {
		return false
	}
	last := items[len(items)-1].CreatedAt
	const slack = time.Minute // ids are made by clients, whose clocks differ
	if oldest {
		return !f.Before.IsZero() && last.After(f.Before.Add(slack))
	}
	return !f.After.IsZero() && last.Before(f.After.Add(-slack))
}

// fits reports whether a task is one of those that are asked for.
func fits(f *kernel.Filter, t *kernel.Task) bool {
	for k, v := range f.Labels {
		if have, ok := t.Labels[k]; !ok || have != v {
			return false
		}
	}
	return (len(f.States) == 0 || slices.Contains(f.States, t.State)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, t.Kind)) &&
		(f.Queue == "" || f.Queue == t.Queue) &&
		(f.Worker == "" || f.Worker == t.Worker) &&
		(f.Parent.IsZero() || f.Parent == t.Parent) &&
		(f.Before.IsZero() || t.CreatedAt.Before(f.Before)) &&
		(f.After.IsZero() || t.CreatedAt.After(f.After))
}

// names lists the kinds and queues that are known: those that workers serve, and those of the statistics of the last hour. To ask the store
// for its queues would be to have them counted.
func (q *request) names(ctx context.Context) (kinds, queues []string, err error) {
	ahead(ctx, q.lately(60), asks(q.workers))
	ms, err := q.minutes(ctx, 60)
	if err != nil {
		return nil, nil, err
	}
	ws, err := q.workers(ctx)
	if err != nil {
		return nil, nil, err
	}
	ofKind, ofQueue := map[string]bool{}, map[string]bool{}
	for _, m := range ms {
		ofKind[m.Kind], ofQueue[m.Queue] = true, true
	}
	for _, w := range ws {
		for _, k := range w.Info.Kinds {
			ofKind[k] = true
		}
		for name := range w.Info.Slots {
			ofQueue[name] = true
		}
	}
	delete(ofKind, "")
	delete(ofQueue, "")
	return slices.Sorted(maps.Keys(ofKind)), slices.Sorted(maps.Keys(ofQueue)), nil
}

// kinds lists the kinds that are known.
func (q *request) kinds(ctx context.Context) ([]string, error) {
	kinds, _, err := q.names(ctx)
	return kinds, err
}

// search reads the one field in which anything may be written: an id goes to its page, name=value is a label, a worker's name its tasks; all else is
// a kind.
func (q *request) search(ctx context.Context, f filter) (filter, error) {
	text := strings.TrimLeft(f.Search, "/ ")
	f.Search = ""
	if id, err := kernel.ParseID(text); err == nil && text != "" {
		return f, q.whereIs(ctx, id)
	}
	switch {
	case strings.Contains(text, "="):
		f.Label = text
	case strings.Count(text, ":") >= 2:
		f.Worker = text
	case slices.Contains(states, kernel.TaskState(strings.ToLower(text))):
		f.States = []string{strings.ToLower(text)}
	default:
		f.Kind = text
		known, err := q.kinds(ctx)
		if err != nil {
			return f, err
		}
		if !slices.Contains(known, text) {
			f.Kind = text + "*"
		}
	}
	return f, goneTo{f.Link()}
}

// whereIs sends the reader to what an id names.
func (q *request) whereIs(ctx context.Context, id kernel.ID) error {
	if _, err := q.h.k.Get(ctx, id); err == nil {
		return goneTo{"/task/" + id.String()}
	}
	if _, err := q.h.k.Group(ctx, id); err == nil {
		return goneTo{"/batch/" + id.String()}
	}
	return goneTo{"/task/" + id.String()} // which says that there is none
}
