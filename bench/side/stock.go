package side

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
)

// stock is a store used by its own interface, without a kernel: what its operations cost is then nobody else's.
type stock struct {
	store.Store
	worker    string
	retention time.Duration
}

const stockKind, stockQueue = "noop", "default"

// openStock opens a store and joins it.
func openStock(ctx context.Context, o part.Order, timing store.Timing) (*stock, error) {
	s := &stock{worker: "bench:1:" + rand.Text(), retention: 24 * time.Hour}
	var err error
	switch scheme, _, _ := strings.Cut(o.URL, ":"); scheme {
	case "sqlite":
		s.Store, err = sqlite.Open(ctx, sqlite.Config{Path: engine.Path(o.URL), Timing: timing})
	case "postgres":
		s.Store, err = postgres.Open(ctx, o.URL, postgres.Config{Timing: timing})
	case "redis":
		s.Store, err = redis.Open(ctx, o.URL, redis.Config{Timing: timing, Log: quiet})
	default:
		err = fmt.Errorf("no store is at %s", scheme)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Join(ctx, store.JoinRequest{ID: s.worker, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		return nil, errors.Join(fmt.Errorf("join: %w", err), s.Close())
	}
	return s, nil
}

func newID() store.ID {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	return store.MakeID(time.Now(), random)
}

// put submits tasks, and runs them at once if they are to be claimed.
func (s *stock) put(ctx context.Context, n int, claim bool) ([]store.Task, error) {
	req := store.SubmitRequest{Specs: make([]store.Spec, n)}
	for i := range req.Specs {
		req.Specs[i] = store.Spec{ID: newID(), Kind: stockKind, Queue: stockQueue, Args: bareArgs, Retention: s.retention, Retry: store.Retry{Max: 25}}
	}
	if claim {
		req.Claim = &store.ClaimRequest{Worker: s.worker, Nonce: newID()}
	}
	res, err := s.Submit(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	for _, one := range res.Specs {
		err = errors.Join(err, one.Err)
	}
	if claim && len(res.Claimed) != n {
		err = errors.Join(err, res.ClaimErr, fmt.Errorf("%d of %d tasks were claimed", len(res.Claimed), n))
	}
	return res.Claimed, err
}

// take claims up to n tasks.
func (s *stock) take(ctx context.Context, n int) ([]store.Task, error) {
	res, err := s.Claim(ctx, store.ClaimRequest{
		Worker: s.worker, Nonce: newID(), Kinds: []string{stockKind}, Queues: []store.QueueSlots{{Queue: stockQueue, Slots: n}},
	})
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return res.Tasks, nil
}

// finish completes tasks.
func (s *stock) finish(ctx context.Context, tasks []store.Task) error {
	var req store.CompleteRequest
	for _, t := range tasks {
		req.Items = append(req.Items, store.Completion{Fence: t.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte("{}")}})
	}
	res, err := s.Complete(ctx, req)
	if err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	for _, one := range res.Items {
		err = errors.Join(err, one.Err)
	}
	return err
}

// beat keeps the worker alive.
func (s *stock) beat(ctx context.Context) error {
	_, err := s.Beat(ctx, store.BeatRequest{Worker: s.worker, Queues: []string{stockQueue}, Kinds: []string{stockKind}})
	return err
}

// pass lets n tasks through in blocks, three side by side, calling between after each.
func (s *stock) pass(ctx context.Context, n int, between func() error) error {
	const block, lanes = 1000, 3
	var left atomic.Int64
	left.Store(int64(n))
	err := part.Parallel(lanes, func(int) error {
		for {
			mine := min(left.Add(-block)+block, block)
			if mine <= 0 {
				return nil
			}
			if _, err := s.put(ctx, int(mine), false); err != nil {
				return err
			}
			if _, err := s.run(ctx, block); err != nil {
				return err
			}
			if err := errors.Join(s.beat(ctx), between()); err != nil {
				return err
			}
		}
	})
	for more := 1; more > 0 && err == nil; { // what one lane submitted, another may have claimed
		more, err = s.run(ctx, block)
	}
	return err
}

// run claims up to n tasks and completes them.
func (s *stock) run(ctx context.Context, n int) (int, error) {
	tasks, err := s.take(ctx, n)
	if err != nil || len(tasks) == 0 {
		return 0, err
	}
	return len(tasks), s.finish(ctx, tasks)
}
