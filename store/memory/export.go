package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// Export calls fn for every record. What it hands out is the record itself, under the lock: fn must neither keep nor change it,
// nor call the store.
func (s *Store) Export(ctx context.Context, fn func(store.Entry) error) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	d := s.d
	for _, t := range d.tasks {
		if err := fn(store.Entry{Task: &t.Task}); err != nil {
			return err
		}
		for i := range t.inbox {
			if err := fn(store.Entry{Message: &t.inbox[i]}); err != nil {
				return err
			}
		}
	}
	for _, g := range d.groups {
		if err := fn(store.Entry{Group: &g.Group}); err != nil {
			return err
		}
	}
	for _, w := range d.workers {
		if err := fn(store.Entry{Worker: &w.Worker}); err != nil {
			return err
		}
	}
	return d.exportRest(fn)
}

func (d *data) exportRest(fn func(store.Entry) error) error {
	for name, k := range d.keys {
		if !k.until.IsZero() && !k.until.After(d.now) {
			continue
		}
		if err := fn(store.Entry{Key: &store.Key{Kind: name.kind, Key: name.key, Task: k.task, Until: k.until}}); err != nil {
			return err
		}
	}
	for _, l := range d.limits {
		if !l.set {
			continue
		}
		st := d.limitStatus(l)
		if err := fn(store.Entry{Limit: &st}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.schedules)) {
		if err := fn(store.Entry{Schedule: d.schedules[name]}); err != nil {
			return err
		}
	}
	return nil
}
