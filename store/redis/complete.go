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
	r, given, err := s.runGiven(ctx, "complete", func(o *object) {
		p := o.key("runs")
		p.array(4 * len(items))
		for i := range items {
			packRun(p, &items[i])
		}
		if claim != nil {
			packClaim(o.key("claim"), claim)
		}
		o.key("broken").str(brokenError)
	})
	if err != nil {
		return err
	}
	from := len(res.Items)
	for range items {
		res.Items = append(res.Items, store.Completed{State: store.Done})
	}
	odd := r.list("odd")
	for n := 0; n+1 < len(odd); n += 2 {
		at := whole(odd[n])
		a, ok := odd[n+1].(record)
		if !ok || at < 0 || at >= int64(len(items)) {
			return fmt.Errorf("complete: an answer for outcome %d of %d: %w", at, len(items), errPacked)
		}
		res.Items[from+int(at)] = store.Completed{State: store.State(a.str("state")), Repeated: a.bool("repeated"), Err: refusal(a)}
	}
	if claim == nil {
		return nil
	}
	c := r.map_("claim")
	if res.ClaimErr = refusal(c); res.ClaimErr != nil {
		return nil
	}
	res.Claim, err = readClaim(c, given)
	return err
}

// packRun writes a run that has ended: its fence, and its outcome, of which mostly the result is all there is to say.
func packRun(p *packer, c *store.Completion) {
	p.str(string(c.Fence.ID[:]))
	p.int(c.Fence.Epoch)
	p.str(string(c.Fence.Nonce[:]))
	out := &c.Outcome
	switch {
	case !simplyDone(out):
		p.b = append(p.b, packOutcome(out)...)
	case out.Result == nil:
		p.bool(false)
	default:
		packStr(p, out.Result)
	}
}

// simplyDone reports whether an outcome says nothing but that a run is done, and perhaps its result.
func simplyDone(out *store.Outcome) bool {
	return out.Kind == store.OutcomeDone && out.Reason == "" && out.Delay == 0 && out.Wakes == 0 && out.Error == nil && out.Progress == nil &&
		len(out.Entries) == 0 && len(out.Consume) == 0 && len(out.Groups) == 0 && len(out.Follow) == 0
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
