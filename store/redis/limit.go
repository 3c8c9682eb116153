package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// PutLimit sets a limit.
func (s *Store) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	if err := l.Validate(); err != nil {
		return store.Limit{}, err
	}
	conf, err := json.Marshal(l)
	if err != nil {
		return store.Limit{}, fmt.Errorf("%w: limit %s: %w", store.ErrInvalid, l.Key, err)
	}
	r, err := s.run(ctx, "put_limit", func(o *object) {
		o.key("key").str(l.Key)
		o.key("conf").str(string(conf))
		o.key("max").int(int64(l.Running))
		p := o.key("rates")
		p.array(len(l.Rates))
		for _, rate := range l.Rates {
			packRate(p, rate)
		}
	})
	if err != nil || r.str("before") == "" {
		return store.Limit{}, err
	}
	return readLimit(r.str("before"))
}

// packRate writes a rate with the time between starts and the time that a full burst is worth.
func packRate(p *packer, rate store.Rate) {
	step, burst := rate.Pace()
	o := p.object()
	o.key("name").str(fmt.Sprintf("%d/%d/%d", rate.N, rate.Per, rate.Burst))
	o.key("step").float(float64(step) / 1000)
	o.key("burst").float(float64(burst) / 1000)
	o.close()
}

func readLimit(conf string) (l store.Limit, err error) {
	if err := json.Unmarshal([]byte(conf), &l); err != nil {
		return l, fmt.Errorf("read a limit: %w", err)
	}
	return l, nil
}

// LimitList lists limits and their use.
func (s *Store) LimitList(ctx context.Context, keys ...string) ([]store.LimitStatus, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	var all []store.LimitStatus
	for part := range slices.Chunk(keys, stepLimit) {
		r, err := s.run(ctx, "limits", func(o *object) {
			p := o.key("keys")
			p.array(len(part))
			for _, key := range part {
				p.str(key)
			}
		})
		if err != nil {
			return nil, err
		}
		list, err := readLimits(r.list("list"))
		if all = append(all, list...); err != nil {
			return nil, err
		}
	}
	if len(keys) > 0 {
		return all, nil
	}
	after := ""
	for {
		r, err := s.run(ctx, "limits", func(o *object) {
			o.key("after").str(after)
			o.key("limit").int(stepLimit)
		})
		if err != nil {
			return nil, err
		}
		part, err := readLimits(r.list("list"))
		if all = append(all, part...); err != nil || len(part) < stepLimit {
			return all, err
		}
		after = part[len(part)-1].Key
	}
}

func readLimits(list []any) ([]store.LimitStatus, error) {
	var limits []store.LimitStatus
	for _, v := range list {
		p, _ := v.([]any)
		if len(p) != 4 {
			return nil, fmt.Errorf("read a limit: %w", errPacked)
		}
		l, err := readLimit(text(p[1]))
		if err != nil {
			return nil, err
		}
		st := store.LimitStatus{Limit: l, InUse: int(whole(p[2]))}
		if whole(p[3]) != 0 {
			st.Opens = span(p[3])
		}
		limits = append(limits, st)
	}
	return limits, nil
}
