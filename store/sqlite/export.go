package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Export calls fn for every record, as of one moment. Writers go on meanwhile.
func (s *Store) Export(ctx context.Context, fn func(store.Entry) error) error {
	return s.read(ctx, func(v *view) error {
		for _, part := range []func(func(store.Entry) error) error{
			v.exportTasks, v.exportGroups, s.exportWorkers(v), v.exportKeys, v.exportLimits, v.exportSchedules,
		} {
			if err := part(fn); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *view) exportTasks(fn func(store.Entry) error) error {
	return v.rows("task_all", func(r *sqlite.Stmt) error {
		t := readTask(r)
		if err := fn(store.Entry{Task: &t.Task}); err != nil || !t.messages {
			return err
		}
		messages, err := v.messages(t)
		for i := range messages {
			if err == nil {
				err = fn(store.Entry{Message: &messages[i]})
			}
		}
		return err
	})
}

func (v *view) exportGroups(fn func(store.Entry) error) error {
	return v.rows("group_all", func(r *sqlite.Stmt) error {
		g, err := readGroup(r)
		if err != nil {
			return err
		}
		return fn(store.Entry{Group: &g.Group})
	})
}

func (s *Store) exportWorkers(v *view) func(func(store.Entry) error) error {
	return func(fn func(store.Entry) error) error {
		return s.eachWorker(v, func(w store.Worker) error { return fn(store.Entry{Worker: &w}) })
	}
}

func (v *view) exportKeys(fn func(store.Entry) error) error {
	return v.rows("key_all", func(r *sqlite.Stmt) error {
		k := store.Key{Kind: r.ColumnText(0), Key: r.ColumnText(1), Task: idOf(r, 2), Until: instant(r.ColumnInt64(3))}
		if !k.Until.IsZero() && !k.Until.After(v.now) {
			return nil
		}
		return fn(store.Entry{Key: &k})
	})
}

func (v *view) exportLimits(fn func(store.Entry) error) error {
	return v.rows("limit_list", func(r *sqlite.Stmt) error {
		l, err := readLimit(r)
		if err != nil || !l.set {
			return err
		}
		st := v.status(l)
		return fn(store.Entry{Limit: &st})
	})
}

func (v *view) exportSchedules(fn func(store.Entry) error) error {
	return v.rows("schedule_page", func(r *sqlite.Stmt) error {
		sc, err := readSchedule(r)
		if err != nil {
			return err
		}
		return fn(store.Entry{Schedule: &sc})
	}, "", -1)
}
