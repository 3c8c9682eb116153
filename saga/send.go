package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// childKept is how long the task of a step is kept once it is done: its saga reads it as soon as any worker can.
const childKept = 7 * 24 * time.Hour

// engineRetry is for what goes wrong around steps, not in them: the store, a transaction that could not be committed.
var engineRetry = kernel.Retry{Max: 1 << 20, Base: 100 * time.Millisecond, Factor: 2, Cap: time.Minute}

// What the task of a step is to do.
const (
	runMode        = "run"
	undoMode       = "undo"
	compensateMode = "compensate"
	elementMode    = "element"      // an element of a map
	unelementMode  = "undo element" // undo one that is done
)

// stepArgs is what the task of a step carries: names, and for an element what it is. The rest is on record with the saga.
type stepArgs struct {
	Format int             `json:"format"`
	Saga   kernel.ID       `json:"saga"` // the outermost
	Of     kernel.ID       `json:"of"`   // the task that sent it; of an undone element: that of the element
	Key    string          `json:"key"`  // begins the keys of its steps
	Chain  []string        `json:"chain,omitempty"`
	Path   string          `json:"path,omitempty"`
	Mode   string          `json:"mode"`
	Shape  string          `json:"shape,omitempty"`
	Hash   string          `json:"hash,omitempty"`
	In     json.RawMessage `json:"in,omitempty"`
	Group  kernel.ID       `json:"group,omitzero"`
	Each   bool            `json:"each,omitempty"`
}

// spec makes the task of a step.
func (e *engine) spec(n *node, a stepArgs) kernel.Spec {
	t := e.run.Task()
	a.Format, a.Saga = recordFormat, e.id
	s := kernel.Spec{
		ID: e.k.NewID(), Kind: e.base.stepKind(), Queue: n.queue, Args: toJSON(a), Owned: true,
		Retry: engineRetry, Timeout: kernel.NoTimeout, Retention: childKept,
		Correlation: t.Correlation, Trace: t.Trace, Labels: t.Labels, Priority: t.Priority, Lane: t.Lane,
	}
	if a.Group.IsZero() {
		s.Parent = e.run.ID()
	}
	if d := n.attemptTimeout(); d > 0 && n.child == nil {
		s.Timeout = d + 30*time.Second // one that does not heed its own time loses the task
	}
	return s
}

// send gives the steps that have a queue to tasks of their own, and waits for them.
func (e *engine) send(ctx context.Context, v *view) (*kernel.Outcome, error) {
	var follow []kernel.Spec
	var groups []kernel.NewGroup
	for _, in := range v.remote {
		r := e.at(in.path())
		if in.n.child == nil {
			s := e.spec(in.n, stepArgs{Of: e.run.ID(), Key: e.key(in.path()), Chain: e.chain, Path: in.path(), Mode: runMode})
			r.State, r.Task = sent, s.ID
			e.event(in.path(), EventSent, 0, "")
			follow = append(follow, s)
			continue
		}
		specs, group, err := e.sendElements(in, kernel.FollowLimit-len(follow)-len(v.remote))
		if err != nil {
			e.event(in.path(), EventFailed, 0, err.Error())
			e.fail(in.path(), OutcomeFailed, err, nil)
			return nil, nil
		}
		if len(specs) == 0 {
			return nil, e.allElements(ctx, in, nil) // there is nothing to do
		}
		follow, groups = append(follow, specs...), append(groups, group)
	}
	out := e.park(e.untilNext(v.next))
	out.Follow, out.Groups = follow, groups
	return &out, nil
}

// sendElements makes the tasks of the next portion of a map.
func (e *engine) sendElements(in inst, room int) ([]kernel.Spec, kernel.NewGroup, error) {
	n, r := in.n, e.at(in.path())
	list, err := in.s.items(n)
	if err != nil {
		return nil, kernel.NewGroup{}, err
	}
	portion := min(room, max(n.portion, 0))
	if n.portion == 0 {
		portion = room
	}
	group := kernel.NewGroup{ID: e.k.NewID(), Name: e.g.name + "/" + in.path(), Seal: true, Parent: e.run.ID()}
	var specs []kernel.Spec
	for i := len(r.Items); i < len(list) && len(specs) < portion; i++ {
		data, _, err := encodeValue(list[i])
		if err != nil {
			return nil, group, fmt.Errorf("element %d %w", i, err)
		}
		s := e.spec(n, stepArgs{
			Of: e.run.ID(), Key: e.key(in.path()) + "/" + strconv.Itoa(i), Chain: e.chainTo(in), Mode: elementMode,
			Shape: n.child.inShape, Hash: n.child.hash, In: data, Group: group.ID, Each: n.each,
		})
		s.Group, s.Line = group.ID, int64(i)
		specs = append(specs, s)
	}
	for _, s := range specs {
		r.Items = append(r.Items, item{Task: s.ID})
	}
	if len(specs) > 0 {
		r.State, r.Group = sent, group.ID
		e.event(in.path(), EventSent, 0, fmt.Sprintf("%d of %d", len(r.Items), len(list)))
	}
	return specs, group, nil
}

// chainTo names the maps and calls that lead from the base graph to a node.
func (e *engine) chainTo(in inst) []string {
	chain := slices.Clone(e.chain)
	for _, l := range lineage(in) {
		chain = append(chain, l.n.name)
	}
	return chain
}

// inside returns the graph that a chain leads to, or nil.
func (g *graph) inside(chain []string) *graph {
	for _, name := range chain {
		n := g.byName[name]
		if n == nil || n.child == nil {
			return nil
		}
		g = n.child
	}
	return g
}

// sendBack gives an undo or a compensation to the queue of its step.
func (e *engine) sendBack(u unit) (*kernel.Outcome, error) {
	b := e.back(u)
	a := stepArgs{Of: e.run.ID(), Key: e.key(u.in.path()), Chain: e.chain, Path: u.in.path(), Mode: u.kind}
	if u.index >= 0 {
		a = stepArgs{
			Of: e.at(u.in.path()).Items[u.index].Task, Key: a.Key + "/" + strconv.Itoa(u.index), Chain: e.chainTo(u.in), Mode: unelementMode,
		}
	}
	s := e.spec(u.in.n, a)
	*b.state, *b.task = backSent, s.ID
	e.note(u, EventUndoSent, 0, "")
	out := e.park(0)
	out.Follow = []kernel.Spec{s}
	return &out, nil
}

// stopSent asks the tasks of steps to end, and reports whether some still live.
func (e *engine) stopSent(ctx context.Context) (live bool, err error) {
	for _, path := range slices.Sorted(maps.Keys(e.rec)) {
		r := e.rec[path]
		if r.State != sent {
			continue
		}
		if !r.Group.IsZero() {
			g, err := e.k.Abort(ctx, r.Group, unwindingReason)
			if err != nil && !errors.Is(err, kernel.ErrNotFound) {
				return false, err
			}
			live = live || err == nil && g.State != "closed"
			continue
		}
		state, err := e.k.Cancel(ctx, r.Task, unwindingReason)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return false, err
		}
		live = live || err == nil && !state.Terminal()
	}
	return live, nil
}

const unwindingReason = "unwinding"

// gather takes in what the tasks of steps have brought.
func (e *engine) gather(ctx context.Context) error {
	for _, path := range slices.Sorted(maps.Keys(e.rec)) {
		r := e.rec[path]
		if r.State != sent && r.Back != backSent && !slices.ContainsFunc(r.Items, func(it item) bool { return it.Back == backSent }) {
			continue
		}
		in, err := e.find(path)
		if err != nil {
			return &lacking{[]string{err.Error()}}
		}
		switch {
		case r.State == sent && in.n.child != nil:
			err = e.gatherElements(ctx, in)
		case r.State == sent:
			err = e.gatherStep(ctx, in)
		default:
			err = e.gatherBack(ctx, in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stepResult is what the task of a step leaves for its saga.
type stepResult struct {
	Record *record `json:"record"`
	Halt   string  `json:"halt,omitempty"`
	Halted bool    `json:"halted,omitempty"`
	// Secrets of the result, sealed as all of it is. They are the saga's from here on.
	Secrets map[string]json.RawMessage `json:"secrets,omitempty"`
}

// ended reads a task that was sent, and what it has left. It is nil while the task lives.
func (e *engine) ended(ctx context.Context, id kernel.ID) (*kernel.Task, *stepResult, error) {
	t, err := e.k.Get(ctx, id)
	if errors.Is(err, kernel.ErrNotFound) {
		return &kernel.Task{}, nil, nil
	}
	if err != nil || !t.State.Terminal() {
		return nil, nil, err
	}
	res := &stepResult{}
	if json.Unmarshal(t.Result, res) != nil || res.Record == nil {
		return &t, nil, nil
	}
	return &t, res, nil
}

// gatherStep takes in a step that a task of its own has run.
func (e *engine) gatherStep(ctx context.Context, in inst) error {
	path := in.path()
	r := e.rec[path]
	t, res, err := e.ended(ctx, r.Task)
	if err != nil || t == nil {
		return err
	}
	e.dirty[stepEntry+path] = true
	if t.ID.IsZero() {
		r.State = begun // its record is gone: it is run again, under the same key
		return nil
	}
	if res == nil {
		res = &stepResult{Record: &record{State: failed, Attempt: 1, Outcome: OutcomeUnknown, Fault: &fault{Message: "its task ended as " + string(t.State) + " (" + t.Reason + ")"}}}
	}
	from := res.Record
	r.Result, r.Shape, r.Attempt, r.Outcome, r.Fault, r.Unbegun = from.Result, from.Shape, from.Attempt, from.Outcome, from.Fault, from.Unbegun
	r.State, r.NextAt, r.decoded = from.State, time.Time{}, false
	e.retell(path, from.Events)
	for id, s := range res.Secrets {
		e.vault[id], e.dirty[secretEntry+id], r.Ran = s, true, r.Task
	}
	switch {
	case res.Halted && e.life.Phase == forward:
		e.life.Phase = mended
		e.life.Failure = &failure{Step: path, Cancel: res.Halt, Outcome: haltOutcome}
	case r.over():
		r.Seq = e.seq // its own task has it on record: it need not be saved before the next step begins
	case r.State == failed && e.life.Phase == forward:
		e.fail(path, r.Outcome, cmpErr(r.Fault), nil)
	case r.State == begun && r.Attempt == 0:
		e.rec[path] = &record{Events: r.Events} // it was stopped before it began
	}
	return nil
}

func cmpErr(f *fault) error {
	if f == nil {
		return errors.New("failed")
	}
	if f.Type != "" {
		return kernel.Typed(f.Type, f)
	}
	return f
}

// retell puts the events of another task into this one's timeline.
func (e *engine) retell(path string, events []Event) {
	for _, ev := range events {
		e.event(path, ev.Kind, ev.Attempt, ev.Text)
		r := e.rec[path]
		r.Events[len(r.Events)-1].At = ev.At
	}
}

// gatherBack takes in an undo that a task of its own has done.
func (e *engine) gatherBack(ctx context.Context, in inst) error {
	units, err := e.units()
	if err != nil {
		return err
	}
	for _, u := range units {
		b := e.back(u)
		if u.in != in || *b.state != backSent {
			continue
		}
		t, res, err := e.ended(ctx, *b.task)
		if err != nil || t == nil {
			return err
		}
		*b.state = notBack
		e.dirty[stepEntry+in.path()] = true
		switch {
		case t.ID.IsZero(): // its record is gone: again
		case u.index >= 0 && t.State == "cancelled", res != nil && t.State == "done":
			if res != nil {
				e.retell(in.path(), withoutLast(res.Record.Events))
			}
			unsaved := e.unsaved
			e.wentBack(u)
			e.unsaved = unsaved // its own task has it on record
		case res != nil:
			*b.attempt, *b.fault, *b.state = res.Record.BackAttempt, res.Record.BackFault, backFailed
			e.retell(in.path(), res.Record.Events)
			e.unsaved = true
		default:
			*b.fault, *b.state = &fault{Message: "its task ended as " + string(t.State) + " (" + t.Reason + ")"}, backFailed
			e.unsaved = true
		}
	}
	return nil
}

// withoutLast leaves out the event that says that it is done: it is told anew.
func withoutLast(events []Event) []Event { return events[:max(len(events)-1, 0)] }
