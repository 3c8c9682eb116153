package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// Send puts a message into a task's inbox and wakes the task.
func (s *Store) Send(ctx context.Context, m store.Message) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if m.ID.IsZero() {
		return fmt.Errorf("%w: message ID is empty; make one with MakeID", store.ErrInvalid)
	}
	if err := store.CheckName("message name", m.Name); err != nil {
		return err
	}
	t, err := s.d.find(m.Task)
	if err != nil {
		return err
	}
	if t.seen[m.ID] {
		return nil
	}
	if t.State.Terminal() {
		return fmt.Errorf("send to task %s, which is %s: %w", t.ID, t.State, store.ErrState)
	}
	if t.seen == nil {
		t.seen = map[store.ID]bool{}
	}
	t.seen[m.ID] = true
	m.SentAt = s.d.now
	t.inbox = append(t.inbox, m)
	s.d.wake(t.ID)
	return nil
}

// Messages lists those that were not consumed.
func (s *Store) Messages(ctx context.Context, id store.ID) ([]store.Message, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	t, err := s.d.find(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.inbox), nil
}

// consume takes messages out of a task's inbox. Their ids stay known, so that none comes twice.
func consume(t *task, ids []store.ID) {
	if len(ids) == 0 {
		return
	}
	t.inbox = slices.DeleteFunc(slices.Clone(t.inbox), func(m store.Message) bool { return slices.Contains(ids, m.ID) })
}
