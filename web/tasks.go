package web

import (
	"context"
	"slices"

	"github.com/outlast-go/outlast/kernel"
)

type tasksView struct {
	Filter      filter
	Form        []field // the filter without its cursor, for forms that act on all that match
	States      []kernel.TaskState
	Kinds       []string
	Queues      []string
	Rows        []taskRow
	Next, First string
	Looked      int
	Short       bool
	Verbs       []bulkVerb
	Error       string
}

// taskRow is a task in a list.
type taskRow struct {
	kernel.Task
	Shown kernel.TaskState
	Note  string // its error, or how far it is
	Bad   bool   // the note is an error
}

type bulkVerb struct{ Verb, Label string }

func (q *request) row(t kernel.Task) taskRow {
	r := taskRow{Task: t, Shown: t.Read()}
	switch {
	case t.Error != nil && t.State != "done":
		r.Note, r.Bad = t.Error.Message, true
	case t.Progress.Note != "":
		r.Note = t.Progress.Note
	case t.Reason != "":
		r.Note = t.Reason
	}
	return r
}

func (q *request) rows(tasks []kernel.Task) []taskRow {
	list := make([]taskRow, len(tasks))
	for i, t := range tasks {
		list[i] = q.row(t)
	}
	return list
}

func tasksPage(ctx context.Context, q *request, _ string) (*page, error) {
	f := readFilter(q.r.URL.Query())
	if f.Search != "" {
		_, err := q.search(ctx, f)
		return nil, err
	}
	known, queues, err := q.names(ctx)
	if err != nil {
		return nil, err
	}
	d := tasksView{Filter: f, States: states, Kinds: known, Queues: queues, Verbs: bulkVerbs(f.States)}
	if f.Queue != "" && !slices.Contains(d.Queues, f.Queue) {
		d.Queues = append(d.Queues, f.Queue)
	}
	p := &page{Title: "Tasks", Nav: "tasks", Name: "tasks"}
	kf, err := f.kernel(known)
	if err != nil {
		d.Error = err.Error()
		p.D = d
		return p, nil
	}
	got, err := q.listStates(ctx, kf, kernel.PageRequest{Cursor: f.Cursor, Limit: pageRows, Oldest: f.Oldest})
	if err != nil {
		return nil, err
	}
	d.Rows, d.Looked, d.Short = q.rows(got.Tasks), got.Looked, got.Short
	first := f
	first.Cursor = ""
	if f.Cursor != "" {
		d.First = first.Link()
	}
	if f.Cursor = got.Cursor; f.Cursor != "" {
		d.Next = f.Link()
	}
	for name, values := range first.values() {
		for _, v := range values {
			d.Form = append(d.Form, field{"f." + name, v})
		}
	}
	p.D = d
	return p, nil
}

// listStates lists tasks; those that run are found by the workers that run them.
func (q *request) listStates(ctx context.Context, f kernel.Filter, page kernel.PageRequest) (found, error) {
	if !slices.Equal(f.States, []kernel.TaskState{"running"}) || f.Worker != "" || !f.Group.IsZero() || !f.Parent.IsZero() || page.Cursor != "" {
		return q.list(ctx, f, page)
	}
	workers, err := q.workers(ctx)
	if err != nil || len(workers) > 20 {
		return q.list(ctx, f, page)
	}
	var out found
	for _, w := range workers {
		p, err := q.h.k.List(ctx, kernel.Filter{Worker: w.ID}, kernel.PageRequest{Limit: 4 * page.Limit, Oldest: page.Oldest})
		if err != nil {
			return out, err
		}
		for _, t := range p.Items {
			if fits(&f, &t) {
				out.Tasks = append(out.Tasks, t)
			}
		}
	}
	slices.SortFunc(out.Tasks, func(a, b kernel.Task) int {
		if page.Oldest {
			return slices.Compare(a.ID[:], b.ID[:])
		}
		return slices.Compare(b.ID[:], a.ID[:])
	})
	if len(out.Tasks) > page.Limit {
		out.Tasks = out.Tasks[:page.Limit]
		out.Cursor = q.behind(out.Tasks[page.Limit-1].ID, page.Oldest)
	}
	return out, nil
}

// bulkVerbs are what can be done to tasks of the states that are shown.
func bulkVerbs(shown []string) []bulkVerb {
	has := func(names ...string) bool {
		return len(shown) == 0 || slices.ContainsFunc(shown, func(s string) bool { return slices.Contains(names, s) })
	}
	var list []bulkVerb
	if has("failed", "cancelled") {
		list = append(list, bulkVerb{"retry", "Retry"})
	}
	if has("scheduled", "ready", "running", "parked", "held") {
		list = append(list, bulkVerb{"cancel", "Cancel"})
	}
	if has("held") {
		list = append(list, bulkVerb{"free", "Free"})
	}
	if has("failed", "cancelled", "done") {
		list = append(list, bulkVerb{"delete", "Delete"})
	}
	return list
}
