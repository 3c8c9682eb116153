package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// changeGroup seals, releases or aborts a group.
func (s *Store) changeGroup(ctx context.Context, id store.ID, what, why string) (store.Group, error) {
	req := s.idRequest(id)
	req.What, req.Why = what, clean(why)
	var got answer
	if err := s.call(ctx, "change_group", req, &got); err != nil {
		return store.Group{}, err
	}
	if got.Err != "" {
		return store.Group{}, noGroup(id)
	}
	return s.Group(ctx, id)
}

func noGroup(id store.ID) error { return fmt.Errorf("group %s: %w", id, store.ErrNotFound) }

// Seal says that all first members are there.
func (s *Store) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	return s.changeGroup(ctx, id, "seal", "")
}

// Release ends the hold of a group.
func (s *Store) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return s.changeGroup(ctx, id, "release", "")
}

// Abort asks all members to end.
func (s *Store) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	if reason == "" {
		reason = store.ReasonAborted
	}
	return s.changeGroup(ctx, id, "abort", reason)
}

// Group reads a group.
func (s *Store) Group(ctx context.Context, id store.ID) (g store.Group, err error) {
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		g, err = readGroup(c.QueryRow(ctx, s.q.get("group_get"), id.String()))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Group{}, noGroup(id)
	}
	return g, err
}

// GroupList pages through groups, newest first.
func (s *Store) GroupList(ctx context.Context, page store.PageRequest) (res store.Page[store.Group], err error) {
	before := page.Cursor
	if before == "" {
		before = "ffffffff-ffff-ffff-ffff-ffffffffffff"
	}
	limit := pageLimit(page)
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		rows, err := c.Query(ctx, s.q.get("group_page"), before, limit+1)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			g, err := readGroup(rows)
			if err != nil {
				return err
			}
			res.Items = append(res.Items, g)
		}
		return rows.Err()
	})
	if len(res.Items) > limit {
		res.Items = res.Items[:limit]
		res.Cursor = res.Items[limit-1].ID.String()
	}
	return res, err
}

func pageLimit(page store.PageRequest) int {
	if page.Limit <= 0 {
		return 100
	}
	return min(page.Limit, 1000)
}

// readGroup reads a row of a query of groups.
func readGroup(r pgx.Row) (store.Group, error) {
	var g store.Group
	var id, parent, keeper pgtype.UUID
	var onClose, labels []byte
	var state string
	var kept, generation, created, updated int64
	var closed *int64
	err := r.Scan(&id, &g.Name, &g.Hold, &g.Seal, &parent, &onClose, &labels, &kept, &state, &g.Sealed, &g.Aborting, &generation, &g.Version,
		&g.Total, &g.Done, &g.Failed, &g.Cancelled, &keeper, &created, &closed, &updated)
	if err != nil {
		return store.Group{}, err
	}
	g.ID, g.Parent, g.Keeper = id.Bytes, parent.Bytes, keeper.Bytes
	g.State, g.Generation, g.Retention = store.GroupState(state), int(generation), time.Duration(kept)
	g.CreatedAt, g.ClosedAt, g.UpdatedAt = instant(&created), instant(closed), instant(&updated)
	if labels != nil {
		if err := json.Unmarshal(labels, &g.Labels); err != nil {
			return store.Group{}, fmt.Errorf("labels of group %s: %w", g.ID, err)
		}
	}
	if onClose != nil {
		var w wireSpec
		if err := json.Unmarshal(onClose, &w); err != nil {
			return store.Group{}, fmt.Errorf("OnClose of group %s: %w", g.ID, err)
		}
		next, _ := w.spec()
		g.OnClose = &next
	}
	return g, nil
}
