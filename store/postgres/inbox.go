package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// Send puts a message into a task's inbox and wakes the task.
func (s *Store) Send(ctx context.Context, m store.Message) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if m.ID.IsZero() {
		return fmt.Errorf("%w: message ID is empty; make one with MakeID", store.ErrInvalid)
	}
	if err := store.CheckName("message name", m.Name); err != nil {
		return err
	}
	req := struct {
		idRequest
		Task wireID `json:"task"`
		Name string `json:"name"`
		Body []byte `json:"body"`
	}{s.idRequest(m.ID), wireID(m.Task), m.Name, m.Body}
	var got answer
	if err := s.call(ctx, "send", req, &got); err != nil {
		return err
	}
	return got.refusal("send to", m.Task)
}

// Messages lists those that were not consumed.
func (s *Store) Messages(ctx context.Context, id store.ID) (list []store.Message, err error) {
	found := false
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		rows, err := c.Query(ctx, s.q.get("messages"), id.String())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			m, there, err := readMessage(rows)
			if err != nil {
				return err
			}
			if found = true; there {
				list = append(list, m)
			}
		}
		return rows.Err()
	})
	if err == nil && !found {
		return nil, notFound(id)
	}
	return list, err
}

// readMessage reads a row of task, id, name, body and time; there says whether it has a message.
func readMessage(r pgx.Row) (m store.Message, there bool, err error) {
	var task, id pgtype.UUID
	var name *string
	var sent *int64
	if err := r.Scan(&task, &id, &name, &m.Body, &sent); err != nil || !id.Valid {
		return m, false, err
	}
	m.Task, m.ID, m.Name, m.SentAt = task.Bytes, id.Bytes, *name, instant(sent)
	return m, true, nil
}
