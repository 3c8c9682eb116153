package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Cancel ends a task that waits, and asks one that runs.
func (s *Store) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	if reason == "" {
		reason = store.ReasonCancelled
	}
	return write(ctx, s, func(s *step) (store.State, error) {
		t, err := s.find(id)
		if err != nil {
			return "", err
		}
		s.ask(t, reason)
		return t.Read(), nil
	})
}

// Retry makes a failed or cancelled task ready in its next round.
func (s *Store) Retry(ctx context.Context, id store.ID) error {
	return s.write(ctx, func(s *step) error { return s.retry(id) })
}

func (s *step) retry(id store.ID) error {
	t, err := s.find(id)
	if err != nil {
		return err
	}
	if t.State != store.Failed && t.State != store.Cancelled || t.Stripped {
		return fmt.Errorf("retry task %s, which is %s: %w", id, t.Read(), store.ErrState)
	}
	g := s.group(t.Group)
	if g != nil && g.Aborting != "" {
		return fmt.Errorf("retry task %s of an aborted group: %w", id, store.ErrState)
	}
	if h := s.holder(t.Kind, t.Unique.Key); h != nil && h != t {
		return fmt.Errorf("retry task %s: unique key %q is held by task %s: %w", id, t.Unique.Key, h.ID, store.ErrDuplicate)
	}
	s.takeKey(t)
	s.mendLine(t)
	s.countEnd(t, -1)
	t.Round++
	t.Attempts, t.Crashes, t.CrashRun, t.Suspect, t.Solo, t.Charged = 0, 0, 0, false, false, false
	t.Asked, t.Told, t.Result, t.marked = "", false, nil, false
	t.EndedAt, t.ExpireAt = time.Time{}, time.Time{}
	s.event(t, store.EventAgain, "")
	if g != nil {
		s.reopen(g, t)
	}
	s.again(t)
	return nil
}

// again makes a task ready, or lets it wait for its group.
func (s *step) again(t *task) {
	if g := s.group(t.Group); g != nil && g.State != store.GroupOpen {
		t.DueAt, t.Reason = s.now, store.ReasonGroup
		s.move(t, store.Held)
		return
	}
	s.ready(t)
}

// Free makes a held task ready.
func (s *Store) Free(ctx context.Context, id store.ID) error {
	return s.write(ctx, func(s *step) error {
		t, err := s.find(id)
		if err != nil {
			return err
		}
		if t.State != store.Held || t.Reason == store.ReasonGroup {
			return fmt.Errorf("free task %s, which is %s: %w", id, t.Read(), store.ErrState)
		}
		t.Crashes, t.CrashRun, t.Suspect, t.Solo = 0, 0, false, false
		s.event(t, store.EventFreed, "")
		s.ready(t)
		return nil
	})
}

// Delete removes a terminal task.
func (s *Store) Delete(ctx context.Context, id store.ID) error {
	return s.write(ctx, func(s *step) error {
		t, err := s.find(id)
		if err != nil {
			return err
		}
		if !t.State.Terminal() {
			return fmt.Errorf("delete task %s, which is %s: %w", id, t.Read(), store.ErrState)
		}
		s.remove(t)
		return nil
	})
}
