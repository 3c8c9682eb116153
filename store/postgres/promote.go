package postgres

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Promote does a chunk of what time has made ripe.
func (s *Store) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	req := s.idRequest(store.ID{})
	if req.Limit = limit; limit <= 0 {
		req.Limit = 100
	}
	var got struct {
		answer
		Due     int   `json:"due"`
		Freed   int   `json:"freed"`
		Expired int   `json:"expired"`
		Aborted int   `json:"aborted"`
		Marked  int   `json:"marked"`
		More    bool  `json:"more"`
		Next    int64 `json:"next"`
	}
	if err := s.call(ctx, "promote", req, &got); err != nil {
		return store.PromoteResult{}, err
	}
	return store.PromoteResult{
		Due: got.Due, Freed: got.Freed, Expired: got.Expired, Aborted: got.Aborted, Marked: got.Marked, More: got.More,
		Next: time.Duration(got.Next),
	}, nil
}

// Prune removes what has expired.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	req := s.idRequest(store.ID{})
	if req.Limit = limit; limit <= 0 {
		req.Limit = 1000
	}
	req.Stats = int64(store.StatsKept)
	var got struct {
		answer
		Removed int `json:"removed"`
	}
	err := s.call(ctx, "prune", req, &got)
	return got.Removed, err
}
