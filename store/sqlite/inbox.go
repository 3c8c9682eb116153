package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Send puts a message into a task's inbox and wakes the task.
func (s *Store) Send(ctx context.Context, m store.Message) error {
	if m.ID.IsZero() {
		return fmt.Errorf("%w: message ID is empty; make one with MakeID", store.ErrInvalid)
	}
	if err := store.CheckName("message name", m.Name); err != nil {
		return err
	}
	return s.write(ctx, func(s *step) error {
		t, err := s.find(m.Task)
		if err != nil {
			return err
		}
		s.flushTasks() // one that was submitted a moment ago gets the number that its messages are kept under
		if s.number("message_seen", t.seq, m.ID) != 0 {
			return nil
		}
		if t.State.Terminal() {
			return fmt.Errorf("send to task %s, which is %s: %w", t.ID, t.State, store.ErrState)
		}
		s.do("message_insert", t.seq, m.ID, m.Name, m.Body, s.now)
		t.messages = true
		s.wake(t.ID)
		return nil
	})
}

// consume takes messages out of a task's inbox. Their ids stay known, so that none comes twice.
func (s *step) consume(t *task, ids []store.ID) {
	for _, id := range ids {
		s.do("message_consume", t.seq, id)
	}
}

// emptyInbox forgets what a task has not consumed: sent again after a Retry, it is another chance.
func (s *step) emptyInbox(t *task) {
	if t.messages {
		s.do("message_drop", t.seq)
	}
}

// Messages lists those that were not consumed.
func (s *Store) Messages(ctx context.Context, id store.ID) (list []store.Message, err error) {
	err = s.read(ctx, func(v *view) error {
		t, err := v.find(id)
		if err != nil {
			return err
		}
		list, err = v.messages(t)
		return err
	})
	return list, err
}

func (v *view) messages(t *task) (list []store.Message, err error) {
	err = v.each("message_list", func(r *sqlite.Stmt) {
		list = append(list, store.Message{
			ID: idOf(r, 0), Task: t.ID, Name: r.ColumnText(1), Body: blobOf(r, 2), SentAt: instant(r.ColumnInt64(3)),
		})
	}, t.seq)
	return list, err
}
