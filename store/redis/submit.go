package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// submitChunk is how many tasks one step stores, and mouthful how many bytes: the server does nothing else meanwhile.
const (
	submitChunk = 500
	mouthful    = 8 << 20
)

// Submit stores tasks and groups. More than a chunk goes in several steps; groups are sealed with the last of them.
func (s *Store) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	if err := s.usable(ctx); err != nil {
		return store.SubmitResult{}, err
	}
	res := store.SubmitResult{Groups: make([]error, len(req.Groups)), Specs: make([]store.Submitted, len(req.Specs))}
	var groups []*store.NewGroup
	for i := range req.Groups {
		if res.Groups[i] = req.Groups[i].Validate(); res.Groups[i] == nil {
			groups = append(groups, &req.Groups[i])
		}
	}
	var valid []int
	for i := range req.Specs {
		spec := &req.Specs[i]
		if err := spec.Validate(); err != nil {
			res.Specs[i] = store.Submitted{ID: spec.ID, Err: err}
			continue
		}
		valid = append(valid, i)
	}
	for {
		n := portion(req.Specs, valid)
		if req.Claim != nil {
			n = len(valid) // the claim is about all of them
		}
		part := submission{req: &req, groups: groups, specs: valid[:n], last: n == len(valid)}
		if err := s.submit(ctx, part, &res); err != nil {
			return store.SubmitResult{}, err
		}
		if valid = valid[n:]; part.last {
			return res, nil
		}
	}
}

// portion is how many of some tasks one step stores: at least one, if there is one.
func portion(specs []store.Spec, valid []int) int {
	n, bytes := 0, 0
	for n < min(len(valid), submitChunk) && bytes < mouthful {
		bytes += len(specs[valid[n]].Args)
		n++
	}
	return n
}

// submission is what one script stores.
type submission struct {
	req    *store.SubmitRequest
	groups []*store.NewGroup
	specs  []int // in the request
	last   bool
}

func (part submission) pack(o *object) {
	p := o.key("groups")
	p.array(len(part.groups))
	for _, g := range part.groups {
		packNewGroup(p, &store.NewGroup{
			ID: g.ID, Name: g.Name, Hold: g.Hold, Seal: g.Seal, Parent: g.Parent, OnClose: g.OnClose, Labels: g.Labels, Retention: g.Retention,
		})
	}
	o.bool("last", part.last)
	heads := map[head]int{}
	var order []head
	p = o.key("specs")
	p.array(len(part.specs))
	for _, i := range part.specs {
		spec := &part.req.Specs[i]
		p.array(3)
		p.str(string(spec.ID[:]))
		p.str(string(packSpec(spec)))
		if !plain(spec) {
			p.bool(false)
			continue
		}
		h := headOf(spec)
		at, ok := heads[h]
		if !ok {
			order = append(order, h)
			at = len(order)
			heads[h] = at
		}
		p.int(int64(at))
	}
	p = o.key("heads")
	p.array(len(order))
	for _, h := range order {
		h.pack(p)
	}
	if claim := part.req.Claim; claim != nil {
		packClaim(o.key("claim"), claim)
	}
}

// plain reports whether a task is ready at once and has to do with no other: the script then needs its head alone.
func plain(s *store.Spec) bool {
	return s.Order == "" && s.Unique.Key == "" && s.Group.IsZero() && s.Parent.IsZero() && s.OnEnd == nil &&
		s.StartBy == 0 && s.Delay == 0 && s.DueAt.IsZero()
}

// head is what of a plain task its record begins with, and what many tasks of one call have in common.
type head struct {
	kind, queue, lane, limit string
	priority                 int
	owned                    bool
	timeout, retention       time.Duration
}

func headOf(s *store.Spec) head {
	return head{
		kind: s.Kind, queue: s.Queue, lane: s.Lane, limit: s.Limit, priority: s.Priority, owned: s.Owned, timeout: s.Timeout, retention: s.Retention,
	}
}

// pack writes a head with the names that packSpec uses.
func (h head) pack(p *packer) {
	o := p.object()
	o.str("kind", h.kind)
	o.str("queue", h.queue)
	o.str("lane", h.lane)
	o.str("limit", h.limit)
	o.int("prio", int64(h.priority))
	o.bool("owned", h.owned)
	o.int("timeout", int64(h.timeout))
	o.int("keep", int64(h.retention))
	o.close()
}

func (s *Store) submit(ctx context.Context, part submission, res *store.SubmitResult) error {
	if len(part.specs) == 0 && len(part.groups) == 0 && part.req.Claim == nil {
		return nil
	}
	r, err := s.run(ctx, "submit", part.pack)
	if err != nil {
		return err
	}
	answers := r.list("specs")
	if len(answers) != len(part.specs) {
		return fmt.Errorf("submit: %d answers for %d tasks: %w", len(answers), len(part.specs), errPacked)
	}
	for at, i := range part.specs {
		if state, plain := answers[at].(string); plain {
			spec := &part.req.Specs[i]
			res.Specs[i] = store.Submitted{ID: spec.ID, State: store.State(state), Fingerprint: spec.Fingerprint}
			continue
		}
		a, _ := answers[at].(record)
		res.Specs[i] = store.Submitted{
			ID: idOf(a["id"]), State: store.State(a.str("state")), Existed: a.bool("existed"), Fingerprint: a.str("finger"), Replaced: idOf(a["replaced"]), Err: refusal(a),
		}
	}
	if part.req.Claim == nil {
		return nil
	}
	if refused := r.map_("claimerr"); refused != nil {
		res.ClaimErr = refusal(refused)
	}
	res.Claimed, err = readTasks(r.list("tasks"))
	return err
}

// claimLimit is how many tasks of a queue one claim takes.
const claimLimit = 1000

// packClaim writes a claim. Kinds come sorted and once: the scripts do not compare strings.
func packClaim(p *packer, c *store.ClaimRequest) {
	o := p.object()
	packClaimFields(o, c)
	o.close()
}

func packClaimFields(o *object, c *store.ClaimRequest) {
	o.key("worker").str(c.Worker)
	o.key("nonce").str(string(c.Nonce[:]))
	o.bool("again", c.Repeat)
	if c.Suspects > 0 {
		o.key("suspects").int(int64(min(c.Suspects, claimLimit)))
	}
	o.bool("company", c.Company)
	p := o.key("queues")
	p.array(len(c.Queues))
	for _, q := range c.Queues {
		inner := p.object()
		inner.key("queue").str(q.Queue)
		inner.key("slots").int(int64(max(min(q.Slots, claimLimit), 0)))
		turn := store.ParseTurn(q.Cursor)
		inner.str("cursor", turn.Lane)
		if turn.Left > 0 {
			inner.key("left").int(int64(turn.Left))
		}
		inner.close()
	}
	packKinds(o, c.Kinds)
}

func packKinds(o *object, kinds []string) {
	kinds = slices.Compact(slices.Sorted(slices.Values(kinds)))
	p := o.key("kinds")
	p.array(len(kinds))
	for _, k := range kinds {
		p.str(k)
	}
}
