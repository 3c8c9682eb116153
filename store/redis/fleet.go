package redis

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// Join creates a worker. It waits a while for the session that bears witness for it; without one, silence decides until a later
// beat names it.
func (s *Store) Join(ctx context.Context, req store.JoinRequest) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if req.ID == "" || req.Beat <= 0 || req.DeadAfter <= 0 || req.Beat > req.DeadAfter/5 {
		return fmt.Errorf("%w: worker %q with beat %v and dead-after %v; it needs an id and a beat of at most a fifth of dead-after",
			store.ErrInvalid, req.ID, req.Beat, req.DeadAfter)
	}
	info, err := json.Marshal(req.Info)
	if err != nil {
		return fmt.Errorf("%w: worker %q: %w", store.ErrInvalid, req.ID, err)
	}
	if req.Remote {
		return s.join(ctx, req, info, nil)
	}
	patience, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	up, err := s.session.open(patience)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	s.session.vouch(req.ID, 1)
	if err = s.join(ctx, req, info, up); store.Answered(err) {
		s.session.vouch(req.ID, -1)
	}
	return err
}

func (s *Store) join(ctx context.Context, req store.JoinRequest, info []byte, up *line) error {
	return s.do(ctx, "join", func(o *object) {
		o.key("schema").int(schemaVersion)
		o.key("worker").str(req.ID)
		o.key("beat").float(float64(req.Beat) / 1000)
		o.key("deadafter").float(float64(req.DeadAfter) / 1000)
		o.key("info").str(string(info))
		o.bool("remote", req.Remote)
		up.named(o)
	})
}

// Beat keeps a worker alive.
func (s *Store) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	load, err := json.Marshal(req.Load)
	if err != nil {
		return store.BeatResult{}, fmt.Errorf("%w: load of worker %s: %w", store.ErrInvalid, req.Worker, err)
	}
	r, err := s.run(ctx, "beat", func(o *object) {
		o.key("schema").int(schemaVersion)
		o.key("worker").str(req.Worker)
		o.key("load").str(string(load))
		p := o.key("queues")
		p.array(len(req.Queues))
		for _, q := range req.Queues {
			p.str(q)
		}
		packKinds(o, req.Kinds)
		if own := s.session.vouches(req.Worker); own {
			o.bool("own", own)
			s.session.now().named(o)
		}
	})
	if err != nil {
		return store.BeatResult{}, err
	}
	res := store.BeatResult{
		Work: r.bool("work"), Ripe: r.bool("ripe"), Ticks: r.bool("ticks"), Suspects: r.bool("suspects"), Asked: readHeld(r.list("asked")),
		Every: span(r["every"]), Evidence: store.EvidenceNone,
	}
	if r.bool("session") {
		res.Evidence = store.EvidenceSession
	}
	return res, nil
}

// Leave marks a worker as left and puts its tasks back.
func (s *Store) Leave(ctx context.Context, worker string) (bool, error) {
	defer s.session.vouch(worker, -1)
	r, err := s.run(ctx, "leave", func(o *object) {
		o.key("worker").str(worker)
		o.key("evidence").bool(s.evidence != store.EvidenceNone)
		packErrors(o)
	})
	return r.bool("more"), err
}

// packErrors writes what the scripts may have to write into records.
func packErrors(o *object) {
	o.key("crashed").str(crashedError)
	o.key("stuck").str(stuckError)
}

// Holds lists what a worker holds.
func (s *Store) Holds(ctx context.Context, worker string) ([]store.HeldTask, error) {
	r, err := s.run(ctx, "holds", func(o *object) {
		o.key("worker").str(worker)
		packErrors(o)
	})
	return readHeld(r.list("list")), err
}

func readHeld(list []any) []store.HeldTask {
	var held []store.HeldTask
	for _, v := range list {
		if l, _ := v.([]any); len(l) == 5 {
			held = append(held, store.HeldTask{
				Fence: store.Fence{ID: idOf(l[0]), Epoch: whole(l[1]), Nonce: idOf(l[2])}, Kind: text(l[3]), Asked: text(l[4]),
			})
		}
	}
	return held
}

// Workers lists all that are on record.
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	var list []store.Worker
	after := ""
	for {
		r, err := s.run(ctx, "workers", func(o *object) {
			o.key("after").str(after)
			o.key("limit").int(stepLimit)
		})
		if err != nil {
			return nil, err
		}
		part := readWorkers(r.list("list"))
		if list = append(list, part...); len(part) < stepLimit {
			return list, nil
		}
		after = part[len(part)-1].ID
	}
}

func readWorkers(parts []any) []store.Worker {
	var list []store.Worker
	for _, v := range parts {
		if l, _ := v.([]any); len(l) == 2 {
			list = append(list, readWorker(text(l[0]), text(l[1])))
		}
	}
	return list
}
