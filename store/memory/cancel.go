package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Cancel ends a task that waits, and asks one that runs.
func (s *Store) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return "", err
	}
	if reason == "" {
		reason = store.ReasonCancelled
	}
	s.d.ask(t, reason)
	return t.Read(), nil
}

// Retry makes a failed or cancelled task ready in its next round.
func (s *Store) Retry(ctx context.Context, id store.ID) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	d := s.d
	t, err := d.find(id)
	if err != nil {
		return err
	}
	if t.State != store.Failed && t.State != store.Cancelled || t.Stripped {
		return fmt.Errorf("retry task %s, which is %s: %w", id, t.Read(), store.ErrState)
	}
	g := d.groups[t.Group]
	if g != nil && g.Aborting != "" {
		return fmt.Errorf("retry task %s of an aborted group: %w", id, store.ErrState)
	}
	if t.Unique.Key != "" {
		if h := d.holder(t.Kind, t.Unique.Key); h != nil && h != t {
			return fmt.Errorf("retry task %s: unique key %q is held by task %s: %w", id, t.Unique.Key, h.ID, store.ErrDuplicate)
		}
		k := &key{task: t.ID}
		if t.Unique.For > 0 {
			k.until = d.now.Add(t.Unique.For)
		}
		d.keys[keyOf(t)] = k
	}
	d.countEnd(t, -1)
	d.expiry.remove(t)
	t.Round++
	t.Attempts, t.Crashes, t.CrashRun, t.Suspect, t.Solo, t.Charged = 0, 0, 0, false, false, false
	t.Asked, t.Told, t.Result, t.marked = "", false, nil, false
	t.EndedAt, t.ExpireAt = time.Time{}, time.Time{}
	d.event(t, store.EventAgain, "")
	d.mendLine(t)
	d.joinLine(t)
	if g != nil {
		d.reopen(g, t)
	}
	d.again(t)
	return nil
}

// again makes a task ready, or lets it wait for its group.
func (d *data) again(t *task) {
	if g := d.groups[t.Group]; g != nil && g.State != store.GroupOpen {
		t.DueAt, t.Reason = d.now, store.ReasonGroup
		d.move(t, store.Held)
		return
	}
	d.ready(t)
}

// Free makes a held task ready.
func (s *Store) Free(ctx context.Context, id store.ID) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return err
	}
	if t.State != store.Held || t.Reason == store.ReasonGroup {
		return fmt.Errorf("free task %s, which is %s: %w", id, t.Read(), store.ErrState)
	}
	t.Crashes, t.CrashRun, t.Suspect, t.Solo = 0, 0, false, false
	s.d.event(t, store.EventFreed, "")
	s.d.ready(t)
	return nil
}

// Delete removes a terminal task.
func (s *Store) Delete(ctx context.Context, id store.ID) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return err
	}
	if !t.State.Terminal() {
		return fmt.Errorf("delete task %s, which is %s: %w", id, t.Read(), store.ErrState)
	}
	s.d.remove(t)
	return nil
}
