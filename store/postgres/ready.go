package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// readyAlone is the one spec of a request that stores nothing else, if it is ready at once and nothing hangs on it: no unique key, no
// group, no end to follow. It goes by a statement of its own, on connections where that stays planned.
func (s *Store) readyAlone(req *store.SubmitRequest) *store.Spec {
	if s.cfg.Pooler || s.shared || len(req.Groups) > 0 || len(req.Specs) != 1 || req.Claim != nil {
		return nil
	}
	spec := &req.Specs[0]
	if spec.Unique.Key != "" || !spec.Group.IsZero() || spec.OnEnd != nil || spec.Delay != 0 || !spec.DueAt.IsZero() || spec.Validate() != nil {
		return nil
	}
	return spec
}

// submitReady stores such a task; false if its id is known.
func (s *Store) submitReady(ctx context.Context, spec *store.Spec) (fresh bool, err error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	w := prepare(spec)
	var labels, startBy any
	if w.Labels != nil {
		text, err := json.Marshal(w.Labels)
		if err != nil {
			return false, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		labels = string(text)
	}
	if w.StartBy != 0 {
		startBy = w.StartBy
	}
	flag, rank := int16(0), -w.Prio
	if w.Ord != "" {
		flag, rank = 1, 0
	}
	var watched bool
	err = s.pool.QueryRow(ctx, s.q.get("submit_ready"),
		pgtype.UUID{Bytes: spec.ID, Valid: true}, w.Rest, w.Args, labels, w.RMax, w.RBase, w.RFactor, w.RCap, w.Spends, startBy,
		w.Kind, w.Queue, w.Lane, w.Lim, flag, w.Ord, w.Prio, rank, w.Timeout, w.Owned, w.Line,
		pgtype.UUID{Bytes: spec.Parent, Valid: !spec.Parent.IsZero()}, w.Print, w.Retention).Scan(&watched)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h := hints{Queues: []string{spec.Queue}}
	if watched {
		h.Tasks = []string{spec.ID.String()}
	}
	s.publish(&h)
	return true, nil
}
