package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// State says where a saga stands.
type State string

// The states of a saga. The last four are endings; Stuck and Quarantined wait for an operator.
const (
	Pending     State = "pending"      // not begun
	Running     State = "running"      // or ready to
	Waiting     State = "waiting"      // for a step with a task of its own, a signal, a time, a lock
	RollingBack State = "rolling back" // something has failed
	Held        State = "held"         // for a process that has its definition
	Stuck       State = "stuck"        // something could not be undone
	Quarantined State = "quarantined"  // the processes that ran it died
	Completed   State = "completed"
	Failed      State = "failed" // and rolled back
	Cancelled   State = "cancelled"
	Halted      State = "halted" // by a step, its work kept
)

// Status is how a saga stands.
type Status struct {
	ID       kernel.ID
	State    State
	Reason   string
	Steps    []StepStatus // as they are defined; those inside calls and maps follow theirs
	Timeline []Event      // in the order in which it happened
	Failure  *Error       // why it is or was rolled back; nil: it is not
	Hash     string       // of the definition that wrote last
	Lacks    []string     // what a process needs to go on with it; empty: nothing that is known
	Since    time.Time    // since when it lacks that
	Lock     string       // the lock it waits for

	CreatedAt time.Time
	EndedAt   time.Time // zero: not yet
}

// StepStatus is how one step stands.
type StepStatus struct {
	Name     string
	State    string // pending, retrying, sent, waiting, done, skipped, ignored, failed, compensated, undone, undo failed, resolved
	Attempts int    // that have failed
	Outcome  Outcome
	Error    string    // of the last attempt that failed
	NextAt   time.Time // when it is tried again; until when it waits
	Queue    string
	Task     kernel.ID       // its own, if it has one
	Result   json.RawMessage // nil: none, or the saga is sealed
	Note     string          // of the operator who resolved or skipped it
}

// Status reads how the saga stands.
func (h *Handle[Out]) Status(ctx context.Context) (Status, error) {
	task, err := h.k.Get(ctx, h.id)
	if err == nil {
		err = h.mine(&task)
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of saga %s: %w", h.g.name, err)
	}
	l, rec, err := loadSaga(ctx, h.k, &task)
	if err != nil {
		return Status{}, fmt.Errorf("status of saga %s: %w", h.g.name, err)
	}
	s := Status{ID: h.id, State: stateOf(&task, l), Reason: task.Reason, Hash: l.Hash, Lacks: l.Lacks, Lock: l.Waits, CreatedAt: task.CreatedAt, EndedAt: task.EndedAt}
	if l.Since != 0 {
		s.Since = time.UnixMilli(l.Since).UTC()
	}
	s.Timeline = timeline(l, rec)
	if l.Failure != nil {
		e := &engine{g: h.g, id: h.id, life: l}
		s.Failure = e.failure(s.State)
	}
	for _, path := range h.paths(rec) {
		st := stepStatus(h.g, path, rec[path], !task.Sealed.IsZero())
		if err := h.lookAt(ctx, &s, &st); err != nil {
			return s, err
		}
		s.Steps = append(s.Steps, st)
	}
	return s, nil
}

// Look reads how a saga stands without its definition, for operators: steps that have not begun are then not known, and not listed.
func Look(ctx context.Context, k *kernel.Kernel, id kernel.ID) (Status, error) {
	task, err := k.Get(ctx, id)
	if err != nil {
		return Status{}, fmt.Errorf("status of saga %s: %w", id, err)
	}
	name, ok := strings.CutPrefix(task.Kind, "saga.")
	if !ok || strings.HasSuffix(name, "/step") {
		return Status{}, fmt.Errorf("%w: task %s is of kind %s, which is no saga", kernel.ErrNotFound, id, task.Kind)
	}
	h := &Handle[struct{}]{k: k, g: &graph{name: name}, id: id}
	return h.Status(ctx)
}

// lookAt adds what the task of a step knows.
func (h *Handle[Out]) lookAt(ctx context.Context, s *Status, st *StepStatus) error {
	if st.State != "sent" || st.Task.IsZero() {
		return nil
	}
	t, err := h.k.Get(ctx, st.Task)
	if err != nil {
		return nil //nolint:nilerr // it has just gone: the saga will say
	}
	if t.State == "held" && s.State == Waiting {
		s.State = Quarantined
	}
	_, rec, err := loadSaga(ctx, h.k, &t)
	if r := rec[st.Name]; err == nil && r != nil {
		st.Attempts, st.NextAt = r.Attempt, r.NextAt
		if r.Fault != nil {
			st.Error = r.Fault.Message
		}
	}
	return err
}

// paths lists the steps of the definition, and those inside that have something to tell.
func (h *Handle[Out]) paths(rec map[string]*record) []string {
	var list []string
	for _, n := range h.g.nodes {
		if n.child == nil || n.queue != "" {
			list = append(list, n.name)
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(rec)) {
			if strings.HasPrefix(path, n.name+"/") {
				list = append(list, path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rec)) {
		if !slices.Contains(list, path) {
			list = append(list, path) // of another definition
		}
	}
	return list
}

func stepStatus(g *graph, path string, r *record, sealed bool) StepStatus {
	st := StepStatus{Name: path, State: "pending"}
	if n := g.byName[path]; n != nil {
		st.Queue = n.queue
	}
	if r == nil {
		return st
	}
	st.Attempts, st.Outcome, st.NextAt, st.Task, st.Note = r.Attempt, r.Outcome, r.NextAt, r.Task, r.Note
	if !sealed {
		st.Result = r.Result
	}
	switch {
	case r.Back == backFailed:
		st.State = "undo failed"
	case r.Back == backSent:
		st.State = "undo sent"
	case r.Back != notBack:
		st.State = string(r.Back)
	case r.State != begun:
		st.State = string(r.State)
	case r.Attempt > 0:
		st.State = "retrying"
	}
	if f := cmp.Or(r.BackFault, r.Fault); f != nil {
		st.Error = f.Message
	}
	return st
}

// timeline puts all events in their order.
func timeline(l *life, rec map[string]*record) []Event {
	list := slices.Clone(l.Events)
	for _, r := range rec {
		list = append(list, r.Events...)
	}
	slices.SortFunc(list, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// stateOf tells the state of a saga by its task and what it has on record.
func stateOf(t *kernel.Task, l *life) State {
	switch t.State {
	case "done":
		if t.Reason == haltedReason {
			return Halted
		}
		return Completed
	case "failed":
		return Failed
	case "cancelled":
		return Cancelled
	case "held":
		switch t.Reason {
		case stuckReason:
			return Stuck
		case "crashed", "attempts":
			return Quarantined
		}
		return Held
	}
	switch {
	case len(l.Lacks) > 0:
		return Held
	case l.Phase != forward:
		return RollingBack
	case t.Epoch == 0:
		return Pending
	case t.State == "parked" || t.State == "scheduled" || l.Waits != "":
		return Waiting
	}
	return Running
}
