package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// allReady reports whether a request stores nothing but tasks that are ready at once and hang on nothing: no unique key, no group, no
// end to follow. They go by a statement of their own, on connections where that stays planned.
func (s *Store) allReady(req *store.SubmitRequest) bool {
	if s.cfg.Pooler || len(req.Groups) > 0 || len(req.Specs) == 0 || req.Claim != nil {
		return false
	}
	seen := make(map[store.ID]bool, len(req.Specs))
	for i := range req.Specs {
		spec := &req.Specs[i]
		if seen[spec.ID] || spec.Unique.Key != "" || !spec.Group.IsZero() || spec.OnEnd != nil || spec.Delay != 0 || !spec.DueAt.IsZero() || spec.Validate() != nil {
			return false
		}
		seen[spec.ID] = true
	}
	return true
}

// submitReady stores such tasks. Those whose ids are known are told by the function, in a call of its own.
func (s *Store) submitReady(ctx context.Context, specs []store.Spec) (store.SubmitResult, error) {
	fresh, err := s.storeReady(ctx, specs)
	if err != nil {
		return store.SubmitResult{}, err
	}
	res := store.SubmitResult{Groups: []error{}, Specs: make([]store.Submitted, len(specs))}
	var known store.SubmitRequest
	var places []int
	for i := range specs {
		spec := &specs[i]
		if fresh[spec.ID] {
			res.Specs[i] = store.Submitted{ID: spec.ID, State: store.Ready, Fingerprint: spec.Fingerprint}
			continue
		}
		known.Specs, places = append(known.Specs, *spec), append(places, i)
	}
	if len(places) == 0 {
		return res, nil
	}
	got, h, err := s.submit(ctx, s.pool, known)
	if err != nil {
		return store.SubmitResult{}, err
	}
	s.publish(&h)
	for n, i := range places {
		res.Specs[i] = got.Specs[n]
	}
	return res, nil
}

// storeReady stores them and tells of it. It returns those that are new.
func (s *Store) storeReady(ctx context.Context, specs []store.Spec) (map[store.ID]bool, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	var c readyColumns
	for i := range specs {
		if err := c.add(&specs[i]); err != nil {
			return nil, err
		}
	}
	query, args := s.q.get("submit_ready_many"), c.all()
	if len(specs) == 1 {
		query, args = s.q.get("submit_ready"), c.first()
	}
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	fresh := make(map[store.ID]bool, len(specs))
	var id pgtype.UUID
	var watched bool
	_, err = pgx.ForEachRow(rows, []any{&id, &watched}, func() error {
		fresh[id.Bytes] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	var h hints
	for i := range specs {
		if spec := &specs[i]; fresh[spec.ID] {
			if !slices.Contains(h.Queues, spec.Queue) {
				h.Queues = append(h.Queues, spec.Queue)
			}
			if watched {
				h.task(spec.ID.String(), true)
			}
		}
	}
	s.publish(&h)
	return fresh, nil
}

// readyColumns are what the statements take, column by column.
type readyColumns struct {
	id, parent                               []pgtype.UUID
	rest, args                               [][]byte
	labels                                   []*string
	rmax, rbase, rcap                        []int64
	rfactor                                  []float64
	spends, owned                            []bool
	startBy                                  []*int64
	kind, queue, lane, lim, ord, print       []string
	flag                                     []int16
	priority, rank, timeout, line, retention []int64
}

func (c *readyColumns) add(spec *store.Spec) error {
	var labels *string
	if spec.Labels != nil {
		b, err := json.Marshal(spec.Labels)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		text := string(b)
		labels = &text
	}
	var startBy *int64
	if n := bounded(spec.StartBy); n != 0 {
		startBy = &n
	}
	flag, rank := int16(0), -int64(spec.Priority)
	if spec.Order != "" {
		flag, rank = 1, 0
	}
	c.id = append(c.id, pgtype.UUID{Bytes: spec.ID, Valid: true})
	c.parent = append(c.parent, pgtype.UUID{Bytes: spec.Parent, Valid: !spec.Parent.IsZero()})
	c.rest, c.args, c.labels = append(c.rest, encodeRest(spec)), append(c.args, spec.Args), append(c.labels, labels)
	c.rmax, c.rbase, c.rcap = append(c.rmax, int64(spec.Retry.Max)), append(c.rbase, bounded(spec.Retry.Base)), append(c.rcap, bounded(spec.Retry.Cap))
	c.rfactor, c.spends, c.owned = append(c.rfactor, finite(spec.Retry.Factor)), append(c.spends, spec.Retry.CrashSpends), append(c.owned, spec.Owned)
	c.startBy, c.kind, c.queue = append(c.startBy, startBy), append(c.kind, spec.Kind), append(c.queue, spec.Queue)
	c.lane, c.lim, c.ord = append(c.lane, spec.Lane), append(c.lim, spec.Limit), append(c.ord, string(spec.Order))
	c.print, c.flag = append(c.print, spec.Fingerprint), append(c.flag, flag)
	c.priority, c.rank = append(c.priority, int64(spec.Priority)), append(c.rank, rank)
	c.timeout, c.line, c.retention = append(c.timeout, bounded(spec.Timeout)), append(c.line, spec.Line), append(c.retention, bounded(spec.Retention))
	return nil
}

func (c *readyColumns) all() []any {
	return []any{
		c.id, c.rest, c.args, c.labels, c.rmax, c.rbase, c.rfactor, c.rcap, c.spends, c.startBy, c.kind, c.queue, c.lane, c.lim,
		c.flag, c.ord, c.priority, c.rank, c.timeout, c.owned, c.line, c.parent, c.print, c.retention,
	}
}

// startByColumn is the place of startBy in first.
const startByColumn = 9

func (c *readyColumns) first() []any {
	return []any{
		c.id[0], c.rest[0], c.args[0], c.labels[0], c.rmax[0], c.rbase[0], c.rfactor[0], c.rcap[0], c.spends[0], c.startBy[0], c.kind[0],
		c.queue[0], c.lane[0], c.lim[0], c.flag[0], c.ord[0], c.priority[0], c.rank[0], c.timeout[0], c.owned[0], c.line[0], c.parent[0],
		c.print[0], c.retention[0],
	}
}
