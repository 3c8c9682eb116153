package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

type saveRequest struct {
	fenceWire
	Seq      int64       `json:"seq,omitempty"`
	Entries  []wireEntry `json:"entries,omitempty"`
	Progress *wireStand  `json:"progress,omitempty"`
	Consume  []wireID    `json:"consume,omitempty"`
}

type saveAnswer struct {
	answer
	Asked string `json:"asked"`
	Saves int64  `json:"saves"`
}

// Save writes what a run wants to keep. Saves that come while others are under way go together.
func (s *Store) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	if err := s.begin(ctx); err != nil {
		return "", err
	}
	f := req.Fence
	t := &saving{ctx: ctx, done: make(chan struct{}), wire: saveRequest{
		fenceWire: fenceWire{Horizon: int64(s.cfg.Timing.Horizon), ID: wireID(f.ID), Epoch: f.Epoch, Nonce: wireID(f.Nonce)},
		Seq:       req.Seq, Entries: prepareEntries(req.Entries), Progress: prepareProgress(req.Progress), Consume: prepareIDs(req.Consume),
	}}
	if err := s.saves.add(t); err != nil {
		return "", err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return "", s.tell("save", ctx.Err()) // it may be written all the same
	}
	switch {
	case t.err != nil:
		return "", t.err
	case t.got.Err == "fenced":
		return "", fencedError(f)
	case t.got.Err == "changed":
		return t.got.Asked, fmt.Errorf("save %d of task %s comes after save %d: %w", req.Seq, f.ID, t.got.Saves, store.ErrChanged)
	}
	return t.got.Asked, nil
}

// Load reads checkpoint entries.
func (s *Store) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	wanted := make([][]byte, len(names))
	for i, name := range names {
		wanted[i] = []byte(name)
	}
	entries := map[string][]byte{}
	stripped, found := false, false
	err := s.read(ctx, func(ctx context.Context, c querier) error {
		rows, err := c.Query(ctx, s.q.get("load"), id.String())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value []byte
			if err := rows.Scan(&stripped, &name, &value); err != nil {
				return err
			}
			found = true
			if name != nil && (len(names) == 0 || contains(wanted, name)) {
				entries[string(name)] = value
			}
		}
		return rows.Err()
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, notFound(id)
	case stripped:
		return nil, fmt.Errorf("the checkpoint of task %s is gone: %w", id, store.ErrNotFound)
	}
	return entries, nil
}

func contains(list [][]byte, name []byte) bool {
	for _, l := range list {
		if string(l) == string(name) {
			return true
		}
	}
	return false
}

func notFound(id store.ID) error { return fmt.Errorf("task %s: %w", id, store.ErrNotFound) }
