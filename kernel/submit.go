package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// submission is what one caller hands over; it goes to the store as a whole.
type submission struct {
	groups []NewGroup
	specs  []Spec
}

type submitted struct {
	groups []error
	specs  []Submitted
	err    error
}

// Submit stores a task and returns when it is durable: from then on it ends, whatever dies. Fields of the Spec that are zero
// get the kernel's defaults; an empty ID is made. Submitting the same ID again has no effect and says Existed. ErrInDoubt says
// that the store did not answer: the same Spec, with the ID of the answer, may be submitted again.
func (k *Kernel) Submit(ctx context.Context, spec Spec) (Submitted, error) {
	all, err := k.SubmitMany(ctx, []Spec{spec})
	if len(all) == 0 {
		return Submitted{}, err
	}
	if err == nil {
		err = all[0].Err
	}
	return all[0], err
}

// SubmitMany stores tasks, each by itself: what became of one stands in its place of the answer. The error is of the call as
// a whole; the answer then still tells the ids.
func (k *Kernel) SubmitMany(ctx context.Context, specs []Spec) ([]Submitted, error) {
	_, all, err := k.submit(ctx, nil, specs)
	return all, err
}

// SubmitGroup creates a group and its first members in one call; if one of them can never be stored, nothing is. More may be added by SubmitMany while it is not sealed.
func (k *Kernel) SubmitGroup(ctx context.Context, g NewGroup, members []Spec) (ID, []Submitted, error) {
	if g.ID.IsZero() {
		g.ID = k.NewID()
	}
	specs := make([]Spec, len(members))
	for i, m := range members {
		m.Group = g.ID
		specs[i] = m
	}
	errs, all, err := k.submit(ctx, []NewGroup{g}, specs)
	if err == nil && len(errs) > 0 {
		err = errs[0]
	}
	if g.Seal {
		k.sweep.Notify() // its members wait to be let go: if this process runs, it need not wait for a beat
	}
	return g.ID, all, err
}

func (k *Kernel) submit(ctx context.Context, groups []NewGroup, specs []Spec) ([]error, []Submitted, error) {
	if err := k.open(); err != nil {
		return nil, nil, err
	}
	sub := submission{groups: make([]NewGroup, len(groups))}
	all := make([]Submitted, len(specs))
	for i, g := range groups {
		prepared, err := k.prepareGroup(g)
		if err != nil {
			return nil, nil, err
		}
		sub.groups[i] = prepared
	}
	for i, s := range specs {
		prepared, err := k.prepareSpilling(ctx, s)
		all[i] = Submitted{ID: prepared.ID, Err: err}
		if err == nil {
			sub.specs = append(sub.specs, prepared)
		} else if len(groups) > 0 {
			return nil, nil, fmt.Errorf("member %d of %d: %w", i+1, len(specs), err) // never half of the first members
		}
	}
	if len(sub.specs) == 0 && len(sub.groups) == 0 {
		return nil, all, nil
	}
	answer, err := k.submits.do(ctx, sub)
	if err = errors.Join(err, answer.err); err != nil {
		return nil, all, fmt.Errorf("submit: %w", err)
	}
	k.observeSubmits(sub.specs, answer.specs)
	for i, next := 0, 0; i < len(all); i++ {
		if all[i].Err == nil {
			all[i], next = answer.specs[next], next+1
		}
	}
	return answer.groups, all, nil
}

// flushSubmits sends what was gathered as one call and deals the answers out. It repeats the call for half of the store's
// horizon at most: after that a record that ended meanwhile might be gone, and the repeat would be a second task.
func (k *Kernel) flushSubmits(items []submission) []submitted {
	var req store.SubmitRequest
	for _, it := range items {
		req.Groups = append(req.Groups, it.groups...)
		req.Specs = append(req.Specs, it.specs...)
	}
	p := k.planAtOnce(&req)
	if p != nil {
		req.Claim = &p.req
	}
	var res store.SubmitResult
	err := k.persist(k.life, k.store.Info().Timing.Horizon/2, func(ctx context.Context, repeat bool) (err error) {
		p.repeated(repeat)
		res, err = k.store.Submit(ctx, req)
		return err
	})
	if p != nil {
		k.startAtOnce(p, res, err)
	}
	answers := make([]submitted, len(items))
	for i, it := range items {
		if err != nil {
			answers[i].err = err
			continue
		}
		g, s := len(it.groups), len(it.specs)
		answers[i] = submitted{groups: res.Groups[:g], specs: res.Specs[:s]}
		res.Groups, res.Specs = res.Groups[g:], res.Specs[s:]
	}
	return answers
}

// Prepare makes a Spec what Submit would store: with an id, the defaults, checked and sealed. It is for a transaction of the
// user's on the store, which submits it together with the user's own writes.
func (k *Kernel) Prepare(s Spec) (Spec, error) { return k.prepare(s) }

// prepare fills in the defaults, checks and seals a Spec. Nothing that fails here has reached the store.
func (k *Kernel) prepare(s Spec) (Spec, error) {
	s, err := k.checkSpec(s)
	if err != nil {
		return s, err
	}
	return k.sealSpec(s)
}

// prepareSpilling does so for a task that is submitted by itself: its args may leave the record. The blob is there before the
// task is; if the task never comes, it is swept.
func (k *Kernel) prepareSpilling(ctx context.Context, s Spec) (Spec, error) {
	s, err := k.checkSpec(s)
	if err == nil && k.spills(s.Args) && s.Sealed.IsZero() {
		s.Args, err = k.spill(ctx, s.ID, s.Args)
	}
	if err != nil {
		return s, err
	}
	return k.sealSpec(s)
}

func (k *Kernel) checkSpec(s Spec) (Spec, error) {
	if s.ID.IsZero() {
		s.ID = k.NewID()
	}
	s = k.fill(s)
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("task of kind %.40q: %w", s.Kind, err)
	}
	if err := k.fits("args", s.Kind, s.Args); err != nil {
		return s, err
	}
	if s.OnEnd != nil {
		return s, k.fits("args of OnEnd", s.OnEnd.Kind, s.OnEnd.Args)
	}
	return s, nil
}

// sealSpec seals the args of a task, and of what follows its ending.
func (k *Kernel) sealSpec(s Spec) (Spec, error) {
	if s.OnEnd != nil {
		next := *s.OnEnd
		sealed, err := k.sealArgs(next, store.OnEndID(s.ID, 0)) // no place of the task's own: the two cannot be swapped
		if err != nil {
			return s, err
		}
		s.OnEnd = &sealed
	}
	return k.sealArgs(s, s.ID)
}

// prepareGroup does for a group what prepare does for a task.
func (k *Kernel) prepareGroup(g NewGroup) (NewGroup, error) {
	if err := store.CheckKey("group name", g.Name); err != nil {
		return g, err
	}
	if g.ID.IsZero() {
		g.ID = k.NewID()
	}
	if g.Retention == 0 {
		g.Retention = k.cfg.Retention
	}
	if g.OnClose == nil {
		return g, nil
	}
	next := *g.OnClose
	next.ID = store.CloseID(g.ID, 1)
	prepared, err := k.prepare(next)
	if err != nil {
		return g, fmt.Errorf("OnClose: %w", err)
	}
	g.OnClose = &prepared
	return g, nil
}

func (k *Kernel) fill(s Spec) Spec {
	if s.Queue == "" {
		s.Queue = DefaultQueue
	}
	if s.Retry == (Retry{}) {
		s.Retry = k.cfg.Retry
	}
	if s.Timeout == 0 {
		s.Timeout = k.cfg.Timeout
	}
	if s.Timeout < 0 {
		s.Timeout = 0
	}
	switch s.Retention {
	case 0:
		s.Retention = k.cfg.Retention
		if s.Retention > 0 {
			s.Retention = max(s.Retention, s.Unique.For) // a key is held no longer than the record is kept
		}
	case Forget:
		s.Retention = 0
	}
	if s.OnEnd != nil {
		next := k.fill(*s.OnEnd)
		s.OnEnd = &next
	}
	return s
}

func (k *Kernel) fits(what, kind string, payload []byte) error {
	if bytes.HasPrefix(payload, spilled) {
		return fmt.Errorf("%w: the %s of kind %q begin as what stands for a blob; use PutBlob and a Ref", store.ErrInvalid, what, kind)
	}
	if size := len(payload); k.cfg.MaxPayload >= 0 && size > k.cfg.MaxPayload {
		return fmt.Errorf("%w: the %s of kind %q have %d bytes; at most %d are allowed: raise Config.MaxPayload, or store the data elsewhere and pass a reference",
			store.ErrInvalid, what, kind, size, k.cfg.MaxPayload)
	}
	return nil
}
