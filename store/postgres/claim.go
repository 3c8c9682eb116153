package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// claimWire is what the function claim takes.
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

// claimAnswer is what it returns.
type claimAnswer struct {
	answer
	Again   bool              `json:"again"`
	Cursors map[string]string `json:"cursors"`
	Next    int64             `json:"next"`
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
		tasks, err = askTasks(ctx, s.pool, s.q.get("claim"), s.claimWire(&req), &got)
		return err
	})
	switch {
	case err != nil:
		return store.ClaimResult{}, s.tell("claim", err)
	case got.Err != "":
		return store.ClaimResult{}, deadError(req.Worker)
	}
	s.publishWire(got.Hints)
	s.moved(len(tasks))
	return got.result(tasks), nil
}

func deadError(worker string) error { return fmt.Errorf("worker %s: %w", worker, store.ErrDead) }
