package api

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// NewGroup is a group to be created with its first members.
type NewGroup struct {
	Name      string            `json:"name,omitempty"`
	Tasks     []NewTask         `json:"tasks,omitempty"`
	Seal      bool              `json:"seal,omitempty"` // these are all members: it closes when they have ended
	Hold      bool              `json:"hold,omitempty"` // once sealed, wait for release
	OnClose   *NewTask          `json:"onClose,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Retention Span              `json:"retention,omitempty"`
}

// Group is a group as it is on record.
type Group struct {
	ID         string            `json:"id"`
	Name       string            `json:"name,omitempty"`
	State      string            `json:"state"`
	Sealed     bool              `json:"sealed"`
	Aborting   string            `json:"aborting,omitempty"`
	Generation int               `json:"generation"` // grows with each reopening; 1 at first
	Total      int64             `json:"total"`
	Done       int64             `json:"done"`
	Failed     int64             `json:"failed"`
	Cancelled  int64             `json:"cancelled"`
	Parent     string            `json:"parent,omitempty"` // woken when it closes
	Labels     map[string]string `json:"labels,omitempty"`
	CreatedAt  time.Time         `json:"createdAt"`
	ClosedAt   time.Time         `json:"closedAt,omitzero"`
}

func groupOf(g *kernel.Group) Group {
	return Group{
		ID: g.ID.String(), Name: g.Name, State: string(g.State), Sealed: g.Sealed, Aborting: g.Aborting, Generation: g.Generation, Total: g.Total,
		Done: g.Done, Parent: idText(g.Parent), Failed: g.Failed, Cancelled: g.Cancelled, Labels: g.Labels, CreatedAt: g.CreatedAt, ClosedAt: g.ClosedAt,
	}
}

// NewGroupAnswer is a group that was created, and its members.
type NewGroupAnswer struct {
	ID    string      `json:"id"`
	Tasks []Submitted `json:"tasks"`
}

func submitGroup(q *request, in NewGroup) (NewGroupAnswer, error) {
	g := kernel.NewGroup{Name: in.Name, Seal: in.Seal, Hold: in.Hold, Labels: in.Labels, Retention: time.Duration(in.Retention)}
	if in.OnClose != nil {
		next, err := in.OnClose.spec()
		if err != nil {
			return NewGroupAnswer{}, fmt.Errorf("onClose: %w", err)
		}
		g.OnClose = &next
	}
	if len(in.Tasks) > manyLimit {
		return NewGroupAnswer{}, fmt.Errorf("%w: a group begins with at most %d members; submit more with its id as group", kernel.ErrInvalid, manyLimit)
	}
	specs := make([]kernel.Spec, len(in.Tasks))
	for i := range in.Tasks {
		var err error
		if specs[i], err = in.Tasks[i].spec(); err != nil {
			return NewGroupAnswer{}, fmt.Errorf("task %d: %w", i+1, err)
		}
	}
	id, got, err := q.k.SubmitGroup(q, g, specs)
	if err != nil {
		return NewGroupAnswer{}, err
	}
	out := NewGroupAnswer{ID: id.String(), Tasks: make([]Submitted, len(got))}
	for i, one := range got {
		out.Tasks[i] = Submitted{ID: one.ID.String(), State: string(one.State), Existed: one.Existed}
		if one.Err != nil {
			out.Tasks[i] = refused(one.ID.String(), one.Err)
		}
	}
	return out, nil
}

// Groups is a page of a list.
type Groups struct {
	Groups []Group `json:"groups"`
	Cursor string  `json:"cursor,omitempty"`
}

func listGroups(q *request, _ none) (Groups, error) {
	page, err := q.page()
	if err != nil {
		return Groups{}, err
	}
	p, err := q.k.Groups(q, page)
	if err != nil {
		return Groups{}, err
	}
	out := Groups{Groups: make([]Group, len(p.Items)), Cursor: p.Cursor}
	for i := range p.Items {
		out.Groups[i] = groupOf(&p.Items[i])
	}
	return out, nil
}

// onGroup is a call of the kernel about one group.
func onGroup(call func(q *request, id kernel.ID, reason string) (kernel.Group, error)) func(*request, kernel.ID, Reason) (Group, error) {
	return func(q *request, id kernel.ID, in Reason) (Group, error) {
		g, err := call(q, id, in.Reason)
		if err != nil {
			return Group{}, err
		}
		return groupOf(&g), nil
	}
}

func getGroup(q *request, id kernel.ID, _ none) (Group, error) {
	g, err := q.k.Group(q, id)
	if err != nil {
		return Group{}, err
	}
	return groupOf(&g), nil
}
