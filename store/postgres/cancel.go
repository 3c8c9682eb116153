package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// idRequest names one task or group.
type idRequest struct {
	Horizon int64  `json:"horizon"`
	ID      wireID `json:"id"`
	Why     string `json:"why,omitempty"`
	What    string `json:"what,omitempty"`
	Limit   int    `json:"limit,omitempty"`
	Stats   int64  `json:"stats,omitempty"`
}

func (s *Store) idRequest(id store.ID) idRequest {
	return idRequest{Horizon: int64(s.cfg.Timing.Horizon), ID: wireID(id)}
}

// refusal is why a task is not in the state that an operation needs.
func (a *answer) refusal(what string, id store.ID) error {
	switch a.Err {
	case "":
		return nil
	case "notfound":
		return notFound(id)
	}
	return fmt.Errorf("%s task %s, which is %s: %w", what, id, a.State, store.ErrState)
}

// Cancel ends a task that waits, and asks one that runs.
func (s *Store) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	req := s.idRequest(id)
	if req.Why = clean(reason); req.Why == "" {
		req.Why = store.ReasonCancelled
	}
	var got answer
	if err := s.call(ctx, "cancel", req, &got); err != nil {
		return "", err
	}
	return store.State(got.State), got.refusal("cancel", id)
}

// Retry makes a failed or cancelled task ready in its next round.
func (s *Store) Retry(ctx context.Context, id store.ID) error {
	var got struct {
		answer
		Key    string `json:"key"`
		Holder string `json:"holder"`
	}
	if err := s.call(ctx, "retry", s.idRequest(id), &got); err != nil {
		return err
	}
	if got.Err == "duplicate" {
		return fmt.Errorf("retry task %s: unique key %q is held by task %s: %w", id, got.Key, got.Holder, store.ErrDuplicate)
	}
	return got.refusal("retry", id)
}

// Free makes a held task ready.
func (s *Store) Free(ctx context.Context, id store.ID) error {
	var got answer
	if err := s.call(ctx, "free", s.idRequest(id), &got); err != nil {
		return err
	}
	return got.refusal("free", id)
}

// Delete removes a terminal task.
func (s *Store) Delete(ctx context.Context, id store.ID) error {
	var got answer
	if err := s.call(ctx, "delete_task", s.idRequest(id), &got); err != nil {
		return err
	}
	return got.refusal("delete", id)
}
