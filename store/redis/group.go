package redis

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// Seal says that all first members are there.
func (s *Store) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	return s.onGroup(ctx, "seal", id, "")
}

// Release ends the hold of a group.
func (s *Store) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return s.onGroup(ctx, "release", id, "")
}

// Abort asks all members to end.
func (s *Store) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	if reason == "" {
		reason = store.ReasonAborted
	}
	return s.onGroup(ctx, "abort", id, reason)
}

func (s *Store) onGroup(ctx context.Context, name string, id store.ID, reason string) (store.Group, error) {
	r, err := s.run(ctx, name, func(o *object) {
		o.key("id").str(string(id[:]))
		o.str("reason", reason)
		packErrors(o)
	})
	if err != nil {
		return store.Group{}, err
	}
	return readGroup(id, r.str("group"), r.str("item"))
}

// Group reads a group.
func (s *Store) Group(ctx context.Context, id store.ID) (store.Group, error) {
	r, err := s.run(ctx, "groups", func(o *object) { o.key("id").str(string(id[:])) })
	if err != nil {
		return store.Group{}, err
	}
	groups, err := readGroups(r.list("list"))
	if err == nil && len(groups) == 0 {
		err = fmt.Errorf("group %s: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return store.Group{}, err
	}
	return groups[0], nil
}

func readGroups(list []any) ([]store.Group, error) {
	var groups []store.Group
	for _, v := range list {
		l, _ := v.([]any)
		if len(l) != 3 {
			return nil, fmt.Errorf("read a group: %w", errPacked)
		}
		g, err := readGroup(idOf(l[0]), text(l[1]), text(l[2]))
		if err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// GroupList pages through groups, newest first.
func (s *Store) GroupList(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error) {
	before, err := store.ParseID(page.Cursor)
	if err != nil {
		return store.Page[store.Group]{}, err
	}
	limit := pageLimit(page)
	r, err := s.run(ctx, "groups", func(o *object) {
		o.key("before").str(rawID(before))
		o.key("limit").int(int64(limit + 1))
	})
	if err != nil {
		return store.Page[store.Group]{}, err
	}
	groups, err := readGroups(r.list("list"))
	return cutPage(groups, limit, func(g store.Group) string { return g.ID.String() }), err
}

func pageLimit(page store.PageRequest) int {
	if page.Limit <= 0 {
		return 100
	}
	return min(page.Limit, 1000)
}

// cutPage makes a page of what was read: one more than fits shows that there is more.
func cutPage[T any](items []T, limit int, key func(T) string) (page store.Page[T]) {
	page.Items = items
	if len(items) > limit {
		page.Items = items[:limit]
		page.Cursor = key(items[limit-1])
	}
	return page
}
