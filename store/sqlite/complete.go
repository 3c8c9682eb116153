package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Complete ends runs by their outcomes.
func (s *Store) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	return write(ctx, s, func(s *step) (store.CompleteResult, error) {
		res := store.CompleteResult{Items: make([]store.Completed, len(req.Items))}
		for i, c := range req.Items {
			res.Items[i] = s.complete(c)
		}
		if req.Claim != nil {
			res.Claim, res.ClaimErr = s.claim(*req.Claim)
		}
		return res, nil
	})
}

func (s *step) complete(c store.Completion) store.Completed {
	t := s.task(c.Fence.ID)
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
	} else if err := s.valid(out); err != nil {
		return store.Completed{State: t.Read(), Err: err}
	}
	s.settle(t, out)
	t.Settled.Kind = c.Outcome.Kind
	s.change(t)
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
func (s *step) valid(out store.Outcome) error {
	if err := validKind(out); err != nil {
		return err
	}
	if len(out.Follow) > store.FollowLimit {
		return fmt.Errorf("%w: %d follow-ups; at most %d are allowed: submit more through a group", store.ErrInvalid, len(out.Follow), store.FollowLimit)
	}
	if len(out.Result) > recordLimit {
		return fmt.Errorf("%w: Result has %d bytes; at most %d are allowed", store.ErrInvalid, len(out.Result), recordLimit)
	}
	created := map[store.ID]bool{}
	for _, g := range out.Groups {
		if err := g.Validate(); err != nil {
			return err
		}
		created[g.ID] = s.group(g.ID) == nil
	}
	for i := range out.Follow {
		spec := &out.Follow[i]
		if err := spec.Validate(); err != nil {
			return err
		}
		if err := fits(spec); err != nil {
			return err
		}
		if created[spec.Group] || s.task(spec.ID) != nil {
			continue
		}
		if err := s.joinable(spec.Group); err != nil {
			return fmt.Errorf("%w: follow-up %s: %w", store.ErrInvalid, spec.ID, err)
		}
	}
	return nil
}

func validKind(out store.Outcome) error {
	switch out.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze,
		store.OutcomePark, store.OutcomeRelease:
	case store.OutcomeHold:
		if out.Reason == "" || out.Reason == store.ReasonGroup {
			return fmt.Errorf("%w: an outcome that holds needs a reason of its own, not %q", store.ErrInvalid, out.Reason)
		}
	default:
		return fmt.Errorf("%w: outcome %q is not known", store.ErrInvalid, out.Kind)
	}
	return nil
}

// settle applies an outcome to a running task.
func (s *step) settle(t *task, out store.Outcome) {
	t.Settled = store.Settled{Epoch: t.Epoch, Nonce: t.Nonce, Kind: out.Kind}
	s.count(t, func(m *store.Minute) { m.Ran += max(s.now.Sub(t.StartedAt), 0) })
	ends := out.Kind == store.OutcomeDone || out.Kind == store.OutcomeFail || out.Kind == store.OutcomeCancel
	if out.Kind == store.OutcomeRetry || out.Kind == store.OutcomeFail {
		t.Attempts++
	}
	if out.Error != nil {
		e := *out.Error
		t.Error = &e
	}
	if !ends && s.overruled(t) && !t.Owned {
		s.end(t, ending{state: store.Cancelled, reason: t.Asked})
		return
	}
	s.bring(t, out)
	switch out.Kind {
	case store.OutcomeDone:
		t.Error = nil
		s.end(t, ending{state: store.Done, reason: out.Reason, result: out.Result})
	case store.OutcomeFail:
		s.end(t, ending{state: store.Failed, reason: out.Reason, result: out.Result})
	case store.OutcomeCancel:
		reason := out.Reason
		if reason == "" {
			reason = store.ReasonCancelled
		}
		s.end(t, ending{state: store.Cancelled, reason: reason, result: out.Result})
	default:
		s.goOn(t, out)
	}
}

// bring stores what an outcome brings along: entries, consumed messages, progress, groups and follow-ups.
func (s *step) bring(t *task, out store.Outcome) {
	s.setEntries(t, out.Entries)
	s.consume(t, out.Consume)
	if out.Progress != nil {
		t.Progress = *out.Progress
		t.Progress.At = s.now
	}
	for _, g := range out.Groups {
		_ = s.createGroup(g) // checked by valid
	}
	for _, spec := range out.Follow {
		s.submit(spec, true)
	}
	for _, g := range out.Groups {
		if g.Seal {
			s.seal(s.group(g.ID))
		}
	}
}

// goOn applies an outcome that does not end the task.
func (s *step) goOn(t *task, out store.Outcome) {
	asked := s.overruled(t)
	if out.Kind != store.OutcomeRelease {
		t.Charged = false
	}
	s.noteOutcome(t, out)
	switch {
	case asked: // owned, and its handler has not been told
		s.ready(t)
	case out.Kind == store.OutcomeRelease:
		s.move(t, store.Ready)
	case out.Kind == store.OutcomeHold:
		t.Reason = out.Reason
		s.move(t, store.Held)
	case out.Kind != store.OutcomePark:
		s.wait(t, out.Delay)
	case t.Wakes != out.Wakes:
		s.ready(t)
	default:
		t.DueAt = time.Time{}
		if out.Delay > 0 {
			t.DueAt = s.now.Add(out.Delay)
		}
		s.move(t, store.Parked)
	}
}

func (s *step) noteOutcome(t *task, out store.Outcome) {
	switch out.Kind {
	case store.OutcomeRetry:
		text := ""
		if out.Error != nil {
			text = out.Error.Message
		}
		s.event(t, store.EventRetried, text)
		s.count(t, func(m *store.Minute) { m.Retried++ })
	case store.OutcomeSnooze:
		s.event(t, store.EventSnoozed, "")
	case store.OutcomePark:
		s.event(t, store.EventParked, "")
		absolve(t)
	case store.OutcomeRelease:
		s.event(t, store.EventReleased, "")
	case store.OutcomeHold:
		s.event(t, store.EventHeld, out.Reason)
	}
}
