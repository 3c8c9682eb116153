package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// submitRequest is what the function submit takes.
type submitRequest struct {
	Horizon int64       `json:"horizon"`
	Groups  []wireGroup `json:"groups"`
	Specs   []*wireSpec `json:"specs"`
	Keyed   bool        `json:"keyed"` // one by one: a unique key is in play, or an id comes twice
	Claim   *claimWire  `json:"claim,omitempty"`
}

// submitAnswer is what it returns: items in order if a unique key is in play, otherwise what was new, stood before, was refused.
type submitAnswer struct {
	answer
	Items    []wireSubmitted `json:"items"`
	New      [][2]string     `json:"new"`
	Old      [][3]string     `json:"old"`
	Bad      [][2]string     `json:"bad"`
	ClaimErr string          `json:"claim_err"`
	Lone     bool            `json:"lone"`
}

// wireSubmitted is id, state, existed, fingerprint, error, detail.
type wireSubmitted []any

func (w wireSubmitted) text(i int) string {
	if i >= len(w) {
		return ""
	}
	text, _ := w[i].(string) // null is empty
	return text
}

// Submit stores tasks and groups.
func (s *Store) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	if len(req.Specs)+len(req.Groups) < 2 || req.Claim != nil {
		var res store.SubmitResult
		err := patiently(ctx, func() (err error) {
			res, err = s.submitNow(ctx, req)
			return err
		})
		return res, s.tell("submit", err)
	}
	res, err := s.submitNow(ctx, req)
	if !collided(err) && !unfit(err) {
		return res, s.tell("submit", err)
	}
	// One of them collides with others, or cannot be stored: each by itself, so that it fails alone.
	return s.submitEach(ctx, req)
}

func (s *Store) submitEach(ctx context.Context, req store.SubmitRequest) (res store.SubmitResult, err error) {
	one := func(part store.SubmitRequest) (got store.SubmitResult, bad, err error) {
		err = patiently(ctx, func() (err error) {
			got, err = s.submitNow(ctx, part)
			return err
		})
		if unfit(err) {
			return got, s.tell("submit", err), nil
		}
		return got, nil, err
	}
	for _, g := range req.Groups {
		g.Seal = false // after the specs
		got, bad, err := one(store.SubmitRequest{Groups: []store.NewGroup{g}})
		if err != nil {
			return store.SubmitResult{}, s.tell("submit", err)
		}
		if bad == nil {
			bad = got.Groups[0]
		}
		res.Groups = append(res.Groups, bad)
	}
	for _, spec := range req.Specs {
		got, bad, err := one(store.SubmitRequest{Specs: []store.Spec{spec}})
		switch {
		case err != nil:
			return store.SubmitResult{}, s.tell("submit", err)
		case bad != nil:
			res.Specs = append(res.Specs, store.Submitted{ID: spec.ID, Err: bad})
		default:
			res.Specs = append(res.Specs, got.Specs[0])
		}
	}
	for i, g := range req.Groups {
		if g.Seal && res.Groups[i] == nil {
			if _, err := s.Seal(ctx, g.ID); err != nil {
				return store.SubmitResult{}, err
			}
		}
	}
	return res, nil
}

// submit makes the call on a connection: the pool, or a user's transaction.
func (s *Store) submit(ctx context.Context, c querier, req store.SubmitRequest) (store.SubmitResult, hints, error) {
	if err := s.begin(ctx); err != nil {
		return store.SubmitResult{}, hints{}, err
	}
	res := store.SubmitResult{Groups: make([]error, len(req.Groups)), Specs: make([]store.Submitted, len(req.Specs))}
	wire := submitRequest{Horizon: int64(s.cfg.Timing.Horizon), Groups: []wireGroup{}, Specs: []*wireSpec{}}
	for i := range req.Groups {
		if res.Groups[i] = req.Groups[i].Validate(); res.Groups[i] == nil {
			wire.Groups = append(wire.Groups, prepareGroup(&req.Groups[i]))
		}
	}
	var sent []int // which of the specs
	seen := map[store.ID]bool{}
	for i := range req.Specs {
		spec := &req.Specs[i]
		if err := spec.Validate(); err != nil {
			res.Specs[i] = store.Submitted{ID: spec.ID, Err: err}
			continue
		}
		wire.Specs = append(wire.Specs, prepare(spec))
		wire.Keyed = wire.Keyed || spec.Unique.Key != "" || seen[spec.ID]
		seen[spec.ID] = true
		sent = append(sent, i)
	}
	var got submitAnswer
	name := "submit"
	var err error
	if req.Claim != nil {
		name, wire.Claim = "submit_claim", s.claimWire(req.Claim)
		res.Claimed, err = askTasks(ctx, c, s.q.get(name), wire, &got)
	} else {
		err = ask(ctx, c, s.q.get(name), wire, &got)
	}
	if err != nil {
		return store.SubmitResult{}, hints{}, err
	}
	if got.ClaimErr != "" {
		res.ClaimErr = deadError(req.Claim.Worker)
	}
	got.fill(req.Specs, sent, res.Specs)
	first(res.Claimed, got.Lone)
	if req.Claim != nil && !req.Claim.Repeat {
		markRunning(req.Specs, &res)
	}
	h := got.Hints.read()
	if req.Claim != nil && req.Taken(&res) {
		h.Queues = nil
	}
	return res, h, nil
}

// submitNow submits in a transaction of its own, and tells of it.
func (s *Store) submitNow(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	if s.allReady(&req) {
		return s.submitReady(ctx, req.Specs)
	}
	if s.runsAtOnce(&req) {
		if res, ok, err := s.submitRunning(ctx, req); ok || err != nil {
			return res, err
		}
	}
	res, h, err := s.submit(ctx, s.pool, req)
	if err == nil {
		s.publish(&h)
	}
	return res, err
}

// markRunning says of those that run now that they do.
func markRunning(specs []store.Spec, res *store.SubmitResult) {
	for _, t := range res.Claimed {
		for i := range specs { // the same id may have been refused before
			if specs[i].ID == t.ID && res.Specs[i].Err == nil {
				res.Specs[i].State = store.Running
				break
			}
		}
	}
}

// fill writes what became of each spec that was sent.
func (a *submitAnswer) fill(specs []store.Spec, sent []int, into []store.Submitted) {
	if a.Items != nil {
		for n, i := range sent {
			into[i] = a.Items[n].submitted(&specs[i])
		}
		return
	}
	fresh, old, bad := map[string]string{}, map[string][3]string{}, map[string]string{}
	for _, n := range a.New {
		fresh[n[0]] = n[1]
	}
	for _, o := range a.Old {
		old[o[0]] = o
	}
	for _, b := range a.Bad {
		bad[b[0]] = b[1]
	}
	for _, i := range sent {
		spec := &specs[i]
		id := spec.ID.String()
		state, is := fresh[id]
		switch {
		case is:
			into[i] = store.Submitted{ID: spec.ID, State: store.State(state), Fingerprint: spec.Fingerprint}
			delete(fresh, id) // the same id again in the same call is known
		case old[id][0] != "":
			into[i] = store.Submitted{ID: spec.ID, State: store.State(old[id][1]), Existed: true, Fingerprint: old[id][2]}
		default:
			into[i] = store.Submitted{ID: spec.ID, Err: joinError(spec.Group, bad[id])}
		}
	}
}

func (w wireSubmitted) submitted(spec *store.Spec) store.Submitted {
	if len(w) < 4 {
		return store.Submitted{ID: spec.ID, Err: fmt.Errorf("task %s was removed while it was submitted; submit it again", spec.ID)}
	}
	id, err := store.ParseID(w.text(0))
	if err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	existed, _ := w[2].(bool)
	sub := store.Submitted{ID: id, State: store.State(w.text(1)), Existed: existed, Fingerprint: w.text(3)}
	if sub.Replaced, err = store.ParseID(w.text(6)); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	switch w.text(4) {
	case "duplicate":
		sub.Err = fmt.Errorf("%w: unique key %q of kind %q is held by task %s", store.ErrDuplicate, spec.Unique.Key, spec.Kind, id)
	case "notfound", "state":
		sub.Err = joinError(spec.Group, w.text(5))
	}
	return sub
}

// joinError says why a group takes no member: it is in that state, or not there.
func joinError(group store.ID, state string) error {
	if state == "notfound" {
		return fmt.Errorf("group %s: %w", group, store.ErrNotFound)
	}
	return fmt.Errorf("group %s takes no more members, it is %s: %w", group, state, store.ErrState)
}

// first tells of the first task taken that the worker held nothing when it was: each item is a step of its own, and its answer is as of that.
func first(tasks []store.Task, lone bool) {
	if lone && len(tasks) > 0 {
		tasks[0].Alone = true
	}
}
