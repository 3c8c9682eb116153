package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

type recoverRequest struct {
	Horizon int64   `json:"horizon"`
	Worker  string  `json:"worker"`
	Limit   int     `json:"limit"`
	Every   int64   `json:"every"`
	Force   bool    `json:"force"`
	Gone    int64   `json:"gone"`
	Stuck   int64   `json:"stuck"`
	Since   *int64  `json:"since,omitempty"`
	Mine    []int64 `json:"mine"`
	Blind   bool    `json:"blind"`
}

type recoverAnswer struct {
	answer
	Dead   []wireWorker    `json:"dead"`
	Tasks  []wireRecovered `json:"tasks"`
	Buried int             `json:"buried"`
	More   bool            `json:"more"`
	Next   int64           `json:"next"`
	Gated  bool            `json:"gated"` // another pass is under way
}

type wireRecovered struct {
	ID      wireID `json:"id"`
	Kind    string `json:"kind"`
	Queue   string `json:"queue"`
	Worker  string `json:"worker"`
	Death   string `json:"death"`
	Crash   bool   `json:"crash"`
	Settled bool   `json:"settled"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// Recover declares the dead and puts a chunk of their tasks back. It runs on the connection that vouches for the asker: where that was
// lost, with everybody else's perhaps, it bears no witness.
func (s *Store) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	if err := s.begin(ctx); err != nil {
		return store.RecoverResult{}, err
	}
	if req.Limit <= 0 {
		req.Limit = 100
	}
	t := s.cfg.Timing
	wire := recoverRequest{
		Horizon: int64(t.Horizon), Worker: req.Worker, Limit: req.Limit, Every: int64(t.RecoverEvery), Force: req.Force, Gone: int64(t.GoneAfter),
		Stuck: int64(t.StuckGrace), Mine: []int64{}, Blind: s.session == nil,
	}
	if s.session != nil {
		if held, _ := s.session.of(req.Worker); held != nil {
			var res store.RecoverResult
			err := s.session.do(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
				// What it holds now: it may have been renewed since.
				if held, _ := s.session.of(req.Worker); held != nil {
					wire.Since, wire.Mine = &held.since, s.session.keys()
				}
				res, err = s.recover(ctx, c, wire)
				return err
			})
			return res, s.tell("recover", err)
		}
	}
	res, err := s.recover(ctx, s.pool, wire)
	return res, s.tell("recover", err)
}

// keys lists the locks that the session holds.
func (e *session) keys() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]int64, 0, len(e.workers))
	for _, v := range e.workers {
		list = append(list, v.key)
	}
	return list
}

func (s *Store) recover(ctx context.Context, c querier, wire recoverRequest) (store.RecoverResult, error) {
	var passed bool
	if err := ask(ctx, c, s.q.get("recover_gate"), wire, &passed); err != nil {
		return store.RecoverResult{}, err
	}
	if !passed {
		return store.RecoverResult{Gated: true}, nil
	}
	var got recoverAnswer
	err := patiently(ctx, func() error {
		got = recoverAnswer{}
		return ask(ctx, c, s.q.get("recover"), wire, &got)
	})
	if err != nil {
		return store.RecoverResult{}, err
	}
	s.publishWire(got.Hints)
	res := store.RecoverResult{Buried: got.Buried, More: got.More, Next: time.Duration(got.Next), Gated: got.Gated}
	for i := range got.Dead {
		res.Dead = append(res.Dead, got.Dead[i].worker())
	}
	for _, t := range got.Tasks {
		res.Tasks = append(res.Tasks, store.Recovered{
			ID: store.ID(t.ID), Kind: t.Kind, Queue: t.Queue, Worker: t.Worker, Death: store.Death(t.Death), Crash: t.Crash,
			State: store.State(t.State), Reason: t.Reason, Settled: t.Settled,
		})
	}
	return res, nil
}
