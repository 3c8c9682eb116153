package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Filter picks tasks: all that is set must match.
type Filter struct {
	States []string          `json:"states,omitempty"`
	Kinds  []string          `json:"kinds,omitempty"`
	Queue  string            `json:"queue,omitempty"`
	Group  string            `json:"group,omitempty"`
	Parent string            `json:"parent,omitempty"`
	Worker string            `json:"worker,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Key    string            `json:"key,omitempty"` // unique key; needs exactly one kind
	After  time.Time         `json:"after,omitzero"`
	Before time.Time         `json:"before,omitzero"`
}

func (f *Filter) filter() (kernel.Filter, error) {
	group, err1 := parseID("group", f.Group)
	parent, err2 := parseID("parent", f.Parent)
	if err := errors.Join(err1, err2); err != nil {
		return kernel.Filter{}, err
	}
	out := kernel.Filter{Kinds: f.Kinds, Queue: f.Queue, Group: group, Parent: parent, Worker: f.Worker, Labels: f.Labels, Unique: f.Key, After: f.After, Before: f.Before}
	if f.Key != "" && len(f.Kinds) != 1 {
		return out, fmt.Errorf("%w: key needs exactly one kind: keys of different kinds do not meet", kernel.ErrInvalid)
	}
	for _, word := range f.States {
		if !slices.Contains(stateWords, word) {
			return out, fmt.Errorf("%w: the state %.40q is not known; use %s", kernel.ErrInvalid, word, strings.Join(stateWords, ", "))
		}
		out.States = append(out.States, kernel.TaskState(word))
	}
	return out, nil
}

func (f *Filter) empty() bool {
	return len(f.States)+len(f.Kinds)+len(f.Labels) == 0 && f.Queue+f.Group+f.Parent+f.Worker+f.Key == "" && f.After.IsZero() && f.Before.IsZero()
}

// Bulk is an action on all tasks that a filter picks.
type Bulk struct {
	Action string `json:"action"` // retry, cancel, free, delete
	Filter Filter `json:"filter"`
	All    bool   `json:"all,omitempty"`    // the filter is empty on purpose
	DryRun bool   `json:"dryRun,omitempty"` // tell what would be done, and do nothing
	Limit  int    `json:"limit,omitempty"`  // tasks at most; 0: 1,000; 10,000 at most
	Reason string `json:"reason,omitempty"` // of a cancel
	Cursor string `json:"cursor,omitempty"` // go on where the last answer ended
}

// BulkFailure is a task that the action could not be done to.
type BulkFailure struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// BulkAnswer tells what an action did.
type BulkAnswer struct {
	Matched int           `json:"matched"` // looked at
	Changed int           `json:"changed"` // or would be, in a dry run
	DryRun  bool          `json:"dryRun"`
	Failed  []BulkFailure `json:"failed,omitempty"` // the first 100
	Sample  []string      `json:"sample,omitempty"` // ids of the first few that matched
	Cursor  string        `json:"cursor,omitempty"` // there is more
}

// action is what can be done to tasks in bulk.
type action struct {
	fits func(kernel.TaskState) bool
	do   func(q *request, id kernel.ID, reason string) error
}

func actions() map[string]action {
	is := func(list ...kernel.TaskState) func(kernel.TaskState) bool {
		return func(s kernel.TaskState) bool { return slices.Contains(list, s) }
	}
	return map[string]action{
		"retry": {is("failed", "cancelled"), func(q *request, id kernel.ID, _ string) error { return q.k.Retry(q, id) }},
		"free":  {is("held"), func(q *request, id kernel.ID, _ string) error { return q.k.Free(q, id) }},
		"delete": {
			func(s kernel.TaskState) bool { return s.Terminal() },
			func(q *request, id kernel.ID, _ string) error { return q.k.Delete(q, id) },
		},
		"cancel": {
			func(s kernel.TaskState) bool { return !s.Terminal() },
			func(q *request, id kernel.ID, reason string) error {
				_, err := q.k.Cancel(q, id, reason)
				return err
			},
		},
	}
}

// bulk does one thing to many tasks, a page at a time. It looks at each state first: what the action is not for is passed over.
func bulk(q *request, in Bulk) (BulkAnswer, error) {
	act, ok := actions()[in.Action]
	switch {
	case !ok:
		return BulkAnswer{}, fmt.Errorf("%w: the action %.40q is not known; use retry, cancel, free or delete", kernel.ErrInvalid, in.Action)
	case in.Filter.empty() && !in.All:
		return BulkAnswer{}, fmt.Errorf("%w: the filter is empty; say all: true if every task is meant", kernel.ErrInvalid)
	case in.Limit < 0 || in.Limit > manyLimit:
		return BulkAnswer{}, fmt.Errorf("%w: limit is %d; give 1 to %d", kernel.ErrInvalid, in.Limit, manyLimit)
	}
	if in.Limit == 0 {
		in.Limit = 1000
	}
	f, err := in.Filter.filter()
	if err != nil {
		return BulkAnswer{}, err
	}
	ctx, cancel := q.waiting(q.s.cfg.MaxWait)
	defer cancel()
	q.Context = ctx
	extend(q.w, q.s.cfg.MaxWait+q.s.cfg.StoreTimeout+writeTimeout)
	ans := BulkAnswer{DryRun: in.DryRun}
	page := kernel.PageRequest{Oldest: true, Cursor: in.Cursor}
	for ans.Matched < in.Limit {
		page.Limit = min(500, in.Limit-ans.Matched)
		p, err := q.k.List(q, f, page)
		if err != nil {
			return ans, err
		}
		for i := range p.Items {
			ans.take(q, in, act, &p.Items[i])
		}
		if page.Cursor = p.Cursor; p.Cursor == "" {
			break
		}
	}
	ans.Cursor = page.Cursor
	return ans, nil
}

// take does it to one task.
func (a *BulkAnswer) take(q *request, in Bulk, act action, t *kernel.Task) {
	if !act.fits(t.State) {
		return
	}
	a.Matched++
	if len(a.Sample) < 10 {
		a.Sample = append(a.Sample, t.ID.String())
	}
	if in.DryRun {
		a.Changed++
		return
	}
	err := act.do(q, t.ID, in.Reason)
	if err == nil {
		a.Changed++
		return
	}
	if len(a.Failed) < 100 {
		a.Failed = append(a.Failed, BulkFailure{ID: t.ID.String(), Error: err.Error()})
	}
}

// Reason says why.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}

// State is where a task stands.
type State struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// act does one thing to one task, and tells where it stands then.
func act(name string) func(q *request, id kernel.ID, in Reason) (State, error) {
	return func(q *request, id kernel.ID, in Reason) (State, error) {
		if err := actions()[name].do(q, id, in.Reason); err != nil {
			return State{}, err
		}
		t, err := q.k.Get(q, id)
		if err != nil && t.ID.IsZero() {
			return State{}, err
		}
		return State{ID: id.String(), State: string(t.Read())}, nil
	}
}

func deleteTask(q *request, id kernel.ID, _ none) (none, error) { return none{}, q.k.Delete(q, id) }
