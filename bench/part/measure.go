package part

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// block is how many tasks a bulk call takes.
const block = 1000

// measures are what can be measured of a queue.
var measures = map[string]func(context.Context, Queue, Order, *Wire) (Report, error){
	"submit":  submit,
	"bulk":    bulk,
	"fill":    fill,
	"drain":   drain,
	"rows":    rows,
	"through": through,
	"latency": latency,
	"write":   write,
	"work":    work,
	"hold":    hold,
}

// submit lets goroutines store one task after the other.
func submit(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	for range 50 { // connections are made, statements and functions planned
		if err := q.Submit(ctx, 0); err != nil {
			return Report{}, fmt.Errorf("submit: %w", err)
		}
	}
	return Loop(o, func(int) error { return q.Submit(ctx, time.Now().UnixNano()) })
}

// bulk stores tasks by the call for many, from one goroutine.
func bulk(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	if err := q.SubmitMany(ctx, 10); err != nil {
		return Report{}, err
	}
	n, c := 0, start(o.Server)
	for time.Since(c.at) < o.For {
		if err := q.SubmitMany(ctx, block); err != nil {
			return Report{}, fmt.Errorf("submit %d: %w", block, err)
		}
		n += block
	}
	return c.report(n, with(nil, "rate", float64(n)/time.Since(c.at).Seconds())), nil
}

// fill stores the tasks that others are to run.
func fill(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	for n := 0; n < o.Tasks; n += block {
		if err := q.SubmitMany(ctx, min(block, o.Tasks-n)); err != nil {
			return Report{}, fmt.Errorf("fill: %w", err)
		}
	}
	return Report{Tasks: o.Tasks}, nil
}

// drain runs tasks that are all there when it begins.
func drain(ctx context.Context, q Queue, o Order, w *Wire) (Report, error) {
	if _, err := fill(ctx, q, o, w); err != nil {
		return Report{}, err
	}
	return runAll(ctx, q, o, nil)
}

// rows stores tasks and then runs them; its rate is that of both together.
func rows(ctx context.Context, q Queue, o Order, w *Wire) (Report, error) {
	return Whole(o, func() (float64, error) {
		grown, err := Peak(func() error {
			_, err := fill(ctx, q, o, w)
			return err
		})
		if err != nil {
			return 0, err
		}
		r, err := runAll(ctx, q, o, nil)
		if err == nil && r.Tasks < o.Tasks {
			err = fmt.Errorf("%d of %d tasks ran in %v", r.Tasks, o.Tasks, o.For)
		}
		return grown, err
	})
}

// through runs tasks while goroutines store them: end to end.
func through(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	return runAll(ctx, q, o, func(ctx context.Context) error {
		return parallel(o.Goroutines, func(g int) error {
			for i := g; i < o.Tasks && ctx.Err() == nil; i += o.Goroutines {
				if err := q.Submit(ctx, int64(i)); err != nil && ctx.Err() == nil {
					return fmt.Errorf("submit: %w", err)
				}
			}
			return nil
		})
	})
}

// count tells how many tasks ran, and the times of the first and of the last one.
type count struct {
	begun       time.Time
	n           atomic.Int64
	first, last atomic.Int64 // since begun
}

func (c *count) add() int {
	now := time.Since(c.begun).Nanoseconds()
	c.first.CompareAndSwap(0, now)
	if last := c.last.Load(); now > last {
		c.last.CompareAndSwap(last, now)
	}
	return int(c.n.Add(1))
}

// rate is told by the time between the first and the last: how long a contestant takes to start is not how fast it is.
func (c *count) rate() float64 {
	between := time.Duration(c.last.Load() - c.first.Load())
	if between <= 0 {
		return 0
	}
	return float64(c.n.Load()-1) / between.Seconds()
}

// runAll runs tasks until all of the order have run or its time is over, with a feeder beside it if there is one.
func runAll(ctx context.Context, q Queue, o Order, feed func(context.Context) error) (Report, error) {
	ctx, stop := context.WithTimeout(ctx, o.For)
	defer stop()
	var r Report
	var fed error
	var group sync.WaitGroup
	c := start(o.Server)
	n := &count{begun: c.at}
	if feed != nil {
		group.Go(func() { fed = feed(ctx) })
	}
	group.Go(func() {
		<-ctx.Done() // before the contestant tidies up, which is not counted
		r = c.report(int(n.n.Load()), with(nil, "rate", n.rate()))
	})
	err := q.Work(ctx, func(context.Context, int64) {
		if n.add() == o.Tasks {
			stop()
		}
	})
	stop()
	group.Wait()
	if r.Tasks < 2 && err == nil {
		err = fmt.Errorf("%d tasks ran in %v", r.Tasks, o.For)
	}
	return r, errors.Join(err, fed)
}
