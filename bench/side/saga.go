package side

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/storetest"
)

// InCaller is the setting of an order whose sagas run in the process that starts them, up to the first step with a queue.
const InCaller = "caller"

// asyncQueue is where steps with a queue of their own wait.
const asyncQueue = "steps"

// sagas is a worker and what its sagas leave behind.
type sagas struct {
	k       *kernel.Kernel
	def     *saga.Def[int, int]
	commits atomic.Int64
	mu      sync.Mutex
	left    map[int]time.Time // when the step before the hand-off ended, by saga
	took    []time.Duration   // hand-offs
}

// define makes a saga of empty steps; the last of them waits in a queue if there is to be a hand-off.
func (s *sagas) define(steps int, handOff bool) {
	s.left = map[int]time.Time{}
	s.def = saga.Define(fmt.Sprintf("empty-%d", steps), func(b *saga.Builder[int]) *saga.Node[int] {
		last, from := (*saga.Node[int])(nil), b.In()
		for i := range steps {
			last = saga.Step1(b, fmt.Sprintf("s%d", i), func(_ context.Context, n int) (int, error) {
				if handOff {
					s.passed(i, steps, n)
				}
				return n, nil
			}, from)
			from = last
		}
		if handOff {
			last.Async(asyncQueue)
		}
		return last
	})
}

// passed notes when the last but one step of saga n ended, and how long after it the last one began.
func (s *sagas) passed(step, steps, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch step {
	case steps - 2:
		s.left[n] = time.Now()
	case steps - 1:
		s.took = append(s.took, time.Since(s.left[n]))
		delete(s.left, n)
	}
}

// with runs a worker on the store of an order while fn starts sagas.
func (s *sagas) with(ctx context.Context, o part.Order, count bool, fn func(context.Context) error) (err error) {
	st, err := engine.Open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	used := st
	if count {
		used = storetest.Wrap(st, func(_ context.Context, op string, do func() error) error {
			switch op {
			case "Submit", "Save", "Complete":
				s.commits.Add(1)
			}
			return do()
		})
	}
	if s.k, err = kernel.New(used, kernel.Config{Slots: map[string]int{kernel.DefaultQueue: 100, asyncQueue: 100}, Logger: quiet}); err != nil {
		return err
	}
	defer s.k.Close()
	s.def.Serve(s.k)
	ctx, stop := context.WithCancel(ctx)
	var ran error
	var group sync.WaitGroup
	group.Go(func() { ran = s.k.Run(ctx) })
	err = s.one(ctx, o, -1) // the worker is there, statements are made
	if err == nil {
		err = fn(ctx)
	}
	stop()
	group.Wait()
	return errors.Join(err, ran)
}

// one runs a saga to its end.
func (s *sagas) one(ctx context.Context, o part.Order, n int) error {
	start := s.def.Start
	if o.Setting == InCaller {
		start = s.def.Run
	}
	h, err := start(ctx, s.k, n, saga.Options{})
	if err != nil {
		return err
	}
	_, err = h.Wait(ctx)
	return err
}

// measureSagas runs sagas side by side. Of a bare store it is the same number of durable writes in a row, without any saga.
func measureSagas(ctx context.Context, o part.Order, _ *part.Wire) (part.Report, error) {
	if o.Side != Ours {
		return bareSagas(ctx, o)
	}
	s := &sagas{}
	s.define(o.Steps, false)
	var r part.Report
	err := s.with(ctx, o, false, func(ctx context.Context) (err error) {
		r, err = part.Loop(o, func(int) error { return s.one(ctx, o, 0) })
		return err
	})
	return r, err
}

func bareSagas(ctx context.Context, o part.Order) (r part.Report, err error) {
	q, err := Queues[o.Side](ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return part.Loop(o, func(int) error {
		for range o.Steps + 2 {
			if err := q.Submit(ctx, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// measureHandOff runs one saga after the other, and tells how long a step with a queue waits after the one before it, and how many
// writes a saga costs. Of a bare store it is one durable write after the other.
func measureHandOff(ctx context.Context, o part.Order, _ *part.Wire) (part.Report, error) {
	if o.Side != Ours {
		r, err := bareSagas(ctx, part.Order{Side: o.Side, URL: o.URL, Server: o.Server, Goroutines: 1, For: time.Second, Steps: -1})
		if err == nil {
			r.Values["commits"] = float64(o.Steps + 2)
		}
		return r, err
	}
	s := &sagas{}
	s.define(o.Steps, true)
	var r part.Report
	err := s.with(ctx, o, true, func(ctx context.Context) error {
		s.mu.Lock()
		s.took = nil
		s.mu.Unlock()
		s.commits.Store(0)
		for n := range o.Tasks {
			if err := s.one(ctx, o, n); err != nil {
				return err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		slices.Sort(s.took)
		r = part.Report{Values: part.Quantiles(s.took), Tasks: o.Tasks, CPU: -1, ServerCPU: -1}
		r.Values["commits"] = float64(s.commits.Load()) / float64(o.Tasks)
		return nil
	})
	return r, err
}
