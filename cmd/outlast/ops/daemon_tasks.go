package ops

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/store"
)

var _ Operator = (*Daemon)(nil)

// Get reads a task. What the daemon cannot open is missing, with an error that says why.
func (d *Daemon) Get(ctx context.Context, id store.ID) (store.Task, error) {
	v, err := fetch[api.Task](ctx, d, taskPath(id), nil)
	if err != nil {
		return store.Task{}, err
	}
	if v.Locked != "" {
		err = errors.New(v.Locked)
	}
	return taskOf(&v), err
}

// longPoll is how long one request waits; it is made again and again.
const longPoll = 25 * time.Second

// Wait waits until a task has ended.
func (d *Daemon) Wait(ctx context.Context, id store.ID) (store.Task, error) {
	for {
		v, err := sendWithin[api.Task](ctx, d, d.limit+longPoll, request{method: http.MethodGet, path: taskPath(id) + "?wait=" + longPoll.String()})
		if err != nil {
			return store.Task{}, err
		}
		if t := taskOf(&v); t.State.Terminal() {
			return t, nil
		}
	}
}

// List pages through tasks, without payloads.
func (d *Daemon) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	q := pageQuery(page)
	for _, s := range f.States {
		q.Add("state", string(s))
	}
	for _, k := range f.Kinds {
		q.Add("kind", k)
	}
	for name, value := range f.Labels {
		q.Add("label", name+":"+value)
	}
	for name, value := range map[string]string{"queue": f.Queue, "worker": f.Worker, "key": f.Unique, "group": text(f.Group), "parent": text(f.Parent), "after": instant(f.After), "before": instant(f.Before)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	list, err := fetch[api.Tasks](ctx, d, "/v1/tasks", q)
	p := store.Page[store.Task]{Items: make([]store.Task, len(list.Tasks)), Cursor: list.Cursor}
	for i := range list.Tasks {
		p.Items[i] = taskOf(&list.Tasks[i])
	}
	return p, err
}

// Retry makes a failed or cancelled task ready.
func (d *Daemon) Retry(ctx context.Context, id store.ID) error {
	_, err := send[api.State](ctx, d, http.MethodPost, taskPath(id)+"/retry", api.Reason{})
	return err
}

// Cancel ends a task that waits, and asks one that runs.
func (d *Daemon) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	v, err := send[api.State](ctx, d, http.MethodPost, taskPath(id)+"/cancel", api.Reason{Reason: reason})
	return store.State(v.State), err
}

// Free makes a held task ready.
func (d *Daemon) Free(ctx context.Context, id store.ID) error {
	_, err := send[api.State](ctx, d, http.MethodPost, taskPath(id)+"/free", api.Reason{})
	return err
}

// Delete removes a task that has ended.
func (d *Daemon) Delete(ctx context.Context, id store.ID) error {
	_, err := send[struct{}](ctx, d, http.MethodDelete, taskPath(id), nil)
	return err
}

// Group reads a group.
func (d *Daemon) Group(ctx context.Context, id store.ID) (store.Group, error) {
	v, err := fetch[api.Group](ctx, d, "/v1/groups/"+id.String(), nil)
	return groupOf(&v), err
}

// Groups pages through groups.
func (d *Daemon) Groups(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error) {
	list, err := fetch[api.Groups](ctx, d, "/v1/groups", pageQuery(page))
	p := store.Page[store.Group]{Items: make([]store.Group, len(list.Groups)), Cursor: list.Cursor}
	for i := range list.Groups {
		p.Items[i] = groupOf(&list.Groups[i])
	}
	return p, err
}

// Release ends the hold of a group.
func (d *Daemon) Release(ctx context.Context, id store.ID) (store.Group, error) {
	v, err := send[api.Group](ctx, d, http.MethodPost, "/v1/groups/"+id.String()+"/release", api.Reason{})
	return groupOf(&v), err
}

// Abort asks all members of a group to end.
func (d *Daemon) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	v, err := send[api.Group](ctx, d, http.MethodPost, "/v1/groups/"+id.String()+"/abort", api.Reason{Reason: reason})
	return groupOf(&v), err
}

func taskPath(id store.ID) string { return "/v1/tasks/" + id.String() }

func pageQuery(page store.PageRequest) url.Values {
	q := url.Values{}
	if page.Cursor != "" {
		q.Set("cursor", page.Cursor)
	}
	if page.Limit > 0 {
		q.Set("limit", strconv.Itoa(min(page.Limit, 1000)))
	}
	if page.Oldest {
		q.Set("oldest", "true")
	}
	return q
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func text(id store.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// parse reads an id that a daemon has told. One that is none is as if there were none.
func parse(text string) store.ID {
	id, err := store.ParseID(strings.TrimSpace(text))
	if err != nil {
		return store.ID{}
	}
	return id
}
