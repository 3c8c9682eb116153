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
	if len(part.groups) > 0 {
		part.packGroups(o)
	}
	var heads headList
	var seen map[store.ID]bool
	if len(part.specs) > 1 {
		seen = make(map[store.ID]bool, len(part.specs))
	}
	p := o.key("specs")
	p.array(4 * len(part.specs))
	for _, i := range part.specs {
		spec := &part.req.Specs[i]
		p.str(string(spec.ID[:]))
		p.nested(func() { appendSpec(p, spec) })
		if !plain(spec) || seen[spec.ID] {
			p.bool(false)
			p.bool(false)
			continue
		}
		if seen != nil {
			seen[spec.ID] = true
		}
		p.int(int64(heads.number(headOf(spec))))
		if spec.Group.IsZero() {
			p.bool(false)
		} else {
			p.str(placeOf(spec.Line))
		}
	}
	p = o.key("heads")
	p.array(len(heads.list))
	for _, h := range heads.list {
		p.nested(func() { h.pack(p) })
	}
	if claim := part.req.Claim; claim != nil {
		packClaim(o.key("claim"), claim)
	}
}

func (part submission) packGroups(o *object) {
	p := o.key("groups")
	p.array(len(part.groups))
	for _, g := range part.groups {
		packNewGroup(p, &store.NewGroup{
			ID: g.ID, Name: g.Name, Hold: g.Hold, Seal: g.Seal, Parent: g.Parent, OnClose: g.OnClose, Labels: g.Labels, Retention: g.Retention,
		})
	}
	o.bool("last", part.last)
}

// plain reports whether a task is ready at once, or waits for its group alone, and has to do with no other task: the script then needs
// its head alone.
func plain(s *store.Spec) bool {
	return s.Order == "" && s.Unique.Key == "" && s.Parent.IsZero() && s.OnEnd == nil &&
		s.StartBy == 0 && s.Delay == 0 && s.DueAt.IsZero()
}

// head is what of a plain task its record begins with, and what many tasks of one call have in common.
type head struct {
	kind, queue, lane, limit string
	priority                 int
	owned                    bool
	timeout, retention       time.Duration
	group                    store.ID
}

// headList numbers heads, from 1 on. Neighbours are mostly alike.
type headList struct {
	list    []head
	numbers map[head]int
}

func (l *headList) number(h head) int {
	n := len(l.list)
	if n > 0 && l.list[n-1] == h {
		return n
	}
	if at, ok := l.numbers[h]; ok {
		return at
	}
	if l.numbers == nil {
		l.numbers = map[head]int{}
	}
	l.list = append(l.list, h)
	l.numbers[h] = n + 1
	return n + 1
}

func headOf(s *store.Spec) head {
	return head{
		kind: s.Kind, queue: s.Queue, lane: s.Lane, limit: s.Limit, priority: s.Priority, owned: s.Owned, timeout: s.Timeout, retention: s.Retention,
		group: s.Group,
	}
}

// pack writes a head: the record of its tasks but for the fields that the script adds, and what of it the script has to know.
func (h head) pack(p *packer) {
	p.array(7)
	p.nested(func() {
		o := p.object()
		o.str("kind", h.kind)
		o.str("queue", h.queue)
		o.str("lane", h.lane)
		o.str("limit", h.limit)
		o.int("prio", int64(h.priority))
		o.bool("owned", h.owned)
		o.int("timeout", int64(h.timeout))
		o.int("keep", int64(h.retention))
		o.str("group", rawID(h.group))
		if o.n += headFields; !h.group.IsZero() {
			o.n++
		}
		o.close()
	})
	p.str(h.queue)
	p.str(h.kind)
	p.str(h.lane)
	p.str(h.limit)
	p.int(int64(h.priority))
	if h.group.IsZero() {
		p.bool(false)
	} else {
		p.str(rawID(h.group))
	}
}

// headFields is how many fields the script adds to a head, and one more if the task belongs to a group.
const headFields = 6

func (s *Store) submit(ctx context.Context, part submission, res *store.SubmitResult) error {
	if len(part.specs) == 0 && len(part.groups) == 0 && part.req.Claim == nil {
		return nil
	}
	r, given, err := s.runGiven(ctx, "submit", part.pack)
	if err != nil {
		return err
	}
	for _, i := range part.specs {
		spec := &part.req.Specs[i]
		res.Specs[i] = store.Submitted{ID: spec.ID, State: store.Ready, Fingerprint: spec.Fingerprint}
		if !spec.Group.IsZero() {
			res.Specs[i].State = store.Held
		}
	}
	if err := part.odd(r.list("odd"), res); err != nil {
		return err
	}
	if part.req.Claim == nil {
		return nil
	}
	if refused := r.map_("claimerr"); refused != nil {
		res.ClaimErr = refusal(refused)
	}
	if res.Claimed, err = readGiven(r, given); err != nil {
		return err
	}
	part.claimed(res)
	return nil
}

// odd reads what became of tasks that did not become what they mostly do: their number, and an answer, in turn.
func (part submission) odd(list []any, res *store.SubmitResult) error {
	for n := 0; n+1 < len(list); n += 2 {
		at, a := whole(list[n]), record(nil)
		if a, _ = list[n+1].(record); a == nil || at < 0 || at >= int64(len(part.specs)) {
			return fmt.Errorf("submit: an answer for task %d of %d: %w", at, len(part.specs), errPacked)
		}
		res.Specs[part.specs[at]] = store.Submitted{
			ID: idOf(a["id"]), State: store.State(a.str("state")), Existed: a.bool("existed"), Fingerprint: a.str("finger"), Replaced: idOf(a["replaced"]), Err: refusal(a),
		}
	}
	return nil
}

// claimed notes which tasks run already. Of a task that came twice the first answer tells.
func (part submission) claimed(res *store.SubmitResult) {
	running := make(map[store.ID]bool, len(res.Claimed))
	for i := range res.Claimed {
		running[res.Claimed[i].ID] = true
	}
	for _, i := range part.specs {
		if id := part.req.Specs[i].ID; running[id] && res.Specs[i].Err == nil {
			res.Specs[i].State = store.Running
			delete(running, id)
		}
	}
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
