package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// id reads the id in the path. One that is none is not found.
func (q *request) id() (kernel.ID, error) {
	id, err := kernel.ParseID(q.r.PathValue("id"))
	if err != nil || id.IsZero() {
		return id, problem(http.StatusNotFound, "not_found", "%.80q is no id", q.r.PathValue("id"))
	}
	return id, nil
}

// withID lets a handler begin with the id in the path.
func withID[In, Out any](do func(q *request, id kernel.ID, in In) (Out, error)) func(*request, In) (Out, error) {
	return func(q *request, in In) (out Out, err error) {
		id, err := q.id()
		if err != nil {
			return out, err
		}
		return do(q, id, in)
	}
}

func submitTask(q *request, in NewTask) (Submitted, error) {
	spec, err := in.spec()
	if err != nil {
		return Submitted{}, err
	}
	got, err := q.k.Submit(q, spec)
	if err != nil {
		return Submitted{}, err
	}
	q.w.Header().Set("Location", "/v1/tasks/"+got.ID.String())
	return Submitted{ID: got.ID.String(), State: string(got.State), Existed: got.Existed}, nil
}

// Batch is many tasks at once.
type Batch struct {
	Tasks []NewTask `json:"tasks"`
}

// Answers are what became of each, in its place.
type Answers struct {
	Tasks []Submitted `json:"tasks"`
}

// manyLimit is how many tasks one request may submit.
const manyLimit = 10_000

func submitMany(q *request, in Batch) (Answers, error) {
	if len(in.Tasks) == 0 || len(in.Tasks) > manyLimit {
		return Answers{}, fmt.Errorf("%w: submit 1 to %d tasks at once", kernel.ErrInvalid, manyLimit)
	}
	answers := Answers{Tasks: make([]Submitted, len(in.Tasks))}
	var specs []kernel.Spec
	var places []int
	for i := range in.Tasks {
		spec, err := in.Tasks[i].spec()
		if err != nil {
			answers.Tasks[i] = refused(in.Tasks[i].ID, err)
			continue
		}
		specs, places = append(specs, spec), append(places, i)
	}
	got, err := q.k.SubmitMany(q, specs)
	if err != nil {
		return Answers{}, err
	}
	for i, one := range got {
		answers.Tasks[places[i]] = Submitted{ID: one.ID.String(), State: string(one.State), Existed: one.Existed}
		if one.Err != nil {
			answers.Tasks[places[i]] = refused(one.ID.String(), one.Err)
		}
	}
	return answers, nil
}

// refused is one of many that was not stored.
func refused(id string, err error) Submitted {
	code := "invalid"
	for word, is := range map[string]error{"duplicate": kernel.ErrDuplicate, "state": kernel.ErrState, "not_found": kernel.ErrNotFound} {
		if errors.Is(err, is) {
			code = word
		}
	}
	return Submitted{ID: id, Error: err.Error(), Code: code}
}

func getTask(q *request, id kernel.ID, _ none) (Task, error) {
	wait, err := q.span("wait")
	if err != nil {
		return Task{}, err
	}
	t, err := q.await(id, wait)
	if err != nil && t.ID.IsZero() {
		return Task{}, err
	}
	out := taskOf(&t, err == nil) // what this process cannot open it does not show
	if err != nil {
		out.Locked = strings.Join(strings.Fields(err.Error()), " ")
	}
	return out, nil
}

// await reads a task, once it has ended or the time is up.
func (q *request) await(id kernel.ID, wait time.Duration) (kernel.Task, error) {
	if wait <= 0 {
		return q.k.Get(q, id)
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), min(wait, q.s.cfg.MaxWait))
	defer cancel()
	extend(q.w, min(wait, q.s.cfg.MaxWait)+q.s.cfg.StoreTimeout+writeTimeout)
	t, err := q.k.Wait(ctx, id)
	if err == nil || errors.Is(err, kernel.ErrNotFound) || q.r.Context().Err() != nil {
		return t, err
	}
	ctx, cancel = q.waiting(0)
	defer cancel()
	return q.k.Get(ctx, id)
}

// extend lets an answer take longer than the timeouts of the server would. The one for reading counts too: when it is up, the server takes the
// client for gone.
func extend(w http.ResponseWriter, d time.Duration) {
	c, until := http.NewResponseController(w), time.Now().Add(d)
	_ = c.SetWriteDeadline(until) // a writer without deadlines has none to extend
	_ = c.SetReadDeadline(until)
}

// span reads a duration of the query.
func (q *request) span(name string) (time.Duration, error) {
	text := q.r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		text = fmt.Sprint(min(max(n, -1), 1e6)) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, problem(http.StatusBadRequest, "bad_query", "%s is %.40q; give seconds, or a time such as 30s", name, text)
	}
	return d, nil
}

// filterParameters are those that pick tasks.
var filterParameters = []parameter{
	{"state", "one or more states, with commas between them"},
	{"kind", "one or more kinds, with commas between them"},
	{"queue", "a queue"},
	{"group", "the id of a group"},
	{"parent", "the id of a parent"},
	{"worker", "the id of the worker that holds it"},
	{"label", "name:value; may be given again and again"},
	{"key", "the task of this unique key; needs one kind"},
	{"after", "created after this time"},
	{"before", "created before this time"},
}

// pageParameters are those of all lists that page.
var pageParameters = []parameter{
	{"cursor", "of the page before"},
	{"limit", "how many at most: 1 to 1000"},
}

func listTasks(q *request, _ none) (Tasks, error) {
	query := q.r.URL.Query()
	f, err := filterOf(query)
	if err != nil {
		return Tasks{}, err
	}
	page, err := q.page()
	if err != nil {
		return Tasks{}, err
	}
	page.Oldest = query.Get("oldest") == "true"
	p, err := q.k.List(q, f, page)
	if err != nil {
		return Tasks{}, err
	}
	list := Tasks{Tasks: make([]Task, len(p.Items)), Cursor: p.Cursor}
	for i := range p.Items {
		list.Tasks[i] = taskOf(&p.Items[i], false)
	}
	return list, nil
}

// page reads which page of a list is wanted.
func (q *request) page() (kernel.PageRequest, error) {
	page := kernel.PageRequest{Cursor: q.r.URL.Query().Get("cursor"), Limit: 100}
	if text := q.r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return page, problem(http.StatusBadRequest, "bad_query", "limit is %.40q; give 1 to 1000", text)
		}
		page.Limit = n
	}
	return page, nil
}

// stateWords are the words that a filter understands.
var stateWords = []string{"scheduled", "ready", "running", "ending", "parked", "held", "done", "failed", "cancelled"}

// filterOf reads a filter of the query.
func filterOf(query url.Values) (kernel.Filter, error) {
	f := Filter{Queue: query.Get("queue"), Group: query.Get("group"), Parent: query.Get("parent"), Worker: query.Get("worker"), Key: query.Get("key")}
	for name, list := range map[string]*[]string{"state": &f.States, "kind": &f.Kinds} {
		for _, text := range query[name] {
			*list = append(*list, strings.Split(text, ",")...)
		}
	}
	var err error
	if f.Labels, err = labelsOf(query); err != nil {
		return kernel.Filter{}, err
	}
	for name, at := range map[string]*time.Time{"after": &f.After, "before": &f.Before} {
		t, err := instant(query, name)
		if err != nil {
			return kernel.Filter{}, err
		}
		*at = t
	}
	return f.filter()
}

// labelsOf reads the labels of the query.
func labelsOf(query url.Values) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range query["label"] {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, problem(http.StatusBadRequest, "bad_query", "label is %.80q; give name:value", text)
		}
		labels[name] = value
	}
	return labels, nil
}

// instant reads a time of the query; zero: there is none.
func instant(query url.Values, name string) (time.Time, error) {
	text := query.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, problem(http.StatusBadRequest, "bad_query", "%s is %.40q; give a time as 2026-01-31T12:00:00Z", name, text)
	}
	return t, nil
}
