package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// bareRuns are runs that are done and bring nothing but a result, column by column in the order of ids, as the server locks them. Nil
// columns are no runs.
type bareRuns struct {
	ids, nonces []pgtype.UUID
	epochs      []int64
	results     [][]byte
	places      []int64 // of each among the items of the request
}

// bare makes columns of items, or nil if one of them is more than that, or comes twice.
func bare(items []store.Completion) *bareRuns {
	if len(items) == 0 {
		return nil
	}
	places := make([]int64, len(items))
	for i := range items {
		o := &items[i].Outcome
		if !plainDone(o) || o.Reason != "" || o.Progress != nil || len(o.Entries) > 0 {
			return nil
		}
		places[i] = int64(i)
	}
	slices.SortFunc(places, func(a, b int64) int { return bytes.Compare(items[a].Fence.ID[:], items[b].Fence.ID[:]) })
	n := len(items)
	r := &bareRuns{
		ids: make([]pgtype.UUID, n), nonces: make([]pgtype.UUID, n), epochs: make([]int64, n), results: make([][]byte, n), places: places,
	}
	for i, place := range places {
		f := &items[place].Fence
		if i > 0 && r.ids[i-1].Bytes == f.ID {
			return nil
		}
		r.ids[i], r.nonces[i] = pgtype.UUID{Bytes: f.ID, Valid: true}, pgtype.UUID{Bytes: f.Nonce, Valid: true}
		r.epochs[i], r.results[i] = f.Epoch, items[place].Outcome.Result
	}
	return r
}

// completeBare completes them, and claims if that is asked for.
func (s *Store) completeBare(ctx context.Context, req store.CompleteRequest, runs *bareRuns) (store.CompleteResult, error) {
	var got completeAnswer
	var tasks []store.Task
	var err error
	if req.Claim != nil {
		wire := s.claimWire(req.Claim)
		tasks, err = s.exchange(ctx, exchangeRequest{Horizon: wire.Horizon, Claim: wire}, runs, &got)
	} else {
		var text []byte
		row := s.pool.QueryRow(ctx, s.q.get("complete_done"), int64(s.cfg.Timing.Horizon), runs.ids, runs.epochs, runs.nonces, runs.results, runs.places)
		if err = row.Scan(&text); err == nil {
			err = json.Unmarshal(text, &got)
		}
	}
	if err != nil {
		return store.CompleteResult{}, err
	}
	items := make([]store.Completed, len(req.Items))
	for i, item := range got.Items {
		place := runs.places[i]
		items[place] = completed(item, req.Items[place].Fence, nil)
	}
	return s.completeResult(req, &got, items, tasks), nil
}
