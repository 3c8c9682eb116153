package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// fenceWire is a fence and what is written under it.
type fenceWire struct {
	Horizon int64        `json:"horizon,omitempty"`
	ID      wireID       `json:"id"`
	Epoch   int64        `json:"epoch"`
	Nonce   wireID       `json:"nonce"`
	Quick   bool         `json:"quick,omitempty"` // it is done and brings nothing but a result, entries and progress
	Out     *wireOutcome `json:"out,omitempty"`
}

type completeRequest struct {
	Horizon int64       `json:"horizon"`
	Items   []fenceWire `json:"items"`
	Quick   bool        `json:"quick,omitempty"` // some item is
	Plain   bool        `json:"plain,omitempty"` // all of them are
	Brief   bool        `json:"brief"`           // no word of the items if all of them are done so
	Claim   *claimWire  `json:"claim,omitempty"`
}

func (r completeRequest) claims() *claimWire { return r.Claim }

type completeAnswer struct {
	claimAnswer
	Items [][]any `json:"items"`
}

// Complete ends runs by their outcomes.
func (s *Store) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if len(req.Items) < 2 && req.Claim == nil {
		var res store.CompleteResult
		err := patiently(ctx, func() (err error) {
			res, err = s.complete(ctx, req)
			return err
		})
		return res, s.tell("complete", err)
	}
	res, err := s.complete(ctx, req)
	if !collided(err) && !unfit(err) {
		return res, s.tell("complete", err)
	}
	return s.completeEach(ctx, req)
}

// completeEach makes one call of each item: one of them collides with others, or cannot be stored, and must not keep the rest.
func (s *Store) completeEach(ctx context.Context, req store.CompleteRequest) (res store.CompleteResult, err error) {
	for _, c := range req.Items {
		var got store.CompleteResult
		err := patiently(ctx, func() (err error) {
			got, err = s.complete(ctx, store.CompleteRequest{Items: []store.Completion{c}})
			return err
		})
		switch {
		case unfit(err):
			res.Items = append(res.Items, store.Completed{Err: s.tell("complete", err)})
		case err != nil:
			return store.CompleteResult{}, s.tell("complete", err)
		default:
			res.Items = append(res.Items, got.Items[0])
		}
	}
	if req.Claim != nil {
		res.Claim, res.ClaimErr = s.Claim(ctx, *req.Claim)
		if res.ClaimErr != nil && !store.Answered(res.ClaimErr) {
			return store.CompleteResult{}, res.ClaimErr
		}
	}
	return res, nil
}

func (s *Store) complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if err := s.begin(ctx); err != nil {
		return store.CompleteResult{}, err
	}
	if runs := bare(req.Items); runs != nil {
		return s.completeBare(ctx, req, runs)
	}
	wire, bad := s.completeRequest(req.Items)
	var got completeAnswer
	var tasks []store.Task
	var err error
	if req.Claim == nil {
		err = ask(ctx, s.pool, s.q.get("complete"), wire, &got)
	} else {
		wire.Claim = s.claimWire(req.Claim)
		tasks, err = s.exchange(ctx, wire, &bareRuns{}, &got)
	}
	if err != nil {
		return store.CompleteResult{}, err
	}
	items := make([]store.Completed, len(req.Items))
	for i, item := range got.Items {
		items[i] = completed(item, req.Items[i].Fence, bad[i])
	}
	return s.completeResult(req, &got, items, tasks), nil
}

// completeResult is the answer to a call; items are told if not all were done in short.
func (s *Store) completeResult(req store.CompleteRequest, got *completeAnswer, items []store.Completed, tasks []store.Task) store.CompleteResult {
	s.publishWire(got.Hints)
	s.moved(len(items) + len(tasks))
	if got.Items == nil {
		for i := range items {
			items[i].State = store.Done
		}
	}
	res := store.CompleteResult{Items: items}
	switch {
	case req.Claim == nil:
	case got.ClaimErr != "":
		res.ClaimErr = deadError(req.Claim.Worker)
	default:
		res.Claim = got.result(tasks)
	}
	return res
}

// completeRequest prepares the items; those that can never be applied are sent for their fences alone, and said why in their place.
func (s *Store) completeRequest(items []store.Completion) (completeRequest, []error) {
	wire := completeRequest{Horizon: int64(s.cfg.Timing.Horizon), Items: []fenceWire{}, Brief: true, Plain: len(items) > 0}
	bad := make([]error, len(items))
	times := map[store.ID]int{}
	for i := range items {
		times[items[i].Fence.ID]++
	}
	for i := range items {
		c := &items[i]
		f := fenceWire{ID: wireID(c.Fence.ID), Epoch: c.Fence.Epoch, Nonce: wireID(c.Fence.Nonce)}
		switch bad[i] = validate(&c.Outcome); {
		case bad[i] != nil:
			f.Out = &wireOutcome{Kind: clean(string(c.Outcome.Kind)), Bad: true}
		case times[c.Fence.ID] == 1 && plainDone(&c.Outcome):
			f.Out = &wireOutcome{
				Kind: string(c.Outcome.Kind), Reason: clean(c.Outcome.Reason), Result: c.Outcome.Result,
				Progress: prepareProgress(c.Outcome.Progress), Entries: prepareEntries(c.Outcome.Entries),
			}
			f.Quick, wire.Quick = true, true
		default:
			f.Out = prepareOutcome(&c.Outcome)
		}
		wire.Plain = wire.Plain && f.Quick
		wire.Items = append(wire.Items, f)
	}
	return wire, bad
}

// completed reads what became of one item: state, repeated, error, detail.
func completed(item []any, f store.Fence, bad error) store.Completed {
	w := wireSubmitted(item)
	c := store.Completed{State: store.State(w.text(0))}
	if len(item) > 1 {
		c.Repeated, _ = item[1].(bool)
	}
	c.Err = outcomeError(w.text(2), w.text(3), f, bad)
	return c
}

// outcomeError is why an outcome was refused.
func outcomeError(code, detail string, f store.Fence, bad error) error {
	switch code {
	case "":
		return nil
	case "bad":
		return bad
	case "invalid-notfound":
		return fmt.Errorf("%w: follow-up %s: its group: %w", store.ErrInvalid, detail, store.ErrNotFound)
	case "invalid-state":
		return fmt.Errorf("%w: follow-up %s: its group takes no more members: %w", store.ErrInvalid, detail, store.ErrState)
	}
	return fencedError(f)
}

func fencedError(f store.Fence) error {
	return fmt.Errorf("task %s, epoch %d: %w", f.ID, f.Epoch, store.ErrFenced)
}

// Stage writes an outcome as ended, unsettled.
func (s *Store) Stage(ctx context.Context, c store.Completion) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.tell("stage", patiently(ctx, func() error { return s.stage(ctx, s.pool, c) }))
}

func (s *Store) stage(ctx context.Context, on querier, c store.Completion) error {
	wire := fenceWire{Horizon: int64(s.cfg.Timing.Horizon), ID: wireID(c.Fence.ID), Epoch: c.Fence.Epoch, Nonce: wireID(c.Fence.Nonce)}
	bad := validate(&c.Outcome)
	if bad != nil {
		wire.Out = &wireOutcome{Kind: clean(string(c.Outcome.Kind)), Bad: true}
	} else {
		wire.Out = prepareOutcome(&c.Outcome)
		wire.Out.Whole = &wholeStaged{Delay: c.Outcome.Delay, Reason: []byte(c.Outcome.Reason), Empty: c.Outcome.Entries != nil && len(c.Outcome.Entries) == 0}
	}
	var got answer
	if err := ask(ctx, on, s.q.get("stage"), wire, &got); err != nil {
		return err
	}
	if got.Err == "state" {
		return fmt.Errorf("task %s: an outcome is staged already: %w", c.Fence.ID, store.ErrState)
	}
	return outcomeError(got.Err, got.Detail, c.Fence, bad)
}
