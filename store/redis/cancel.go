package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

// Cancel ends a task that waits, and asks one that runs.
func (s *Store) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	if reason == "" {
		reason = store.ReasonCancelled
	}
	r, err := s.run(ctx, "cancel", func(o *object) {
		o.key("id").str(string(id[:]))
		o.key("reason").str(reason)
	})
	return store.State(r.str("state")), err
}

// Retry makes a failed or cancelled task ready in its next round.
func (s *Store) Retry(ctx context.Context, id store.ID) error { return s.byID(ctx, "retry", id) }

// Free makes a held task ready.
func (s *Store) Free(ctx context.Context, id store.ID) error { return s.byID(ctx, "free", id) }

// Delete removes a terminal task.
func (s *Store) Delete(ctx context.Context, id store.ID) error { return s.byID(ctx, "delete", id) }

func (s *Store) byID(ctx context.Context, name string, id store.ID) error {
	return s.do(ctx, name, func(o *object) { o.key("id").str(string(id[:])) })
}
