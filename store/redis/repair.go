package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

var _ store.Repairer = (*Store)(nil)

// Repair derives one thing anew from the records of tasks, in one step of the server: it does nothing else while it reads all that runs, or all
// members of the group.
func (s *Store) Repair(ctx context.Context, r store.Repair) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	got, err := s.run(ctx, "repair", func(o *object) {
		switch {
		case r.Limit != "":
			o.key("limit").str(r.Limit)
		case r.Key != "":
			o.key("kind").str(r.Kind)
			o.key("key").str(r.Key)
			if !r.Task.IsZero() {
				o.key("task").str(string(r.Task[:]))
			}
		default:
			o.key("group").str(string(r.Group[:]))
		}
	})
	return got.bool("mended"), err
}
