package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

type workerRequest struct {
	Horizon   int64    `json:"horizon,omitempty"`
	ID        string   `json:"id,omitempty"`
	Worker    string   `json:"worker,omitempty"`
	Beat      int64    `json:"beat,omitempty"`
	DeadAfter int64    `json:"dead_after,omitempty"`
	Info      []byte   `json:"info,omitempty"`
	Load      []byte   `json:"load,omitempty"`
	Evidence  string   `json:"evidence,omitempty"`
	Session   *int64   `json:"session,omitempty"`
	Queues    []string `json:"queues"`
	Kinds     []string `json:"kinds"`
}

// Join creates a worker.
func (s *Store) Join(ctx context.Context, req store.JoinRequest) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if req.ID == "" || strings.ContainsAny(req.ID, "\x00\x01 ") || req.Beat <= 0 || req.DeadAfter <= 0 || req.Beat > req.DeadAfter/5 {
		return fmt.Errorf("%w: worker %q with beat %v and dead-after %v; it needs an id without spaces and a beat of at most a fifth of dead-after",
			store.ErrInvalid, req.ID, req.Beat, req.DeadAfter)
	}
	info, err := json.Marshal(req.Info)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	wire := workerRequest{
		ID: req.ID, Beat: bounded(req.Beat), DeadAfter: bounded(req.DeadAfter), Info: info, Load: encodeLoad(store.Load{}), Evidence: string(s.Info().Evidence),
	}
	if req.Remote {
		wire.Evidence = string(store.EvidenceNone)
	}
	if s.session == nil || req.Remote {
		return s.joinOn(ctx, s.pool, wire, nil)
	}
	err = s.session.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
		key := newKey()
		if _, err := c.Exec(ctx, s.q.get("vouch"), key); err != nil {
			return err
		}
		wire.Session = &key
		err := s.joinOn(ctx, c, wire, func(now int64) { s.session.vouch(req.ID, key, now) })
		if err != nil && !c.IsClosed() {
			_, _ = c.Exec(ctx, s.q.get("unvouch"), key) // a lock too many harms nobody
		}
		return err
	})
	return s.tell("join", err)
}

func (s *Store) joinOn(ctx context.Context, c querier, wire workerRequest, joined func(now int64)) error {
	var got struct {
		answer
		Now int64 `json:"now"`
	}
	if err := ask(ctx, c, s.q.get("join_worker"), wire, &got); err != nil {
		return s.tell("join", err)
	}
	if got.Err != "" {
		return fmt.Errorf("worker %s: %w", wire.ID, store.ErrDuplicate)
	}
	if joined != nil {
		joined(got.Now)
	}
	return nil
}

// vouch notes that the session holds a lock for a worker.
func (e *session) vouch(id string, key, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.workers[id] = &vouched{key: key, since: now}
}

// of returns what the session holds for a worker, or nil; and whether the worker is this handle's at all.
func (e *session) of(id string) (held *vouched, mine bool) {
	stands := e.stands()
	e.mu.Lock()
	defer e.mu.Unlock()
	v, mine := e.workers[id]
	if !stands {
		return nil, mine
	}
	return v, mine
}

func encodeLoad(l store.Load) []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // it is made of strings and numbers
	}
	return b
}

type beatAnswer struct {
	answer
	Work     bool    `json:"work"`
	Ripe     bool    `json:"ripe"`
	Ticks    bool    `json:"ticks"`
	Suspects bool    `json:"suspects"`
	Every    int64   `json:"every"`
	Session  *int64  `json:"session"`
	Asked    [][]any `json:"asked"`
}

// renewLimit is how long a beat waits for a session that was lost.
const renewLimit = 300 * time.Millisecond

// Beat keeps a worker alive. A session that was lost is made anew first, if that takes no longer than a moment.
func (s *Store) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	if err := s.begin(ctx); err != nil {
		return store.BeatResult{}, err
	}
	if s.session != nil && !s.session.stands() {
		if _, mine := s.session.of(req.Worker); mine {
			short, cancel := context.WithTimeout(ctx, renewLimit)
			_ = s.session.wait(short) // without it the beat still counts
			cancel()
		}
	}
	wire := workerRequest{Worker: req.Worker, Load: encodeLoad(req.Load), Queues: req.Queues, Kinds: req.Kinds}
	if wire.Queues == nil {
		wire.Queues = []string{}
	}
	if wire.Kinds == nil {
		wire.Kinds = []string{}
	}
	var got beatAnswer
	if err := s.call(ctx, "beat", wire, &got); err != nil {
		return store.BeatResult{}, err
	}
	if got.Err != "" {
		return store.BeatResult{}, deadError(req.Worker)
	}
	res := store.BeatResult{
		Work: got.Work, Ripe: got.Ripe, Ticks: got.Ticks, Suspects: got.Suspects, Every: time.Duration(got.Every), Evidence: store.EvidenceNone,
	}
	if s.session != nil && got.Session != nil {
		if held, mine := s.session.of(req.Worker); !mine || held != nil {
			res.Evidence = store.EvidenceSession
		}
	}
	for _, a := range got.Asked {
		res.Asked = append(res.Asked, heldOf(a))
	}
	return res, nil
}

// heldOf reads id, epoch, nonce, kind and request.
func heldOf(a []any) store.HeldTask {
	w := wireSubmitted(a)
	id, _ := store.ParseID(w.text(0)) // the server's own
	nonce, _ := store.ParseID(w.text(2))
	epoch, _ := a[1].(float64)
	return store.HeldTask{Fence: store.Fence{ID: id, Epoch: int64(epoch), Nonce: nonce}, Kind: w.text(3), Asked: w.text(4)}
}

// Leave marks a worker as left and puts its tasks back.
func (s *Store) Leave(ctx context.Context, worker string) (bool, error) {
	var got struct {
		answer
		More bool `json:"more"`
	}
	if err := s.call(ctx, "leave", workerRequest{Horizon: int64(s.cfg.Timing.Horizon), Worker: worker}, &got); err != nil {
		return false, err
	}
	if s.session == nil {
		return got.More, nil
	}
	if held, mine := s.session.of(worker); mine {
		s.session.forget(worker)
		if held != nil {
			_ = s.session.do(ctx, func(ctx context.Context, c *pgx.Conn) error { // a lock too many harms nobody
				_, err := c.Exec(ctx, s.q.get("unvouch"), held.key)
				return err
			})
		}
	}
	return got.More, nil
}

func (e *session) forget(worker string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.workers, worker)
}

// Holds lists what a worker holds.
func (s *Store) Holds(ctx context.Context, worker string) (list []store.HeldTask, err error) {
	err = s.rows(ctx, "holds", func(r pgx.Rows) error {
		var id, nonce pgtype.UUID
		var h store.HeldTask
		if err := r.Scan(&id, &h.Fence.Epoch, &nonce, &h.Kind, &h.Asked); err != nil {
			return err
		}
		h.Fence.ID, h.Fence.Nonce = id.Bytes, nonce.Bytes
		list = append(list, h)
		return nil
	}, worker)
	return list, err
}

// Workers lists all that are on record.
func (s *Store) Workers(ctx context.Context) (list []store.Worker, err error) {
	err = s.rows(ctx, "worker_all", func(r pgx.Rows) error {
		w, err := readWorker(r)
		list = append(list, w)
		return err
	})
	return list, err
}

// wireWorker is a worker as the view worker_list has it.
type wireWorker struct {
	ID        string `json:"id"`
	Beat      int64  `json:"beat"`
	DeadAfter int64  `json:"dead_after"`
	JoinedAt  int64  `json:"joined_at"`
	BeatAt    int64  `json:"beat_at"`
	DeadAt    *int64 `json:"dead_at"`
	Death     string `json:"death"`
	HeldAt    int    `json:"held_at"`
	Evidence  string `json:"evidence"`
	Info      []byte `json:"info"`
	Load      []byte `json:"load"`
}

func readWorker(r pgx.Row) (store.Worker, error) {
	var b []byte
	if err := r.Scan(&b); err != nil {
		return store.Worker{}, err
	}
	var w wireWorker
	if err := json.Unmarshal(b, &w); err != nil {
		return store.Worker{}, err
	}
	return w.worker(), nil
}

func (w *wireWorker) worker() store.Worker {
	v := store.Worker{
		ID: w.ID, Beat: time.Duration(w.Beat), DeadAfter: time.Duration(w.DeadAfter), JoinedAt: instant(&w.JoinedAt), BeatAt: instant(&w.BeatAt),
		DeadAt: instant(w.DeadAt), Death: store.Death(w.Death), HeldAt: w.HeldAt, Evidence: store.EvidenceKind(w.Evidence),
	}
	_ = json.Unmarshal(w.Info, &v.Info) // for people to read; a foreign hand's is none
	_ = json.Unmarshal(w.Load, &v.Load)
	return v
}
