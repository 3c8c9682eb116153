package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Submit stores tasks and groups.
func (s *Store) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.SubmitResult{}, err
	}
	defer leave()
	d := s.d
	res := store.SubmitResult{Groups: make([]error, len(req.Groups)), Specs: make([]store.Submitted, len(req.Specs))}
	for i, g := range req.Groups {
		res.Groups[i] = d.createGroup(g)
	}
	for i, spec := range req.Specs {
		res.Specs[i] = d.submit(spec, false)
	}
	for i, g := range req.Groups {
		if g.Seal && res.Groups[i] == nil {
			d.seal(d.groups[g.ID])
		}
	}
	if req.Claim != nil {
		res.Claimed, res.ClaimErr = d.claimSubmitted(req, res)
		if req.Taken(&res) {
			d.notices = slices.DeleteFunc(d.notices, func(n store.Notice) bool { return n.Kind == store.NoticeWork })
		}
	}
	return res, nil
}

// claimSubmitted makes the tasks of a submit run at once, as far as pauses, limits and order allow.
func (d *data) claimSubmitted(req store.SubmitRequest, res store.SubmitResult) ([]store.Task, error) {
	if d.alive(req.Claim.Worker) == nil {
		return nil, deadError(req.Claim.Worker)
	}
	if req.Claim.Repeat {
		return d.repeat(req.Claim), nil
	}
	var claimed []store.Task
	for i, spec := range req.Specs {
		t := d.tasks[spec.ID]
		if res.Specs[i].Err != nil || t == nil || t.State != store.Ready || t.Suspect || d.blocked(t.lane) != "" {
			continue
		}
		if t.lane.line != nil && (t.lane.line.tasks.head() != t || d.broken(t)) {
			continue
		}
		d.claimOne(t, req.Claim)
		claimed = append(claimed, given(t))
		res.Specs[i].State = store.Running
	}
	return claimed, nil
}

// submit stores one task. With follow it comes from an ending: a key that is taken is then no error.
func (d *data) submit(spec store.Spec, follow bool) store.Submitted {
	if err := spec.Validate(); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	if t := d.tasks[spec.ID]; t != nil {
		return stands(t)
	}
	if err := d.joinable(spec.Group); err != nil {
		return store.Submitted{ID: spec.ID, Err: err}
	}
	var replaced store.ID
	if spec.Unique.Key != "" {
		if holder := d.holder(spec.Kind, spec.Unique.Key); holder != nil {
			answer, stays := d.conflict(&spec, holder, follow)
			if stays {
				return answer
			}
			replaced = holder.ID
		}
	}
	t := d.create(spec)
	return store.Submitted{ID: t.ID, State: t.State, Fingerprint: t.Fingerprint, Replaced: replaced}
}

// conflict decides between a newcomer and the holder of its key: the holder stays, or has made room.
func (d *data) conflict(spec *store.Spec, holder *task, follow bool) (answer store.Submitted, stays bool) {
	replaces := spec.Unique.OnConflict == store.Replace || spec.Unique.OnConflict == store.Latest
	switch {
	case spec.Unique.OnConflict == store.Reject && !follow:
		s := stands(holder)
		s.Err = fmt.Errorf("%w: unique key %q of kind %q is held by task %s", store.ErrDuplicate, spec.Unique.Key, spec.Kind, holder.ID)
		return s, true
	case spec.Unique.OnConflict == store.Latest && holder.State == store.Running:
		d.dropKey(holder)
		return store.Submitted{}, false
	case replaces && holder.State != store.Running && !holder.State.Terminal() && !holder.Owned:
		d.end(holder, ending{state: store.Cancelled, reason: store.ReasonReplaced})
		d.dropKey(holder)
		if next := d.holder(spec.Kind, spec.Unique.Key); next != nil {
			s := stands(next) // what followed the ending took the key
			s.Replaced = holder.ID
			return s, true
		}
		return store.Submitted{}, false
	}
	return stands(holder), true
}

func stands(t *task) store.Submitted {
	return store.Submitted{ID: t.ID, State: t.Read(), Existed: true, Fingerprint: t.Fingerprint}
}

// create makes the record of a task that may be stored.
func (d *data) create(spec store.Spec) *task {
	spec.Labels = maps.Clone(spec.Labels)
	if spec.OnEnd != nil {
		next := *spec.OnEnd
		next.Labels = maps.Clone(next.Labels)
		spec.OnEnd = &next
	}
	t := &task{Task: store.Task{Spec: spec, CreatedAt: d.now}}
	d.tasks[t.ID] = t
	t.DueAt = d.now
	if spec.DueAt.After(t.DueAt) {
		t.DueAt = spec.DueAt.UTC()
	}
	if at := d.now.Add(spec.Delay); at.After(t.DueAt) {
		t.DueAt = at
	}
	if spec.StartBy > 0 {
		t.StartByAt = d.now.Add(spec.StartBy)
		d.startBy.add(t)
	}
	if spec.Unique.Key != "" {
		k := &key{task: t.ID}
		if spec.Unique.For > 0 {
			k.until = d.now.Add(spec.Unique.For)
		}
		d.keys[keyOf(t)] = k
	}
	d.joinLine(t)
	d.count(t, func(m *store.Minute) { m.Submitted++ })
	switch g := d.groups[spec.Group]; {
	case g != nil:
		d.addMember(g, t)
		t.Reason = store.ReasonGroup
		d.move(t, store.Held)
	case t.DueAt.After(d.now):
		d.move(t, store.Scheduled)
	default:
		d.move(t, store.Ready)
	}
	return t
}

type uniqueKey struct{ kind, key string }

// key is a unique key that is held.
type key struct {
	task  store.ID
	until time.Time
}

func keyOf(t *task) uniqueKey { return uniqueKey{t.Kind, t.Unique.Key} }

// holder returns the task that holds a key, or nil. A key whose time is up is let go by the step that meets it.
func (d *data) holder(kind, name string) *task {
	k := d.keys[uniqueKey{kind, name}]
	if k == nil {
		return nil
	}
	if !k.until.IsZero() && !d.now.Before(k.until) {
		delete(d.keys, uniqueKey{kind, name})
		return nil
	}
	return d.tasks[k.task]
}

// dropKey takes a task's key away, if it holds it.
func (d *data) dropKey(t *task) {
	if k := d.keys[keyOf(t)]; k != nil && k.task == t.ID {
		delete(d.keys, keyOf(t))
	}
}

// letKeyGo is called when a task ends.
func (d *data) letKeyGo(t *task) {
	if t.State == store.Failed && t.Unique.For != store.KeyStays || t.Unique.For == 0 {
		d.dropKey(t)
	}
}
