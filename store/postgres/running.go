package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// runsAtOnce reports whether a request stores one task, and claims it, that allReady would let by and that no limit and no order can keep
// from running.
func (s *Store) runsAtOnce(req *store.SubmitRequest) bool {
	if req.Claim == nil || req.Claim.Repeat || len(req.Specs) != 1 || req.Specs[0].Limit != "" || req.Specs[0].Order != "" {
		return false
	}
	plain := *req
	plain.Claim = nil
	return s.allReady(&plain)
}

// submitRunning stores such a task as one that runs, for a worker that lives and holds nothing, where nothing is paused. false: it is another
// case, and nothing was done. Two statements that go together are one transaction and one round trip: the first holds the worker, alone, so
// that the second sees what it holds, and whether it lives.
func (s *Store) submitRunning(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, bool, error) {
	if err := s.begin(ctx); err != nil {
		return store.SubmitResult{}, false, err
	}
	spec, claim := &req.Specs[0], req.Claim
	var c readyColumns
	if err := c.add(spec); err != nil {
		return store.SubmitResult{}, false, err
	}
	var r row
	var watched, stored bool
	args := slices.Delete(c.first(), startByColumn, startByColumn+1) // it starts
	var batch pgx.Batch
	batch.Queue(s.q.get("hold_worker"), claim.Worker)
	batch.Queue(s.q.get("submit_running"), append(args, claim.Worker, pgtype.UUID{Bytes: claim.Nonce, Valid: true})...).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, append([]any{&watched}, r.targets()...), func() error {
			stored = true
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, &batch).Close(); err != nil || !stored {
		return store.SubmitResult{}, false, err
	}
	if watched {
		var h hints
		h.task(spec.ID.String(), true)
		s.publish(&h)
	}
	return store.SubmitResult{
		Groups: []error{}, Specs: []store.Submitted{{ID: spec.ID, State: store.Running, Fingerprint: spec.Fingerprint}}, Claimed: []store.Task{r.task()},
	}, true, nil
}
