package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Bounds of an action on all that match.
const (
	bulkMost = 10_000
	bulkTime = 20 * time.Second
	bulkCrew = 8
)

// askTasks is the question before an action on tasks.
func askTasks(label, text string, inputs ...input) func(f form) (question, error) {
	return func(f form) (question, error) {
		ids, err := f.ids()
		if err != nil {
			return question{}, err
		}
		q := question{Text: text, Label: label, Inputs: inputs}
		switch {
		case f.Get("cause") != "":
			q.Title = label + " all that failed of this cause?"
			q.Text += fmt.Sprintf(" At most %s at a time.", number(bulkMost))
		case f.Get("all") == "yes":
			q.Title = label + " all tasks that match?"
			q.Text = "Those that match: " + filterText(f.filter()) + ". " + text + fmt.Sprintf(" At most %s at a time.", number(bulkMost))
		case len(ids) == 0:
			return question{}, fmt.Errorf("%w: no task was chosen; tick some, or choose all that match", kernel.ErrInvalid)
		default:
			q.Title = fmt.Sprintf("%s %s?", label, plural(len(ids), "task", "tasks"))
		}
		return q, nil
	}
}

// filter is the filter of a list, as a form carries it.
func (f form) filter() filter {
	v := url.Values{}
	for name, values := range f.Values {
		if short, ok := strings.CutPrefix(name, "f."); ok {
			v[short] = values
		}
	}
	return readFilter(v)
}

func filterText(f filter) string {
	var parts []string
	v := f.values()
	for _, name := range []string{"state", "kind", "queue", "worker", "label", "unique", "group", "parent", "after", "before"} {
		if len(v[name]) > 0 {
			parts = append(parts, name+" "+strings.Join(v[name], " or "))
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

// onTask does something to one task, and returns whether it can be undone by a Retry.
type onTask func(ctx context.Context, f form, id kernel.ID) (undo bool, err error)

func retryTask(ctx context.Context, f form, id kernel.ID) (bool, error) {
	return false, f.q.h.k.Retry(ctx, id)
}

func cancelTask(ctx context.Context, f form, id kernel.ID) (bool, error) {
	s, err := f.q.h.k.Cancel(ctx, id, f.Get("reason"))
	return s == "cancelled", err
}

func freeTask(ctx context.Context, f form, id kernel.ID) (bool, error) {
	return false, f.q.h.k.Free(ctx, id)
}

func deleteTask(ctx context.Context, f form, id kernel.ID) (bool, error) {
	return false, f.q.h.k.Delete(ctx, id)
}

// tally is what became of many tasks.
type tally struct {
	mu      sync.Mutex
	done    int
	refused int   // no longer in a state that allows it, or gone
	err     error // the first that is neither
	undo    []string
}

func (t *tally) add(id kernel.ID, undo bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.done++
		if undo {
			t.undo = append(t.undo, id.String())
		}
	case errors.Is(err, kernel.ErrState), errors.Is(err, kernel.ErrNotFound), errors.Is(err, kernel.ErrDuplicate):
		t.refused++
	case t.err == nil:
		t.err = err
	}
}

// each does something to some tasks, a few at a time.
func (t *tally) each(ctx context.Context, f form, ids []kernel.ID, do onTask) {
	var crew sync.WaitGroup
	next := make(chan kernel.ID)
	for range min(bulkCrew, len(ids)) {
		crew.Go(func() {
			for id := range next {
				undo, err := do(ctx, f, id)
				t.add(id, undo, err)
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	crew.Wait()
}

// eachTask does something to the tasks that were chosen, or to all that match.
func eachTask(word string, do onTask) func(ctx context.Context, f form) (done, error) {
	return func(ctx context.Context, f form) (done, error) {
		ids, err := f.ids()
		if err != nil {
			return done{}, err
		}
		var t tally
		rest := false
		all := f.Get("all") == "yes" || f.Get("cause") != ""
		switch {
		case all:
			rest, err = f.all(ctx, &t, do)
		case len(ids) == 1:
			undo, err := do(ctx, f, ids[0])
			if err != nil {
				return done{}, err
			}
			t.add(ids[0], undo, nil)
		default:
			t.each(ctx, f, ids, do)
		}
		if err == nil {
			err = t.err
		}
		return t.told(f, word, rest, all), err
	}
}

// all goes through what matches, page by page, for a while.
func (f form) all(ctx context.Context, t *tally, do onTask) (rest bool, err error) {
	kf, cause, err := f.wanted(ctx)
	if err != nil {
		return false, err
	}
	until := time.Now().Add(bulkTime)
	page := kernel.PageRequest{Limit: 500}
	for {
		p, err := f.q.h.k.List(ctx, kf, page)
		if err != nil {
			return false, err
		}
		var ids []kernel.ID
		for i := range p.Items {
			if cause == "" || causeOf(&p.Items[i]).Key == cause {
				ids = append(ids, p.Items[i].ID)
			}
		}
		t.each(ctx, f, ids, do)
		if page.Cursor = p.Cursor; page.Cursor == "" || t.err != nil {
			return false, nil
		}
		if t.done >= bulkMost || time.Now().After(until) {
			return true, nil
		}
	}
}

func (f form) wanted(ctx context.Context) (kf kernel.Filter, cause string, err error) {
	if cause = f.Get("cause"); cause != "" {
		return kernel.Filter{States: []kernel.TaskState{"failed"}}, cause, nil
	}
	known, err := f.q.kinds(ctx)
	if err != nil {
		return kf, "", err
	}
	kf, err = f.filter().kernel(known)
	return kf, "", err
}

func (t *tally) told(f form, word string, rest, all bool) done {
	out := done{count: t.done, text: plural(t.done, "task was ", "tasks were ") + word + "."}
	if word == "cancelled" {
		out.text = plural(t.done, "task was cancelled, or asked to end.", "tasks were cancelled, or asked to end.")
	}
	if t.refused > 0 {
		out.text += fmt.Sprintf(" %s not: gone, or in another state by now.", plural(t.refused, "was", "were"))
		out.bad = t.done == 0
	}
	if rest {
		out.text += " There are more: do it again to go on."
	}
	if len(t.undo) > 0 && !all {
		undo := newAct("retry", "Undo", f.back(), "sure", "yes")
		for _, id := range t.undo {
			undo.Fields = append(undo.Fields, field{"id", id})
		}
		out.undo = &undo
	}
	return out
}
