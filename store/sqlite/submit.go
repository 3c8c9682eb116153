package sqlite

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// recordLimit bounds what one record may hold. SQLite's own bound is a little higher, and is met too late: in the middle of
// a write.
const recordLimit = 900 << 20

// Submit stores tasks and groups.
func (s *Store) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	return write(ctx, s, func(s *step) (store.SubmitResult, error) { return s.submitAll(req), nil })
}

func (s *step) submitAll(req store.SubmitRequest) store.SubmitResult {
	res := store.SubmitResult{Groups: make([]error, len(req.Groups)), Specs: make([]store.Submitted, len(req.Specs))}
	told := len(s.hints.queues)
	for i, g := range req.Groups {
		res.Groups[i] = s.createGroup(g)
	}
	s.lookBetween(req.Specs)
	for i, spec := range req.Specs {
		res.Specs[i] = s.submit(spec, false)
	}
	for i, g := range req.Groups {
		if g.Seal && res.Groups[i] == nil {
			s.seal(s.group(g.ID))
		}
	}
	if req.Claim != nil {
		res.Claimed, res.ClaimErr = s.claimSubmitted(req, res)
		if req.Taken(&res) {
			s.hints.queues = s.hints.queues[:told]
		}
	}
	return res
}

// lookBetween asks once for all tasks of a submit whether any of them may be stored: ids that were made one after the other lie together, and
// if there is none from the least to the greatest of them, none of them need be looked for.
func (s *step) lookBetween(specs []store.Spec) {
	if len(specs) < 2 {
		return
	}
	least, greatest := specs[0].ID, specs[0].ID
	for i := range specs {
		switch id := specs[i].ID; {
		case idLess(id, least):
			least = id
		case idLess(greatest, id):
			greatest = id
		}
	}
	if s.number("task_between", least, greatest) != 0 {
		return
	}
	for i := range specs {
		if id := specs[i].ID; s.tasks[id] == nil {
			s.tasks[id] = nil // known not to be there
		}
	}
}

// claimSubmitted makes the tasks of a submit run at once, as far as pauses, limits and order allow.
func (s *step) claimSubmitted(req store.SubmitRequest, res store.SubmitResult) ([]store.Task, error) {
	if !s.alive(req.Claim.Worker) {
		return nil, deadError(req.Claim.Worker)
	}
	if req.Claim.Repeat {
		return s.repeat(req.Claim), nil
	}
	var claimed []store.Task
	for i, spec := range req.Specs {
		t := s.task(spec.ID)
		if res.Specs[i].Err != nil || t == nil || t.State != store.Ready || t.Suspect {
			continue
		}
		l := s.laneByID(t.lane)
		s.fresh(l)
		if s.blocked(l) != "" || l.ordered && (l.head != t.ID || s.broken(t)) {
			continue
		}
		s.claimOne(t, req.Claim)
		claimed = append(claimed, given(t))
		res.Specs[i].State = store.Running
	}
	return claimed, nil
}

// submit stores one task. With follow it comes from an ending: a key that is taken is then no error.
func (s *step) submit(spec store.Spec, follow bool) store.Submitted {
	if err := spec.Validate(); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	if t := s.task(spec.ID); t != nil {
		return stands(t)
	}
	if err := fits(&spec); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	if err := s.joinable(spec.Group); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	var replaced store.ID
	if holder := s.holder(spec.Kind, spec.Unique.Key); holder != nil {
		answer, stays := s.conflict(&spec, holder, follow)
		if stays {
			return answer
		}
		replaced = holder.ID
	}
	t := s.create(spec)
	return store.Submitted{ID: t.ID, State: t.State, Fingerprint: t.Fingerprint, Replaced: replaced}
}

// conflict decides between a newcomer and the holder of its key: the holder stays, or has made room.
func (s *step) conflict(spec *store.Spec, holder *task, follow bool) (answer store.Submitted, stays bool) {
	replaces := spec.Unique.OnConflict == store.Replace || spec.Unique.OnConflict == store.Latest
	switch {
	case spec.Unique.OnConflict == store.Reject && !follow:
		answer = stands(holder)
		answer.Err = fmt.Errorf("%w: unique key %q of kind %q is held by task %s", store.ErrDuplicate, spec.Unique.Key, spec.Kind, holder.ID)
		return answer, true
	case spec.Unique.OnConflict == store.Latest && holder.State == store.Running:
		s.dropKey(holder)
		return store.Submitted{}, false
	case replaces && holder.State != store.Running && !holder.State.Terminal() && !holder.Owned:
		s.end(holder, ending{state: store.Cancelled, reason: store.ReasonReplaced})
		s.dropKey(holder)
		if next := s.holder(spec.Kind, spec.Unique.Key); next != nil {
			answer = stands(next) // what followed the ending took the key
			answer.Replaced = holder.ID
			return answer, true
		}
		return store.Submitted{}, false
	}
	return stands(holder), true
}

func stands(t *task) store.Submitted {
	return store.Submitted{ID: t.ID, State: t.Read(), Existed: true, Fingerprint: t.Fingerprint}
}

// fits says whether a spec is too large for a row.
func fits(spec *store.Spec) error {
	size := len(spec.Args)
	if spec.OnEnd != nil {
		size += len(spec.OnEnd.Args)
	}
	if size > recordLimit {
		return fmt.Errorf("%w: Args have %d bytes; at most %d are allowed: keep them elsewhere, and name the place", store.ErrInvalid, size, recordLimit)
	}
	return nil
}

// create makes the record of a task that may be stored.
func (s *step) create(spec store.Spec) *task {
	t := &task{Task: store.Task{Spec: spec, CreatedAt: s.now}, created: true}
	s.tasks[t.ID] = t
	t.DueAt = s.now
	if spec.DueAt.After(t.DueAt) {
		t.DueAt = spec.DueAt.UTC()
	}
	if at := s.now.Add(spec.Delay); at.After(t.DueAt) {
		t.DueAt = at
	}
	if spec.StartBy > 0 {
		t.StartByAt = s.now.Add(spec.StartBy)
	}
	s.takeKey(t)
	s.tally(t.Queue).total++
	s.count(t, func(m *store.Minute) { m.Submitted++ })
	switch g := s.group(spec.Group); {
	case g != nil:
		s.addMember(g, t)
		t.Reason = store.ReasonGroup
		s.move(t, store.Held)
	case t.DueAt.After(s.now):
		s.move(t, store.Scheduled)
	default:
		s.move(t, store.Ready)
	}
	return t
}
