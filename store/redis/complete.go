package redis

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// completeChunk is how many outcomes one script applies; their follow-ups count as well.
const completeChunk = 250

// Complete ends runs by their outcomes. More than a chunk goes in several steps; the claim comes with the last of them.
func (s *Store) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if err := s.usable(ctx); err != nil {
		return store.CompleteResult{}, err
	}
	res := store.CompleteResult{Items: make([]store.Completed, 0, len(req.Items))}
	items := req.Items
	for {
		n, weight := 0, 0
		for n < len(items) && (n == 0 || weight < completeChunk) {
			weight += 1 + len(items[n].Outcome.Follow) + len(items[n].Outcome.Result)*completeChunk/mouthful
			n++
		}
		claim := req.Claim
		if n < len(items) {
			claim = nil
		}
		if n > 0 || claim != nil {
			if err := s.complete(ctx, items[:n], claim, &res); err != nil {
				return store.CompleteResult{}, err
			}
		}
		if items = items[n:]; len(items) == 0 {
			return res, nil
		}
	}
}

func (s *Store) complete(ctx context.Context, items []store.Completion, claim *store.ClaimRequest, res *store.CompleteResult) error {
	r, err := s.run(ctx, "complete", func(o *object) {
		p := o.key("items")
		p.array(len(items))
		for i := range items {
			p.array(2)
			packFence(p, items[i].Fence)
			p.b = append(p.b, packOutcome(&items[i].Outcome)...)
		}
		if claim != nil {
			packClaim(o.key("claim"), claim)
		}
		o.key("corrupt").str(corruptError)
		o.key("broken").str(brokenError)
	})
	if err != nil {
		return err
	}
	answers := r.list("items")
	if len(answers) != len(items) {
		return fmt.Errorf("complete: %d answers for %d outcomes: %w", len(answers), len(items), errPacked)
	}
	for _, v := range answers {
		a, _ := v.(record)
		res.Items = append(res.Items, store.Completed{State: store.State(a.str("state")), Repeated: a.bool("repeated"), Err: refusal(a)})
	}
	if claim == nil {
		return nil
	}
	c := r.map_("claim")
	if res.ClaimErr = refusal(c); res.ClaimErr != nil {
		return nil
	}
	res.Claim, err = readClaim(c)
	return err
}

// Stage writes an outcome as ended, unsettled.
func (s *Store) Stage(ctx context.Context, c store.Completion) error {
	raw, err := packStaged(&c.Outcome)
	if err != nil {
		return err
	}
	return s.do(ctx, "stage", func(o *object) {
		packFence(o.key("fence"), c.Fence)
		p := o.key("out")
		p.b = append(p.b, packOutcome(&c.Outcome)...)
		o.key("raw").str(string(raw))
	})
}
