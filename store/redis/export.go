package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/outlast-go/outlast/store"
)

// exportLimit is how many tasks an Export reads as of one moment: the server does nothing else meanwhile. A larger store is
// read in pieces of that size, each of a moment of its own.
const exportLimit = 20_000

// Export calls fn for every record.
func (s *Store) Export(ctx context.Context, fn func(store.Entry) error) error {
	from := ""
	for {
		r, err := s.read(ctx, "export", func(o *object) {
			o.key("from").str(from)
			o.key("limit").int(exportLimit)
			packErrors(o)
		})
		if err != nil {
			return err
		}
		for _, v := range r.list("tasks") {
			parts, _ := v.([]any)
			if err := exportTask(parts, fn); err != nil {
				return err
			}
		}
		if from = r.str("last"); from == "" {
			return exportRest(r, fn)
		}
	}
}

// exportTask hands out a task, its messages and the unique key that it holds.
func exportTask(parts []any, fn func(store.Entry) error) error {
	if len(parts) != 6 {
		return fmt.Errorf("export a task: %w", errPacked)
	}
	t, err := readTask(parts[:4])
	if err != nil {
		return err
	}
	if err := fn(store.Entry{Task: &t}); err != nil {
		return err
	}
	inbox, _ := parts[5].([]any)
	for _, m := range readMessages(t.ID, inbox) {
		if err := fn(store.Entry{Message: &m}); err != nil {
			return err
		}
	}
	if held := text(parts[4]); len(held) >= 16 {
		key := store.Key{Kind: t.Kind, Key: t.Unique.Key, Task: t.ID}
		if until, err := strconv.ParseInt(held[16:], 10, 64); err == nil {
			key.Until = instant(until)
		}
		return fn(store.Entry{Key: &key})
	}
	return nil
}

func exportRest(r record, fn func(store.Entry) error) error {
	groups, err := readGroups(r.list("groups"))
	if err != nil {
		return err
	}
	for i := range groups {
		if err := fn(store.Entry{Group: &groups[i]}); err != nil {
			return err
		}
	}
	for _, w := range readWorkers(r.list("workers")) {
		if err := fn(store.Entry{Worker: &w}); err != nil {
			return err
		}
	}
	limits, err := readLimits(r.list("limits"))
	if err != nil {
		return err
	}
	for i := range limits {
		if err := fn(store.Entry{Limit: &limits[i]}); err != nil {
			return err
		}
	}
	for _, v := range r.list("schedules") {
		l, _ := v.([]any)
		if len(l) != 2 {
			return fmt.Errorf("export a schedule: %w", errPacked)
		}
		sc, err := readSchedule(text(l[0]), text(l[1]))
		if err != nil {
			return err
		}
		if err := fn(store.Entry{Schedule: &sc}); err != nil {
			return err
		}
	}
	return nil
}
