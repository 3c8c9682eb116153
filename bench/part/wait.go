package part

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// pace is how often a task is stored where a worker has nothing else to do.
const pace = 10 * time.Millisecond

// write stores at the pace of latency, and tells how long that took: nobody's task can run sooner.
func write(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	var took []time.Duration
	c := start(o.Server)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := range o.Tasks + 20 { // as many as warm stores
		<-ticker.C
		at := time.Now()
		if err := q.Submit(ctx, at.UnixNano()); err != nil {
			return Report{}, fmt.Errorf("submit: %w", err)
		}
		if i >= 20 {
			took = append(took, time.Since(at))
		}
	}
	return c.report(o.Tasks, quantiles(took)), nil
}

// latency stores tasks at a steady pace on a worker that has nothing else to do, and tells how long each waited until it ran.
func latency(ctx context.Context, q Queue, o Order, _ *Wire) (Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ran := make(chan time.Duration, o.Tasks+100)
	var worked error
	var group sync.WaitGroup
	group.Go(func() {
		worked = q.Work(ctx, func(_ context.Context, at int64) { ran <- time.Since(time.Unix(0, at)) })
	})
	r, err := func() (Report, error) {
		if err := warm(ctx, q, ran); err != nil {
			return Report{}, err
		}
		c := start(o.Server)
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for range o.Tasks {
			<-ticker.C
			if err := q.Submit(ctx, time.Now().UnixNano()); err != nil {
				return Report{}, fmt.Errorf("submit: %w", err)
			}
		}
		took, err := gather(ran, o.Tasks)
		return c.report(o.Tasks, quantiles(took)), err
	}()
	stop()
	group.Wait()
	return r, errors.Join(err, worked)
}

// warm lets some tasks through, so that connections, statements and code paths are there.
func warm(ctx context.Context, q Queue, ran <-chan time.Duration) error {
	for range 20 {
		if err := q.Submit(ctx, time.Now().UnixNano()); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
		if _, err := gather(ran, 1); err != nil {
			return err
		}
	}
	return nil
}

func gather(ran <-chan time.Duration, n int) ([]time.Duration, error) {
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	list := make([]time.Duration, 0, n)
	for len(list) < n {
		select {
		case d := <-ran:
			list = append(list, d)
		case <-late.C:
			return list, fmt.Errorf("%d of %d tasks did not run within 30 s", n-len(list), n)
		}
	}
	return list, nil
}

// work is one of several worker processes: it says ready, and works from "go" on for the time of the order. First and last are
// of the wall clock, which all processes of the machine share.
func work(ctx context.Context, q Queue, o Order, w *Wire) (Report, error) {
	w.Say("ready")
	w.Hear()
	ctx, stop := context.WithTimeout(ctx, o.For)
	defer stop()
	c := start(0)
	n := &count{begun: c.at}
	err := q.Work(ctx, func(context.Context, int64) { n.add() })
	values := map[string]float64{
		"first": float64(c.at.UnixNano()+n.first.Load()) / 1e9,
		"last":  float64(c.at.UnixNano()+n.last.Load()) / 1e9,
	}
	return c.report(int(n.n.Load()), values), err
}

// hold runs tasks that do not end, and says "run" for each that begins, until its input ends or it is killed.
func hold(ctx context.Context, q Queue, _ Order, w *Wire) (Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() {
		w.Hear()
		stop()
	})
	begun := make(chan int64, 1000)
	group.Go(func() {
		for {
			select {
			case number := <-begun:
				w.Say("run %d", number)
			case <-ctx.Done():
				return
			}
		}
	})
	err := q.Work(ctx, func(run context.Context, number int64) {
		begun <- number
		<-run.Done()
	})
	group.Wait()
	return Report{}, err
}

// parallel calls fn in so many goroutines and waits for all.
func parallel(goroutines int, fn func(g int) error) error {
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() { errs[g] = fn(g) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// quantiles are the median and the 99th percentile in milliseconds.
func quantiles(list []time.Duration) map[string]float64 {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	at := func(q float64) float64 { return float64(list[int(q*float64(len(list)-1))].Nanoseconds()) / 1e6 }
	return map[string]float64{"p50": at(0.5), "p99": at(0.99)}
}

func with(values map[string]float64, name string, v float64) map[string]float64 {
	all := map[string]float64{name: v}
	maps.Copy(all, values)
	return all
}
