package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Corrupt makes the record of a task unreadable, as a foreign hand would.
func (s *Store) Corrupt(ctx context.Context, id store.ID) error {
	return s.write(ctx, func(s *step) error {
		s.flushTasks()
		queries["test_corrupt"] = "update task set body = x'ff' where id = ?1"
		s.do("test_corrupt", id)
		delete(s.tasks, id)
		s.kept.forget()
		return nil
	})
}

// Damage spoils what is derived of the records, as a foreign hand would.
func (s *Store) Damage(ctx context.Context, r store.Repair, n int) error {
	return s.write(ctx, func(s *step) error {
		switch {
		case r.Limit != "":
			s.limitRow(r.Limit).running += n
		case r.Key != "":
			s.do("key_put", r.Kind, r.Key, store.DeriveID("nobody"), 0)
		default:
			g := s.group(r.Group)
			g.Done, g.dirty = g.Done+int64(n), true
		}
		return nil
	})
}

// Misplaced lists the tasks whose columns do not say where their records stand.
func (s *Store) Misplaced(ctx context.Context) (list []store.ID, err error) {
	err = s.write(ctx, func(s *step) error {
		s.flushTasks()
		s.query("task_all", func(r *sqlite.Stmt) {
			t := readTask(r)
			found := standing{
				state: t.State, ready: standingReady{r.ColumnInt64(6), r.ColumnInt64(17), r.ColumnInt64(18), r.ColumnInt64(19)},
				worker: r.ColumnText(14), deadline: r.ColumnInt64(22), expire: r.ColumnInt64(25),
				rest: standingRest{
					wait: r.ColumnInt64(20), startBy: r.ColumnInt64(21), stage: r.ColumnInt64(7), waiting: idOf(r, 24),
					line: !r.ColumnIsNull(23), asked: t.standing().rest.asked,
				},
			}
			if !t.corrupt && found != t.standing() {
				list = append(list, t.ID)
			}
		})
		return nil
	})
	return list, err
}

// Commits counts the transactions of the writer.
func (s *Store) Commits() int64 { return s.commits.Load() }

// Foreign runs a statement on a file as another program would.
func Foreign(path, query string) error {
	raw, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return err
	}
	_, err = oneText(raw, query)
	return errors.Join(err, raw.Close())
}

// Limit bounds the size of the file to so many pages, as a full disk does; 0 lifts it.
func (s *Store) Limit(ctx context.Context, pages int) error {
	if pages == 0 {
		pages = 1 << 30
	}
	return s.write(ctx, func(s *step) error {
		_, err := oneText(s.raw, fmt.Sprintf("pragma max_page_count = %d", pages))
		return err
	})
}

// Pages is the size of the file.
func (s *Store) Pages(ctx context.Context) (n int, err error) {
	err = s.write(ctx, func(s *step) (err error) {
		n, err = oneInt(s.raw, "pragma page_count")
		return err
	})
	return n, err
}
