package memory

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

var _ store.Repairer = (*Store)(nil)

// Repair derives one thing anew from the records of tasks.
func (s *Store) Repair(ctx context.Context, r store.Repair) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	switch {
	case r.Limit != "":
		return s.d.repairLimit(r.Limit), nil
	case r.Key != "":
		return s.d.repairKey(r), nil
	}
	return s.d.repairGroup(r.Group), nil
}

// repairLimit counts the slots of a limit key.
func (d *data) repairLimit(key string) bool {
	n := 0
	for _, t := range d.tasks {
		if t.Limit == key && t.State == store.Running {
			n++
		}
	}
	l := d.limit(key)
	mended := l.running != n
	l.running = n
	d.forgetLimit(l)
	if mended {
		d.noticeAll()
	}
	return mended
}

// repairKey takes a key from who may not hold it, and gives it to who must.
func (d *data) repairKey(r store.Repair) (mended bool) {
	name := uniqueKey{r.Kind, r.Key}
	if k := d.keys[name]; k != nil {
		if t := d.tasks[k.task]; t != nil && t.Holds(r.Kind, r.Key, k.until) {
			return false
		}
		delete(d.keys, name)
		mended = true
	}
	if t := d.tasks[r.Task]; t != nil && t.Holds(r.Kind, r.Key, time.Time{}) {
		d.keys[name] = &key{task: t.ID}
		mended = true
	}
	return mended
}

// repairGroup counts the members of a group, and closes it if nobody lives.
func (d *data) repairGroup(id store.ID) bool {
	g := d.groups[id]
	if g == nil {
		return false
	}
	is := store.Group{}
	live := int64(0)
	for _, t := range d.tasks {
		if t.Group != id {
			continue
		}
		switch t.State {
		case store.Done:
			is.Done++
		case store.Failed:
			is.Failed++
		case store.Cancelled:
			is.Cancelled++
		default:
			live++
		}
	}
	before := g.Group
	g.Done, g.Failed, g.Cancelled = max(g.Done, is.Done), max(g.Failed, is.Failed), max(g.Cancelled, is.Cancelled)
	g.Total = g.Done + g.Failed + g.Cancelled + live
	closes := g.State == store.GroupOpen && live == 0
	if !closes && g.Total == before.Total && g.Done == before.Done && g.Failed == before.Failed && g.Cancelled == before.Cancelled {
		return false
	}
	d.touchGroup(g)
	d.tryClose(g)
	d.ripen(g)
	return true
}

// Damage spoils what is derived, as a broken disk or a foreign hand would: the slots of a limit key and the counts of a group by so many; a unique
// key is given to nobody that there is.
func (s *Store) Damage(r store.Repair, n int) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	switch {
	case r.Limit != "":
		s.d.limit(r.Limit).running += n
	case r.Key != "":
		s.d.keys[uniqueKey{r.Kind, r.Key}] = &key{task: store.DeriveID("nobody")}
	default:
		s.d.groups[r.Group].Done += int64(n)
	}
}
