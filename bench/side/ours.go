package side

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// ours is Outlast as a program uses it: a typed job on a kernel with its defaults.
type ours struct {
	st  store.Store
	k   *kernel.Kernel
	job *job.Job[args, struct{}]
	run func(ctx context.Context, number int64)
}

func openOurs(ctx context.Context, o part.Order) (part.Queue, error) {
	st, err := engine.Open(ctx, o.URL)
	if err != nil {
		return nil, err
	}
	cfg := kernel.Config{Logger: quiet}
	if o.Slots > 0 {
		cfg.Slots = map[string]int{kernel.DefaultQueue: o.Slots}
	}
	k, err := kernel.New(st, cfg)
	if err != nil {
		return nil, err
	}
	s := &ours{st: st, k: k}
	s.job = job.Define("noop", func(ctx context.Context, in args) (struct{}, error) {
		s.run(ctx, in.Number)
		return struct{}{}, nil
	}, job.Config{})
	s.job.Serve(k)
	return s, nil
}

func (s *ours) Submit(ctx context.Context, number int64) error {
	_, err := s.job.Start(ctx, s.k, args{number}, job.Options{})
	return err
}

func (s *ours) SubmitMany(ctx context.Context, n int) error {
	list := make([]args, n)
	for i := range list {
		list[i].Number = int64(i)
	}
	_, err := s.job.StartMany(ctx, s.k, list)
	return err
}

func (s *ours) Work(ctx context.Context, run func(context.Context, int64)) error {
	s.run = run
	if err := s.k.Run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

func (s *ours) Close() error {
	s.k.Close()
	return s.st.Close()
}
