package memory

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Complete ends runs by their outcomes.
func (s *Store) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.CompleteResult{}, err
	}
	defer leave()
	res := store.CompleteResult{Items: make([]store.Completed, len(req.Items))}
	for i, c := range req.Items {
		res.Items[i] = s.d.complete(c)
	}
	if req.Claim != nil {
		res.Claim, res.ClaimErr = s.d.claim(*req.Claim)
	}
	return res, nil
}

func (d *data) complete(c store.Completion) store.Completed {
	t := d.tasks[c.Fence.ID]
	if t == nil {
		return store.Completed{Err: fencedError(c.Fence)}
	}
	if !holds(t, c.Fence) {
		if t.Settled == (store.Settled{Epoch: c.Fence.Epoch, Nonce: c.Fence.Nonce, Kind: c.Outcome.Kind}) {
			return store.Completed{State: t.Read(), Repeated: true}
		}
		return store.Completed{State: t.Read(), Err: fencedError(c.Fence)}
	}
	out := c.Outcome
	if t.Staged != nil {
		out = *t.Staged
	} else if err := d.valid(out); err != nil {
		return store.Completed{State: t.Read(), Err: err}
	}
	d.settle(t, out)
	t.Settled.Kind = c.Outcome.Kind
	return store.Completed{State: t.State}
}

// holds reports whether a task runs under exactly this fence.
func holds(t *task, f store.Fence) bool {
	return t.State == store.Running && t.Epoch == f.Epoch && t.Nonce == f.Nonce
}

func fencedError(f store.Fence) error {
	return fmt.Errorf("task %s, epoch %d: %w", f.ID, f.Epoch, store.ErrFenced)
}

// valid says whether an outcome can be applied as a whole. Nothing is written before.
func (d *data) valid(out store.Outcome) error {
	switch out.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze,
		store.OutcomePark, store.OutcomeRelease, store.OutcomeHold:
	default:
		return fmt.Errorf("%w: outcome %q is not known", store.ErrInvalid, out.Kind)
	}
	if out.Kind == store.OutcomeHold && (out.Reason == "" || out.Reason == store.ReasonGroup) {
		return fmt.Errorf("%w: an outcome that holds needs a reason of its own, not %q", store.ErrInvalid, out.Reason)
	}
	if len(out.Follow) > store.FollowLimit {
		return fmt.Errorf("%w: %d follow-ups; at most %d are allowed: submit more through a group", store.ErrInvalid, len(out.Follow), store.FollowLimit)
	}
	created := map[store.ID]bool{}
	for _, g := range out.Groups {
		if err := g.Validate(); err != nil {
			return err
		}
		created[g.ID] = d.groups[g.ID] == nil
	}
	for i := range out.Follow {
		spec := &out.Follow[i]
		if err := spec.Validate(); err != nil {
			return err
		}
		if created[spec.Group] || d.tasks[spec.ID] != nil {
			continue
		}
		if err := d.joinable(spec.Group); err != nil {
			return fmt.Errorf("%w: follow-up %s: %w", store.ErrInvalid, spec.ID, err)
		}
	}
	return nil
}

// settle applies an outcome to a running task.
func (d *data) settle(t *task, out store.Outcome) {
	t.Settled = store.Settled{Epoch: t.Epoch, Nonce: t.Nonce, Kind: out.Kind}
	d.count(t, func(m *store.Minute) { m.Ran += max(d.now.Sub(t.StartedAt), 0) })
	ends := out.Kind == store.OutcomeDone || out.Kind == store.OutcomeFail || out.Kind == store.OutcomeCancel
	if out.Kind == store.OutcomeRetry || out.Kind == store.OutcomeFail {
		t.Attempts++
	}
	if out.Error != nil {
		e := *out.Error
		t.Error = &e
	}
	if !ends && d.overruled(t) && !t.Owned {
		d.end(t, ending{state: store.Cancelled, reason: t.Asked})
		return
	}
	d.write(t, out)
	switch out.Kind {
	case store.OutcomeDone:
		t.Error = nil
		d.end(t, ending{state: store.Done, reason: out.Reason, result: out.Result})
	case store.OutcomeFail:
		d.end(t, ending{state: store.Failed, reason: out.Reason, result: out.Result})
	case store.OutcomeCancel:
		reason := out.Reason
		if reason == "" {
			reason = store.ReasonCancelled
		}
		d.end(t, ending{state: store.Cancelled, reason: reason, result: out.Result})
	default:
		d.goOn(t, out)
	}
}

// write stores what an outcome brings along: entries, consumed messages, progress, groups and follow-ups.
func (d *data) write(t *task, out store.Outcome) {
	setEntries(t, out.Entries)
	consume(t, out.Consume)
	if out.Progress != nil {
		t.Progress = *out.Progress
		t.Progress.At = d.now
	}
	for _, g := range out.Groups {
		_ = d.createGroup(g) // checked by valid
	}
	for _, spec := range out.Follow {
		d.submit(spec, true)
	}
	for _, g := range out.Groups {
		if g.Seal {
			d.seal(d.groups[g.ID])
		}
	}
}

// goOn applies an outcome that does not end the task.
func (d *data) goOn(t *task, out store.Outcome) {
	asked := d.overruled(t)
	if out.Kind != store.OutcomeRelease {
		t.Charged = false
	}
	switch out.Kind {
	case store.OutcomeRetry:
		text := ""
		if out.Error != nil {
			text = out.Error.Message
		}
		d.event(t, store.EventRetried, text)
		d.count(t, func(m *store.Minute) { m.Retried++ })
	case store.OutcomeSnooze:
		d.event(t, store.EventSnoozed, "")
	case store.OutcomePark:
		d.event(t, store.EventParked, "")
		absolve(t)
	case store.OutcomeRelease:
		d.event(t, store.EventReleased, "")
	case store.OutcomeHold:
		d.event(t, store.EventHeld, out.Reason)
	}
	switch {
	case asked: // owned, and its handler has not been told
		d.ready(t)
	case out.Kind == store.OutcomeRelease:
		d.move(t, store.Ready)
	case out.Kind == store.OutcomeHold:
		t.Reason = out.Reason
		d.move(t, store.Held)
	case out.Kind != store.OutcomePark:
		d.wait(t, out.Delay)
	case t.Wakes != out.Wakes:
		d.ready(t)
	default:
		t.DueAt = time.Time{}
		if out.Delay > 0 {
			t.DueAt = d.now.Add(out.Delay)
		}
		d.move(t, store.Parked)
	}
}

func setEntries(t *task, entries map[string][]byte) {
	if len(entries) > 0 && t.entries == nil {
		t.entries = map[string][]byte{}
	}
	for name, value := range entries {
		if value == nil {
			delete(t.entries, name)
			continue
		}
		t.entries[name] = value
	}
}

// Stage writes an outcome as ended, unsettled.
func (s *Store) Stage(ctx context.Context, c store.Completion) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t := s.d.tasks[c.Fence.ID]
	if t == nil || !holds(t, c.Fence) {
		return fencedError(c.Fence)
	}
	if t.Staged != nil {
		return fmt.Errorf("task %s: an outcome is staged already: %w", t.ID, store.ErrState)
	}
	if err := s.d.valid(c.Outcome); err != nil {
		return err
	}
	out := c.Outcome
	out.Entries = maps.Clone(out.Entries)
	t.Staged = &out
	s.d.touch(t)
	return nil
}

// Save writes what a run wants to keep.
func (s *Store) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	t := s.d.tasks[req.Fence.ID]
	if t == nil || !holds(t, req.Fence) {
		return "", fencedError(req.Fence)
	}
	if t.Staged != nil {
		s.d.settle(t, *t.Staged)
		return "", fencedError(req.Fence)
	}
	if req.Seq > 0 && req.Seq < t.Saves {
		return t.Asked, fmt.Errorf("save %d of task %s comes after save %d: %w", req.Seq, t.ID, t.Saves, store.ErrChanged)
	}
	t.Saves = max(t.Saves, req.Seq)
	setEntries(t, req.Entries)
	consume(t, req.Consume)
	if req.Progress != nil {
		t.Progress = *req.Progress
		t.Progress.At = s.d.now
	}
	if len(req.Entries) > 0 {
		absolve(t)
	}
	s.d.touch(t)
	return t.Asked, nil
}

// Load reads checkpoint entries.
func (s *Store) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return nil, err
	}
	if t.Stripped {
		return nil, fmt.Errorf("the checkpoint of task %s is gone: %w", id, store.ErrNotFound)
	}
	entries := map[string][]byte{}
	if len(names) == 0 {
		maps.Copy(entries, t.entries)
	}
	for _, name := range names {
		if value, ok := t.entries[name]; ok {
			entries[name] = value
		}
	}
	return entries, nil
}

func (d *data) find(id store.ID) (*task, error) {
	if t := d.tasks[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("task %s: %w", id, store.ErrNotFound)
}
