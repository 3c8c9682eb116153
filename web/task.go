package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

type taskView struct {
	T        kernel.Task
	Shown    kernel.TaskState
	Sealed   bool
	Opened   string // why what is sealed or kept elsewhere could not be read
	Facts    []fact
	Labels   []field
	Timeline []happening
	Args     payload
	Result   payload
	Error    *errorView
	Entries  []namedPayload
	Inbox    []messageView
	Children []taskRow
	MoreKids bool
	OnEnd    kernel.ID
	Group    *kernel.Group
	IsSaga   bool
	IsBatch  bool
	Acts     []act
	CanSend  bool
	Progress string // per cent
}

type fact struct {
	Name, Text, Link string
	When             time.Time
	Mono             bool
}

type errorView struct {
	Message payload
	Type    string
	Detail  payload
}

type namedPayload struct {
	Name    string
	Payload payload
}

type messageView struct {
	Name   string
	SentAt time.Time
	Body   payload
}

// happening is one line of a timeline.
type happening struct {
	At     time.Time
	After  time.Duration // since the line before
	Kind   string
	Tone   string // good, bad, busy, or empty
	Title  string
	Text   string
	Worker string
	Epoch  int64
}

func taskPage(ctx context.Context, q *request, rest string) (*page, error) {
	id, err := kernel.ParseID(rest)
	if err != nil || id.IsZero() {
		return nil, errNoPage
	}
	t, err := q.h.k.Get(ctx, id)
	if t.ID.IsZero() && err != nil {
		return nil, err
	}
	d := taskView{T: t, Shown: t.Read(), Sealed: !t.Sealed.IsZero(), IsSaga: isSaga(t.Kind)}
	if err != nil {
		d.Opened = openTrouble(err)
	}
	d.Args, d.Result = q.payload(&t, "args", t.Args), q.payload(&t, "result", t.Result)
	if t.Error != nil {
		d.Error = &errorView{Type: t.Error.Type, Message: q.payload(&t, "error", []byte(t.Error.Message)), Detail: q.payload(&t, "detail", t.Error.Detail)}
	}
	if q.sealed(&t) && t.Progress.Note != "" {
		d.T.Progress.Note = "sealed"
	}
	if t.Progress.Total > 0 {
		d.Progress = percent(min(t.Progress.Done, t.Progress.Total), t.Progress.Total)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		d.Labels = append(d.Labels, field{name, t.Labels[name]})
	}
	d.Facts, d.Timeline = facts(&t), timeline(&t)
	if err := q.around(ctx, &d); err != nil {
		return nil, err
	}
	if q.may() {
		d.Acts, d.CanSend = taskActs(&t, q.here()), !t.State.Terminal()
	}
	return &page{Title: t.Kind + " " + short(t.ID), Nav: "tasks", Name: "task", D: d, Follow: t.ID}, nil
}

func openTrouble(err error) string {
	if errors.Is(err, kernel.ErrNoSealer) {
		return "This process has no key: what is sealed stays so."
	}
	return "Not all that belongs to this task could be read."
}

// around reads what belongs to a task and stands beside its record.
func (q *request) around(ctx context.Context, d *taskView) error {
	t := &d.T
	if !t.Group.IsZero() {
		if g, err := q.h.k.Group(ctx, t.Group); err == nil {
			d.Group, d.IsBatch = &g, isBatch(g)
		}
	}
	kids, err := q.h.k.List(ctx, kernel.Filter{Parent: t.ID}, kernel.PageRequest{Limit: 20, Oldest: true})
	if err != nil {
		return err
	}
	d.Children, d.MoreKids = q.rows(kids.Items), kids.Cursor != ""
	if t.OnEnd != nil {
		d.OnEnd = kernel.OnEndID(*t)
	}
	entries, err := q.h.k.Load(ctx, *t)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) && d.Opened == "" {
		d.Opened = openTrouble(err)
	}
	for i, name := range slices.Sorted(maps.Keys(entries)) {
		if i == 100 {
			break
		}
		d.Entries = append(d.Entries, namedPayload{name, q.payload(t, "entry "+name, entries[name])})
	}
	inbox, err := q.h.k.Messages(ctx, *t)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) && d.Opened == "" {
		d.Opened = openTrouble(err)
	}
	for _, m := range inbox[:min(len(inbox), 100)] {
		d.Inbox = append(d.Inbox, messageView{m.Name, m.SentAt, q.payload(t, "message", m.Body)})
	}
	return nil
}

// facts are what is known of a task beside what it carries. Empty ones are left out.
func facts(t *kernel.Task) []fact {
	list := []fact{
		{Name: "Queue", Text: t.Queue, Link: link("/queue/" + pathPart(t.Queue))},
		{Name: "Lane", Text: t.Lane, Mono: true},
		{Name: "Limit", Text: t.Limit, Mono: true},
		{Name: "Worker", Text: t.Worker, Link: link("/tasks", "worker", t.Worker), Mono: true},
		{Name: "Created", When: t.CreatedAt},
		{Name: "Due", When: onlyIf(t.State == "scheduled" || t.State == "parked", t.DueAt)},
		{Name: "Ready since", When: onlyIf(t.State == "ready", t.ReadyAt)},
		{Name: "Started", When: t.StartedAt},
		{Name: "Deadline", When: t.DeadlineAt},
		{Name: "Start by", When: t.StartByAt},
		{Name: "Ended", When: t.EndedAt},
		{Name: "Kept until", When: t.ExpireAt},
		{Name: "Asked to end", Text: t.Asked},
		{Name: "Unique key", Text: t.Unique.Key, Mono: true},
		{Name: "Correlation", Text: t.Correlation, Mono: true},
		{Name: "Trace", Text: t.Trace, Mono: true},
		{Name: "Order", Text: string(t.Order)},
	}
	for _, p := range []struct {
		name string
		n    int64
	}{{"Priority", int64(t.Priority)}, {"Crashes", int64(t.Crashes)}, {"Round", int64(t.Round)}, {"Wakes", t.Wakes}} {
		if p.n != 0 {
			list = append(list, fact{Name: p.name, Text: number(p.n)})
		}
	}
	return slices.DeleteFunc(list, func(f fact) bool { return f.Text == "" && f.When.IsZero() })
}

func onlyIf(is bool, t time.Time) time.Time {
	if is {
		return t
	}
	return time.Time{}
}

// tones and titles of what happens to a task.
var happens = map[string][2]string{
	"created": {"", "Submitted"}, "claimed": {"busy", "Taken by a worker"}, "retried": {"bad", "Failed, to be tried again"}, "snoozed": {"", "Snoozed"},
	"parked": {"", "Parked"}, "released": {"", "Given back"}, "crashed": {"bad", "Its worker died"}, "recovered": {"", "Put back: its worker left or died"},
	"held": {"bad", "Held"}, "freed": {"", "Freed"}, "asked": {"", "Asked to end"}, "again": {"busy", "Retried by hand"}, "ended": {"", "Ended"},
}

func timeline(t *kernel.Task) []happening {
	var list []happening
	if len(t.History) < 20 { // older lines are not kept
		list = append(list, happening{At: t.CreatedAt, Kind: "created", Title: "Submitted"})
	}
	for _, e := range t.History {
		h := happening{At: e.At, Kind: string(e.Kind), Text: e.Text, Worker: e.Worker, Epoch: e.Epoch}
		if known, ok := happens[h.Kind]; ok {
			h.Tone, h.Title = known[0], known[1]
		} else {
			h.Title = h.Kind
		}
		if h.Kind == "ended" && !t.EndedAt.IsZero() && e.At.Equal(t.EndedAt) {
			h.Title = "Ended as " + string(t.State)
			h.Tone = map[kernel.TaskState]string{"done": "good", "failed": "bad"}[t.State]
		}
		list = append(list, h)
	}
	for i := 1; i < len(list); i++ {
		list[i].After = list[i].At.Sub(list[i-1].At)
	}
	return list
}

// taskActs are what can be done to a task as it stands.
func taskActs(t *kernel.Task, back string) []act {
	id, name := t.ID.String(), "task "+short(t.ID)
	var list []act
	if t.State == "failed" || t.State == "cancelled" {
		list = append(list, newAct("retry", "Retry", back, "id", id, "name", name))
	}
	if t.State == "held" && t.Reason != "group" {
		list = append(list, newAct("free", "Free", back, "id", id, "name", name))
	}
	if !t.State.Terminal() {
		list = append(list, newAct("cancel", "Cancel", back, "id", id, "name", name))
	} else {
		list = append(list, newAct("delete", "Delete", link("/tasks"), "id", id, "name", name))
	}
	return list
}

func isSaga(kind string) bool {
	return strings.HasPrefix(kind, "saga.") && !strings.HasSuffix(kind, "/step")
}

func isBatch(g kernel.Group) bool {
	return strings.HasPrefix(g.Name, "batch:") || strings.HasPrefix(g.Name, "query:")
}
