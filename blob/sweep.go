package blob

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sweepPage is how many blobs one call of Sweep looks at in each store.
const sweepPage = 500

// tidyAfter is how long a put may take at least: what looks left behind may be a large blob on its way.
const tidyAfter = 24 * time.Hour

// Sweep removes blobs that are older than grace and that nobody needs, a page of each store per call: it goes on where the call
// before stopped, and begins anew at the end. needed is told the ids of tasks. The grace must be longer than a blob may wait for
// the submit of its task, and longer than a task's record that was read may be out of date.
type Sweep struct {
	set     *Set
	cursors map[string]string
}

// NewSweep makes a sweep over all stores of a set. It may be used by one goroutine at a time.
func NewSweep(s *Set) *Sweep { return &Sweep{set: s, cursors: map[string]string{}} }

// Swept tells what one page did.
type Swept struct{ Seen, Removed int }

// Next does one page of each store. One store that fails does not keep the others; what it could not do comes again.
func (s *Sweep) Next(ctx context.Context, grace time.Duration, needed func(ctx context.Context, task string) (bool, error)) (sum Swept, err error) {
	if s.set.owner == "" {
		return sum, nil
	}
	for _, n := range s.set.stores {
		one, failed := s.page(ctx, n, grace, needed)
		sum.Seen, sum.Removed = sum.Seen+one.Seen, sum.Removed+one.Removed
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("sweep blobs of %s: %w", n.Name, failed))
		}
	}
	return sum, err
}

func (s *Sweep) page(ctx context.Context, n Named, grace time.Duration, needed func(context.Context, string) (bool, error)) (one Swept, err error) {
	page, err := n.Store.List(ctx, s.cursors[n.Name], sweepPage)
	if err != nil {
		s.cursors[n.Name] = "" // perhaps it was the cursor
		return one, err
	}
	one.Seen = len(page.Items)
	known := map[string]bool{} // a task has often several
	for _, b := range page.Items {
		if b.Age < grace || !ownedBy(s.set.owner, b.Key) {
			continue
		}
		task := Task(b.Key)
		keep, ok := known[task]
		if !ok {
			if keep, err = needed(ctx, task); err != nil {
				return one, err
			}
			known[task] = keep
		}
		if keep {
			continue
		}
		if err := n.Store.Delete(ctx, b.Key); err != nil {
			return one, err
		}
		one.Removed++
	}
	s.cursors[n.Name] = page.Cursor
	if page.Cursor != "" {
		return one, nil
	}
	left, err := n.Store.Tidy(ctx, max(grace, tidyAfter))
	one.Removed += left
	return one, err
}
