package storetest

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// edit changes a Spec before it is submitted.
type edit func(s *store.Spec)

func (w *world) spec(edits ...edit) store.Spec {
	s := store.Spec{ID: w.id(), Kind: kind, Queue: queue, Retention: w.units(60), Retry: store.Retry{Max: 5}}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func (w *world) specs(n int, edits ...edit) []store.Spec {
	specs := make([]store.Spec, n)
	for i := range specs {
		specs[i] = w.spec(edits...)
	}
	return specs
}

// submit stores what has to be stored.
func (w *world) submit(specs ...store.Spec) []store.Submitted {
	w.t.Helper()
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs})
	w.ok("Submit", err)
	for i, s := range res.Specs {
		if s.Err != nil {
			w.t.Fatalf("Submit of item %d = %v, want no error", i, s.Err)
		}
	}
	return res.Specs
}

// try submits one Spec that may be refused.
func (w *world) try(s store.Spec) store.Submitted {
	w.t.Helper()
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}})
	w.ok("Submit", err)
	if len(res.Specs) != 1 {
		w.t.Fatalf("Submit answered %d items, want 1", len(res.Specs))
	}
	return res.Specs[0]
}

// put submits one task and returns its id.
func (w *world) put(edits ...edit) store.ID {
	w.t.Helper()
	s := w.spec(edits...)
	w.submit(s)
	return s.ID
}

// group creates a group with its first members and seals it if it asks for that.
func (w *world) group(g store.NewGroup, members ...store.Spec) store.ID {
	w.t.Helper()
	if g.ID.IsZero() {
		g.ID = w.id()
	}
	for i := range members {
		members[i].Group = g.ID
	}
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{g}, Specs: members})
	w.ok("Submit", err)
	w.ok("Submit of the group", res.Groups[0])
	for _, s := range res.Specs {
		w.ok("Submit of a member", s.Err)
	}
	return g.ID
}

func (w *world) readGroup(id store.ID) store.Group {
	w.t.Helper()
	g, err := w.st.Group(w.ctx(), id)
	w.ok("Group", err)
	return g
}

func (w *world) get(id store.ID) store.Task {
	w.t.Helper()
	task, err := w.st.Get(w.ctx(), id)
	w.ok("Get", err)
	return task
}

// exists reports whether there is such a task.
func (w *world) exists(id store.ID) bool {
	w.t.Helper()
	_, err := w.st.Get(w.ctx(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		w.t.Fatalf("Get = %v, want a task or ErrNotFound", err)
	}
	return err == nil
}

// in checks where a task stands, and returns it.
func (w *world) in(id store.ID, want store.State) store.Task {
	w.t.Helper()
	task := w.get(id)
	if task.Read() != want {
		w.t.Fatalf("state = %q (reason %q), want %q", task.Read(), task.Reason, want)
	}
	return task
}

// reason checks where a task stands and why.
func (w *world) reason(id store.ID, state store.State, reason string) store.Task {
	w.t.Helper()
	task := w.in(id, state)
	if task.Reason != reason {
		w.t.Errorf("reason = %q, want %q", task.Reason, reason)
	}
	return task
}

// same checks that the record of a task is what it was.
func (w *world) same(before store.Task) {
	w.t.Helper()
	after := w.get(before.ID)
	if !sameTask(&before, &after) {
		w.t.Errorf("the record changed:\n got %+v\nwant %+v", after, before)
	}
}

// promote runs Promote until nothing is ripe, and sums up.
func (w *world) promote() store.PromoteResult {
	w.t.Helper()
	var sum store.PromoteResult
	for range 10_000 {
		res, err := w.st.Promote(w.ctx(), 0)
		w.ok("Promote", err)
		sum.Due += res.Due
		sum.Freed += res.Freed
		sum.Expired += res.Expired
		sum.Aborted += res.Aborted
		sum.Marked += res.Marked
		sum.Next = res.Next
		if !res.More {
			return sum
		}
	}
	w.t.Fatalf("Promote still says More after 10,000 passes")
	return sum
}

// prune runs Prune until it removes nothing.
func (w *world) prune() int {
	w.t.Helper()
	sum := 0
	for {
		n, err := w.st.Prune(w.ctx(), 0)
		w.ok("Prune", err)
		if n == 0 {
			return sum
		}
		sum += n
	}
}

func (w *world) cancel(id store.ID) store.State {
	w.t.Helper()
	state, err := w.st.Cancel(w.ctx(), id, "")
	w.ok("Cancel", err)
	return state
}

func (w *world) load(id store.ID, names ...string) map[string][]byte {
	w.t.Helper()
	entries, err := w.st.Load(w.ctx(), id, names...)
	w.ok("Load", err)
	return entries
}

func (w *world) send(task store.ID, name string) store.ID {
	w.t.Helper()
	id := w.id()
	w.ok("Send", w.st.Send(w.ctx(), store.Message{ID: id, Task: task, Name: name, Body: []byte(name)}))
	return id
}

func (w *world) limit(l store.Limit) {
	w.t.Helper()
	_, err := w.st.PutLimit(w.ctx(), l)
	w.ok("PutLimit", err)
}

// inUse reads how many slots of a limit are taken.
func (w *world) inUse(key string) int {
	w.t.Helper()
	list, err := w.st.LimitList(w.ctx())
	w.ok("LimitList", err)
	for _, l := range list {
		if l.Key == key {
			return l.InUse
		}
	}
	w.t.Fatalf("LimitList lacks %q", key)
	return 0
}

// list reads every page of a filter.
func (w *world) list(f store.Filter) []store.Task {
	w.t.Helper()
	var all []store.Task
	page := store.PageRequest{Oldest: true, Limit: 1000}
	for {
		p, err := w.st.List(w.ctx(), f, page)
		w.ok("List", err)
		all = append(all, p.Items...)
		if p.Cursor == "" {
			return all
		}
		page.Cursor = p.Cursor
	}
}

func ids(tasks []store.Task) []store.ID {
	out := make([]store.ID, len(tasks))
	for i, t := range tasks {
		out[i] = t.ID
	}
	return out
}

func specIDs(specs []store.Spec) []store.ID {
	out := make([]store.ID, len(specs))
	for i, s := range specs {
		out[i] = s.ID
	}
	return out
}

// sameIDs checks a sequence of ids.
func (w *world) sameIDs(what string, got, want []store.ID) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// sameTask compares two records by what they say, not by how an engine spells nothing (nil or empty) and time zones.
func sameTask(a, b *store.Task) bool {
	return reflect.DeepEqual(plainTask(a), plainTask(b))
}

func plainTask(t *store.Task) store.Task {
	c := t.Clone()
	c.Spec = plainSpec(c.Spec)
	for _, at := range []*time.Time{
		&c.CreatedAt, &c.ReadyAt, &c.StartedAt, &c.DeadlineAt, &c.StartByAt, &c.EndedAt, &c.UpdatedAt, &c.ExpireAt, &c.Progress.At,
	} {
		*at = plainTime(*at)
	}
	c.Result = plainBytes(c.Result)
	if c.Error != nil {
		c.Error.Detail = plainBytes(c.Error.Detail)
	}
	for i := range c.History {
		c.History[i].At = plainTime(c.History[i].At)
	}
	if len(c.History) == 0 {
		c.History = nil
	}
	return c
}

func plainSpec(s store.Spec) store.Spec {
	s.DueAt = plainTime(s.DueAt)
	s.Args = plainBytes(s.Args)
	s.Labels = maps.Clone(s.Labels)
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	if s.OnEnd != nil {
		end := plainSpec(*s.OnEnd)
		s.OnEnd = &end
	}
	return s
}

// plainTime is UTC, to the microsecond: what every engine can keep.
func plainTime(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Round(time.Microsecond)
}

func plainBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
