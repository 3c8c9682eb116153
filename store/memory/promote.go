package memory

import (
	"container/heap"
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Promote does a chunk of what time has made ripe.
func (s *Store) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.PromoteResult{}, err
	}
	defer leave()
	if limit <= 0 {
		limit = chunk
	}
	d := s.d
	var res store.PromoteResult
	res.Expired = d.expireStarts(limit)
	limit -= res.Expired
	res.Due = d.promoteDue(limit)
	limit -= res.Due
	for limit > 0 && len(d.ripe) > 0 {
		g := d.ripe[0]
		freed, aborted, marked := d.tend(g, limit)
		res.Freed, res.Aborted, res.Marked = res.Freed+freed, res.Aborted+aborted, res.Marked+marked
		limit -= freed + aborted + marked
		if !g.isRipe() {
			g.queued = false
			d.ripe = d.ripe[1:]
		}
	}
	res.More = d.isRipe()
	if t := d.due.head(); t != nil {
		res.Next = max(t.DueAt.Sub(d.now), 1)
	}
	return res, nil
}

// isRipe reports whether Promote has something to do.
func (d *data) isRipe() bool {
	if t := d.due.head(); t != nil && !t.DueAt.After(d.now) {
		return true
	}
	if t := d.startBy.head(); t != nil && !t.StartByAt.After(d.now) {
		return true
	}
	return len(d.ripe) > 0
}

// promoteDue makes up to n tasks ready whose time has come.
func (d *data) promoteDue(n int) int {
	done := 0
	for done < n {
		t := d.due.head()
		if t == nil || t.DueAt.After(d.now) {
			break
		}
		done++
		if t.corrupt {
			d.endCorrupt(t)
			continue
		}
		d.move(t, store.Ready)
	}
	return done
}

// expireStarts ends up to n tasks that were not started in time.
func (d *data) expireStarts(n int) int {
	done := 0
	for done < n {
		t := d.startBy.head()
		if t == nil || t.StartByAt.After(d.now) {
			break
		}
		done++
		d.expire(t)
	}
	return done
}

// expire ends a task that was not started in time.
func (d *data) expire(t *task) {
	d.startBy.remove(t)
	t.StartByAt = time.Time{}
	d.ask(t, store.ReasonExpired)
}

// Prune removes what has expired.
func (s *Store) Prune(ctx context.Context, limit int) (int, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if limit <= 0 {
		limit = 1000
	}
	d := s.d
	removed := 0
	for removed < limit {
		t := d.expiry.head()
		if t == nil || t.ExpireAt.After(d.now) {
			break
		}
		d.remove(t)
		removed++
	}
	for removed < limit && len(d.bare) > 0 && !d.bare[0].goAt.After(d.now) {
		g := heap.Pop(&d.bare).(*group) //nolint:errcheck,forcetypeassert // only groups are in it
		if g.bare = false; g.isBare() {
			delete(d.groups, g.ID)
			removed++
		}
	}
	return removed + d.pruneStats(limit-removed), nil
}
