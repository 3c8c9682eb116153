package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// claimWire is a claim, as the functions take it.
type claimWire struct {
	Horizon  int64       `json:"horizon"`
	Worker   string      `json:"worker"`
	Nonce    wireID      `json:"nonce"`
	Repeat   bool        `json:"repeat"`
	Queues   []queueWire `json:"queues"`
	Kinds    []string    `json:"kinds"`
	Suspects int         `json:"suspects"`
	Company  bool        `json:"company"`
	Aged     int64       `json:"aged"`
	Trusting bool        `json:"trusting,omitempty"` // that all records can be read
}

type queueWire struct {
	Queue  string `json:"queue"`
	Slots  int    `json:"slots"`
	Cursor string `json:"cursor"`
}

func (s *Store) claimWire(req *store.ClaimRequest) *claimWire {
	w := &claimWire{
		Horizon: int64(s.cfg.Timing.Horizon), Worker: req.Worker, Nonce: wireID(req.Nonce), Repeat: req.Repeat, Queues: []queueWire{},
		Kinds: req.Kinds, Suspects: req.Suspects, Company: req.Company, Aged: int64(s.cfg.Timing.Aged),
	}
	if w.Kinds == nil {
		w.Kinds = []string{}
	}
	for _, q := range req.Queues {
		w.Queues = append(w.Queues, queueWire(q))
	}
	return w
}

// exchangeRequest is what the function exchange takes.
type exchangeRequest struct {
	Horizon int64      `json:"horizon"`
	Claim   *claimWire `json:"claim"`
}

func (r exchangeRequest) claims() *claimWire { return r.Claim }

// exchanging is a request that claims, whatever else.
type exchanging interface{ claims() *claimWire }

// claimAnswer is what it returns besides tasks.
type claimAnswer struct {
	answer
	Again    bool              `json:"again"`
	Cursors  map[string]string `json:"cursors"`
	Next     int64             `json:"next"`
	ClaimErr string            `json:"claim_err"`
}

func (a *claimAnswer) result(tasks []store.Task) store.ClaimResult {
	return store.ClaimResult{Tasks: tasks, Cursors: a.Cursors, Next: time.Duration(a.Next), Again: a.Again}
}

// Claim takes ready tasks.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	if err := s.begin(ctx); err != nil {
		return store.ClaimResult{}, err
	}
	var got claimAnswer
	var tasks []store.Task
	err := patiently(ctx, func() (err error) {
		got = claimAnswer{}
		wire := s.claimWire(&req)
		tasks, err = s.exchange(ctx, exchangeRequest{Horizon: wire.Horizon, Claim: wire}, &bareRuns{}, &got)
		return err
	})
	switch {
	case err != nil:
		return store.ClaimResult{}, s.tell("claim", err)
	case got.ClaimErr != "":
		return store.ClaimResult{}, deadError(req.Worker)
	}
	s.publishWire(got.Hints)
	s.moved(len(tasks))
	return got.result(tasks), nil
}

// exchange sends a request that claims, and completes runs. It is made anew if it meets a record that cannot be read: nothing was done.
func (s *Store) exchange(ctx context.Context, req exchanging, runs *bareRuns, res any) ([]store.Task, error) {
	claim := req.claims()
	claim.Trusting = true
	tasks, err := s.exchangeNow(ctx, req, runs, res)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "OL001" {
		claim.Trusting = false
		tasks, err = s.exchangeNow(ctx, req, runs, res)
	}
	return tasks, err
}

// exchangeNow makes the call. Tasks come first, and then the answer.
func (s *Store) exchangeNow(ctx context.Context, req exchanging, runs *bareRuns, res any) (tasks []store.Task, err error) {
	text, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	rows, err := s.pool.Query(ctx, s.q.get("exchange"), string(text), runs.ids, runs.epochs, runs.nonces, runs.results, runs.places)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	claim := req.claims()
	var r row
	var unread []int
	var nth int64
	var nths []int64
	targets := append([]any{nil, &nth}, r.taken()...) // nil takes no notice of a column
	for rows.Next() {
		if raw := rows.RawValues(); raw[0] != nil {
			var meta []byte
			alone := make([]any, len(raw))
			alone[0] = &meta
			if err := rows.Scan(alone...); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(meta, res); err != nil {
				return nil, err
			}
			continue
		}
		r = row{state: string(store.Running), nonce: pgtype.UUID{Bytes: claim.Nonce, Valid: true}, t: store.Task{Worker: claim.Worker}}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		tasks, nths = append(tasks, r.task()), append(nths, nth)
		if !r.whole {
			unread = append(unread, len(tasks)-1)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, i := range unread { // its columns still stand
		if tasks[i], err = s.Get(ctx, tasks[i].ID); err != nil {
			return nil, err
		}
	}
	return inOrder(tasks, nths), nil
}

// inOrder puts tasks in the order of their numbers, in which they mostly come.
func inOrder(tasks []store.Task, nths []int64) []store.Task {
	if slices.IsSorted(nths) {
		return tasks
	}
	places := make([]int, len(tasks))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(nths[a], nths[b]) })
	sorted := make([]store.Task, len(tasks))
	for i, place := range places {
		sorted[i] = tasks[place]
	}
	return sorted
}

func deadError(worker string) error { return fmt.Errorf("worker %s: %w", worker, store.ErrDead) }
