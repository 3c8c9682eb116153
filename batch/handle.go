package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// State says where a batch or a row stands.
type State string

// The states. A batch goes through all of them but the endings it does not come to; a row is queued, inprog, or has ended.
const (
	Wait    State = "wait"    // is being submitted, or waits for Release
	Queued  State = "queued"  // no row has been taken up
	InProg  State = "inprog"  // rows are processed, or the closing task is
	Success State = "success" // every row ended well
	Failed  State = "failed"  // a row has failed, and none was aborted
	Aborted State = "aborted" // it was aborted, or a row was
)

// Ended reports whether the state is an ending.
func (s State) Ended() bool { return s == Success || s == Failed || s == Aborted }

// Handle is a batch that was submitted, seen from any process. It reads inputs and results as In and Out.
type Handle[In, Out any] struct {
	k       *kernel.Kernel
	id      kernel.ID
	name    string // of its group; empty: any batch
	existed bool
}

// Handle returns a handle of a batch of this operation that was submitted before, here or elsewhere. Whether there is one is seen by its
// first use: kernel.ErrNotFound.
func (b *Batch[R, In, Out]) Handle(k *kernel.Kernel, id kernel.ID) *Handle[In, Out] {
	return &Handle[In, Out]{k: k, id: id, name: b.groupName()}
}

// Open returns a handle of a batch of any operation, whose inputs and results are read as JSON.
func Open(k *kernel.Kernel, id kernel.ID) *Handle[json.RawMessage, json.RawMessage] {
	return &Handle[json.RawMessage, json.RawMessage]{k: k, id: id}
}

// ID returns the id of the batch.
func (h *Handle[In, Out]) ID() kernel.ID { return h.id }

// Existed reports whether Submit found that the batch had been submitted before, under the same key.
func (h *Handle[In, Out]) Existed() bool { return h.existed }

// group reads the group of the batch.
func (h *Handle[In, Out]) group(ctx context.Context) (kernel.Group, error) {
	g, err := h.k.Group(ctx, h.id)
	if err != nil {
		return g, fmt.Errorf("batch %s: %w", h.id, err)
	}
	return g, h.mine(g)
}

func (h *Handle[In, Out]) mine(g kernel.Group) error {
	if _, ok := operation(g); !ok || h.name != "" && g.Name != h.name {
		return fmt.Errorf("batch %s: %w: the group of this id is %.80q", h.id, kernel.ErrNotFound, g.Name)
	}
	return nil
}

// operation returns the name of the operation that a group is a batch of.
func operation(g kernel.Group) (string, bool) {
	face, name, ok := strings.Cut(g.Name, ":")
	return name, ok && (face == "batch" || face == "query")
}

// Status is how a batch stands. It is read without reading its rows.
type Status struct {
	ID    kernel.ID
	Name  string // of the operation
	State State

	Rows, Success, Failed, Aborted int64 // in all, and those that ended

	Filling    bool   // Submit has not ended
	Unserved   bool   // rows wait, and no process serves them
	Reason     string // why it was aborted
	Generation int    // 1 at first; grows when Retry begins a batch anew that had ended
	DoneError  string // why the closing task has not done its work
	Labels     map[string]string
	CreatedAt  time.Time
	ClosedAt   time.Time // when the last row ended; zero: not yet
}

// Left returns how many rows have not ended.
func (s *Status) Left() int64 { return s.Rows - s.Success - s.Failed - s.Aborted }

// Status reads how the batch stands. It reads the group, and its closing task once that is there; while no row has ended, a page of rows
// tells queued from inprog.
func (h *Handle[In, Out]) Status(ctx context.Context) (Status, error) {
	g, err := h.group(ctx)
	if err != nil {
		return Status{}, err
	}
	s := summarise(g)
	switch {
	case g.State == kernel.GroupClosed:
		return s, h.closed(ctx, g, &s)
	case s.State == Queued:
		if err := h.begun(ctx, &s); err != nil {
			return s, err
		}
	}
	if s.State == Queued || s.State == InProg {
		s.Unserved, err = h.unserved(ctx, g)
	}
	return s, err
}

// summarise tells what a group alone tells: an ending as soon as the last row has ended.
func summarise(g kernel.Group) Status {
	s := Status{
		ID: g.ID, Rows: g.Total, Success: g.Done, Failed: g.Failed, Aborted: g.Cancelled, Filling: g.State == kernel.GroupFilling,
		Reason: g.Aborting, Generation: g.Generation, Labels: g.Labels, CreatedAt: g.CreatedAt, ClosedAt: g.ClosedAt,
	}
	s.Name, _ = operation(g)
	if g.Aborting == reasonUnserved {
		s.Failed, s.Aborted = s.Failed+s.Aborted, 0
	}
	switch {
	case g.State == kernel.GroupFilling, g.State == kernel.GroupHeld:
		s.State = Wait
	case g.State == kernel.GroupOpen && g.Done+g.Failed+g.Cancelled == 0 && g.Aborting == "":
		s.State = Queued
	case g.State == kernel.GroupOpen:
		s.State = InProg
	case g.Aborting != "" && g.Aborting != reasonUnserved, s.Aborted > 0:
		s.State = Aborted
	case s.Failed > 0:
		s.State = Failed
	default:
		s.State = Success
	}
	return s
}

// begun looks whether a row has been taken up: rows are, in the order of their lines.
func (h *Handle[In, Out]) begun(ctx context.Context, s *Status) error {
	p, err := h.k.Members(ctx, h.id, nil, kernel.PageRequest{Limit: 100})
	for i := range p.Items {
		if t := &p.Items[i]; t.Epoch > 0 {
			s.State = InProg
		}
	}
	return err
}

// closed looks how far the closing task is: the batch has ended when that has.
func (h *Handle[In, Out]) closed(ctx context.Context, g kernel.Group, s *Status) error {
	t, err := h.k.Get(ctx, kernel.CloseID(g))
	switch {
	case errors.Is(err, kernel.ErrNotFound):
		return nil // it has gone by its retention, or was deleted
	case err != nil:
		return err
	}
	if t.Error != nil && t.State != "done" {
		s.DoneError = t.Error.Message
	}
	if g.Aborting == reasonUnserved || t.State == "failed" || t.State == "cancelled" || t.State == "done" {
		return nil
	}
	s.State = InProg
	s.Unserved, err = h.unservedKind(ctx, t.Queue, t.Kind)
	return err
}

// unserved reports whether no living process runs the rows of the batch.
func (h *Handle[In, Out]) unserved(ctx context.Context, g kernel.Group) (bool, error) {
	if g.OnClose == nil {
		return false, nil
	}
	return h.unservedKind(ctx, g.OnClose.Queue, strings.Replace(g.Name, ":", ".", 1))
}

func (h *Handle[In, Out]) unservedKind(ctx context.Context, queue, kind string) (bool, error) {
	served, err := served(ctx, h.k, queue, kind)
	return !served, err
}

// served reports whether a living process runs the tasks of a queue and kind.
func served(ctx context.Context, k *kernel.Kernel, queue, kind string) (bool, error) {
	workers, err := k.Workers(ctx)
	for _, w := range workers {
		if !w.DeadAt.IsZero() || w.Info.Slots[queue] == 0 {
			continue
		}
		for _, served := range w.Info.Kinds {
			if served == kind {
				return true, nil
			}
		}
	}
	return false, err
}

// lookAgain is how often Wait looks without having been told.
const lookAgain = time.Second

// Wait returns the status once the batch has ended, its closing task included. If ctx ends first, the error is its cause, and the status
// the last that was seen.
func (h *Handle[In, Out]) Wait(ctx context.Context) (Status, error) {
	for {
		g, err := h.group(ctx)
		if err != nil {
			return Status{}, err
		}
		s, err := h.await(ctx, kernel.CloseID(g))
		if err != nil || s.State.Ended() {
			return s, err
		}
	}
}

// await looks at the batch, and waits a little for its closing task if it has not ended.
func (h *Handle[In, Out]) await(ctx context.Context, closing kernel.ID) (Status, error) {
	told := h.k.Follow(closing) // before looking: what comes in between is told
	defer told.Close()
	s, err := h.Status(ctx)
	if err != nil || s.State.Ended() {
		return s, err
	}
	told.Wait(ctx, lookAgain)
	return s, context.Cause(ctx)
}

// Release lets a batch run that was submitted with Hold. Releasing it again has no effect; an aborted one is ErrState. It returns how many
// rows the batch has.
func (h *Handle[In, Out]) Release(ctx context.Context) (rows int64, err error) {
	g, err := h.group(ctx)
	switch {
	case err != nil:
		return 0, err
	case g.State == kernel.GroupFilling:
		return g.Total, fmt.Errorf("release batch %s: %w: it is still being submitted", h.id, ErrState)
	case g.Aborting != "":
		return g.Total, fmt.Errorf("release batch %s: %w: it was aborted", h.id, ErrState)
	}
	g, err = h.k.Release(ctx, h.id)
	return g.Total, err
}

// Abort ends a batch: rows that wait end as aborted at once, those that run are told, and what they bring after that is not written. Done comes
// all the same. A batch that has ended is left as it is; the status says how it stands.
func (h *Handle[In, Out]) Abort(ctx context.Context, reason string) (Status, error) {
	if _, err := h.group(ctx); err != nil {
		return Status{}, err
	}
	if reason == reasonSubmit || reason == reasonAbandoned || reason == reasonUnserved {
		reason += " (by hand)" // these words mean something
	}
	if _, err := h.k.Abort(ctx, h.id, reason); err != nil {
		return Status{}, err
	}
	return h.Status(ctx)
}
