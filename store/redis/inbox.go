package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// pendingMessage is a message and its place in the inbox.
type pendingMessage struct {
	place string
	store.Message
}

func inOrder(pending []pendingMessage) []store.Message {
	slices.SortFunc(pending, func(a, b pendingMessage) int { return strings.Compare(a.place, b.place) })
	var list []store.Message
	for _, m := range pending {
		list = append(list, m.Message)
	}
	return list
}

// Send puts a message into a task's inbox and wakes the task.
func (s *Store) Send(ctx context.Context, m store.Message) error {
	if m.ID.IsZero() {
		return fmt.Errorf("%w: message ID is empty; make one with MakeID", store.ErrInvalid)
	}
	if err := store.CheckName("message name", m.Name); err != nil {
		return err
	}
	body := pack(func(o *object) {
		o.str("name", m.Name)
		o.bytes("body", m.Body)
	})
	return s.do(ctx, "send", func(o *object) {
		o.key("task").str(string(m.Task[:]))
		o.key("id").str(string(m.ID[:]))
		o.key("body").str(string(body))
	})
}

// Messages lists those that were not consumed.
func (s *Store) Messages(ctx context.Context, task store.ID) ([]store.Message, error) {
	res, err := s.run(ctx, "messages", func(o *object) { o.key("id").str(string(task[:])) })
	if err != nil {
		return nil, err
	}
	return readMessages(task, res.list("list")), nil
}
