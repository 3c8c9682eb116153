package redis

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

func scopeField(s store.Scope) string { return s.Queue + "\x00" + s.Kind + "\x00" + s.Lane }

// Pause keeps claims away from a scope.
func (s *Store) Pause(ctx context.Context, scope store.Scope, d time.Duration, reason string) error {
	return s.do(ctx, "pause", func(o *object) {
		o.key("scope").str(scopeField(scope))
		o.key("reason").str(reason)
		o.key("time").int(int64(max(d, 0)))
	})
}

// Resume ends the pause of exactly this scope.
func (s *Store) Resume(ctx context.Context, scope store.Scope) error {
	return s.do(ctx, "resume", func(o *object) { o.key("scope").str(scopeField(scope)) })
}

// PauseList lists the pauses that stand.
func (s *Store) PauseList(ctx context.Context) ([]store.Pause, error) {
	r, err := s.run(ctx, "pauses", func(*object) {})
	if err != nil {
		return nil, err
	}
	var pauses []store.Pause
	list := r.list("list")
	for i := 0; i+1 < len(list); i += 2 {
		scope := split(text(list[i]))
		p, err := unpack(text(list[i+1]))
		if err != nil || len(scope) != 3 {
			continue // what cannot be read keeps nothing away
		}
		pauses = append(pauses, store.Pause{
			Scope:  store.Scope{Queue: scope[0], Kind: scope[1], Lane: scope[2]},
			Reason: p.str("reason"), At: instant(p.int("at")), Until: instant(p.int("until")),
		})
	}
	slices.SortFunc(pauses, func(a, b store.Pause) int { return strings.Compare(scopeField(a.Scope), scopeField(b.Scope)) })
	return pauses, nil
}

// PutWeight sets how many tasks lanes with this key give in a turn.
func (s *Store) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	return s.do(ctx, "put_weight", func(o *object) {
		o.key("queue").str(queue)
		o.key("lane").str(lane)
		o.key("weight").int(int64(max(weight, 1)))
	})
}

// LaneList pages through the lanes of a queue that have ready tasks.
func (s *Store) LaneList(ctx context.Context, queue string, page store.PageRequest) (store.Page[store.LaneStatus], error) {
	limit := pageLimit(page)
	r, err := s.run(ctx, "lanes", func(o *object) {
		o.key("queue").str(queue)
		o.key("after").str(page.Cursor)
		o.key("limit").int(int64(limit + 1))
	})
	if err != nil {
		return store.Page[store.LaneStatus]{}, err
	}
	var lanes []store.LaneStatus
	for _, v := range r.list("list") {
		l, _ := v.([]any)
		if len(l) != 6 {
			continue
		}
		name := split(text(l[0]))
		if len(name) != 4 {
			continue
		}
		lanes = append(lanes, store.LaneStatus{
			Queue: queue, Kind: name[0], Lane: name[1], Limit: name[2],
			Ordered: strings.Contains(name[3], "o"), Suspect: strings.Contains(name[3], "s"),
			Ready: whole(l[1]), Priority: int(whole(l[2])), OldestAt: instant(whole(l[3])), Weight: int(whole(l[4])), Blocked: text(l[5]),
		})
	}
	return cutPage(lanes, limit, func(l store.LaneStatus) string {
		order := store.Unordered
		if l.Ordered {
			order = store.OrderSkip
		}
		return store.LaneName(l.Kind, l.Lane, l.Limit, order, l.Suspect)
	}), nil
}
