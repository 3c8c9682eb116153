package sqlite

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

// Corrupt makes the record of a task unreadable, as a foreign hand would.
func (s *Store) Corrupt(ctx context.Context, id store.ID) error {
	return s.write(ctx, func(s *step) error {
		s.flushTasks()
		queries["test_corrupt"] = "update task set body = x'ff' where id = ?1"
		s.do("test_corrupt", id)
		delete(s.tasks, id)
		return nil
	})
}
