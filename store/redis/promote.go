package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

// stepLimit is the most that one step of Promote, Prune or Recover does.
const stepLimit = 1000

// Promote does a chunk of what time has made ripe.
func (s *Store) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	r, err := s.run(ctx, "promote", func(o *object) {
		o.key("limit").int(bounded(limit, 100))
	})
	if err != nil {
		return store.PromoteResult{}, err
	}
	return store.PromoteResult{
		Due: int(r.int("due")), Freed: int(r.int("freed")), Expired: int(r.int("expired")), Aborted: int(r.int("aborted")),
		Marked: int(r.int("marked")), More: r.bool("more"), Next: span(r["next"]),
	}, nil
}

// Prune removes what has expired.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	r, err := s.run(ctx, "prune", func(o *object) {
		o.key("limit").int(bounded(limit, 1000))
		o.key("stats").int(store.StatsKept.Microseconds())
	})
	return int(r.int("removed")), err
}

// bounded is a limit that a caller asked for, or the usual one, and never more than a step may do.
func bounded(limit, usual int) int64 {
	if limit <= 0 {
		limit = usual
	}
	return int64(min(limit, stepLimit))
}
