package side

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/outlast-go/outlast/bench/part"
)

// asynqQueue is asynq on Redis. At its best it runs 100 tasks at once, as Outlast does by default, and looks for new ones every
// 5 ms when it is idle.
type asynqQueue struct {
	opt    asynq.RedisClientOpt
	client *asynq.Client
	cfg    asynq.Config
}

// mute is asynq's log.
type mute struct{}

func (mute) Debug(...any) {}
func (mute) Info(...any)  {}
func (mute) Warn(...any)  {}
func (mute) Error(...any) {}
func (mute) Fatal(...any) {}

func openAsynq(_ context.Context, o part.Order) (part.Queue, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	q := &asynqQueue{opt: asynq.RedisClientOpt{Addr: u.Host}, cfg: asynq.Config{Logger: mute{}}}
	if o.Setting == Best {
		q.cfg.Concurrency, q.cfg.TaskCheckInterval = 100, 5*time.Millisecond
	}
	if o.Slots > 0 {
		q.cfg.Concurrency = o.Slots
	}
	q.client = asynq.NewClient(q.opt)
	return q, nil
}

func (q *asynqQueue) Submit(_ context.Context, number int64) error {
	_, err := q.client.Enqueue(asynq.NewTask("noop", binary.AppendVarint(nil, number)))
	return err
}

// SubmitMany has no call for many to use: sixteen goroutines share the work.
func (q *asynqQueue) SubmitMany(ctx context.Context, n int) error {
	const goroutines = 16
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := g; i < n && errs[g] == nil; i += goroutines {
				errs[g] = q.Submit(ctx, int64(i))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (q *asynqQueue) Work(ctx context.Context, run func(context.Context, int64)) error {
	s := asynq.NewServer(q.opt, q.cfg)
	err := s.Start(asynq.HandlerFunc(func(ctx context.Context, t *asynq.Task) error {
		number, _ := binary.Varint(t.Payload())
		run(ctx, number)
		return ctx.Err()
	}))
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	<-ctx.Done()
	s.Shutdown()
	return nil
}

func (q *asynqQueue) Close() error { return q.client.Close() }
