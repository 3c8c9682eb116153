package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// ListOptions picks batches. The zero value picks the newest hundred.
type ListOptions struct {
	Name   string    // of the operation, or "app/" for all of an app; default: all
	After  time.Time // submitted after it; default: whenever
	Before time.Time // submitted before it: CreatedAt of the last one of a page gives the next; default: whenever
	Limit  int       // default 100
}

// List lists batches and queries, newest first. What it tells of each is what the group tells: an ending as soon as the last row has ended, and
// queued until a row has. It goes through all groups on record, not through rows.
func List(ctx context.Context, k *kernel.Kernel, opts ListOptions) ([]Status, error) {
	limit := cmp.Or(max(opts.Limit, 0), 100)
	var list []Status
	page := kernel.PageRequest{Limit: 1000}
	for {
		p, err := k.Groups(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("list batches: %w", err)
		}
		for _, g := range p.Items {
			if opts.matches(g) {
				list = append(list, summarise(g))
			}
		}
		if len(list) > limit {
			slices.SortFunc(list, newestFirst)
			list = list[:limit]
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	slices.SortFunc(list, newestFirst)
	return list, nil
}

func newestFirst(a, b Status) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID.String(), a.ID.String()))
}

func (o *ListOptions) matches(g kernel.Group) bool {
	name, ok := operation(g)
	want := strings.ToLower(o.Name)
	return ok && (want == "" || name == want || strings.HasSuffix(want, "/") && strings.HasPrefix(name, want)) &&
		(o.After.IsZero() || g.CreatedAt.After(o.After)) && (o.Before.IsZero() || g.CreatedAt.Before(o.Before))
}
