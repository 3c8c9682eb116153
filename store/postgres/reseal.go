package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

type resealRequest struct {
	Horizon  int64       `json:"horizon"`
	Task     *wireID     `json:"task,omitempty"`
	Group    *wireID     `json:"group,omitempty"`
	Schedule string      `json:"schedule,omitempty"`
	Version  int64       `json:"version"`
	Args     []byte      `json:"args"`
	OnEnd    []byte      `json:"on_end"`
	Result   []byte      `json:"result"`
	Detail   []byte      `json:"detail"`
	Note     []byte      `json:"note"`
	Entries  []wireEntry `json:"entries,omitempty"`
	Messages [][2]any    `json:"messages,omitempty"` // id and body
}

// Reseal replaces sealed bytes of one record.
func (s *Store) Reseal(ctx context.Context, req store.ResealRequest) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	wire := resealRequest{
		Horizon: int64(s.cfg.Timing.Horizon), Task: optional(req.Task), Group: optional(req.Group), Schedule: req.Schedule, Version: req.Version,
		Args: req.Args, OnEnd: req.OnEnd, Result: req.Result, Detail: req.Detail, Entries: prepareEntries(req.Entries),
	}
	if req.Note != "" {
		wire.Note = []byte(req.Note)
	}
	for id, body := range req.Messages {
		wire.Messages = append(wire.Messages, [2]any{wireID(id), body})
	}
	what := fmt.Sprintf("reseal %s%s%s at version %d", req.Task, req.Group, req.Schedule, req.Version)
	var got answer
	if err := s.call(ctx, "reseal", wire, &got); err != nil {
		return err
	}
	switch got.Err {
	case "":
		return nil
	case "notfound":
		return fmt.Errorf("%s: %w", what, store.ErrNotFound)
	case "state":
		return fmt.Errorf("%s, whose outcome is staged: %w", what, store.ErrState)
	}
	return fmt.Errorf("%s: it has moved on, or has not got that: %w", what, store.ErrChanged)
}
