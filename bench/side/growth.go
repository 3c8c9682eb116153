package side

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/store"
)

// hundred is how many tasks each measured call is about.
const hundred = 100

// costs are how long calls of the store took, by name.
type costs map[string][]time.Duration

func (c costs) time(name string, do func() error) error {
	begin := time.Now()
	err := do()
	c[name] = append(c[name], time.Since(begin))
	return err
}

// measureCosts fills a store until so many tasks have ended in it, and then tells what its operations cost and how large it is. The
// tasks of its report are how many have ended by then.
func measureCosts(ctx context.Context, o part.Order, _ *part.Wire) (r part.Report, err error) {
	s, err := openStock(ctx, o, store.Timing{})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.pass(ctx, o.Finished-o.Before, func() error { return nil }); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	finished := max(o.Before, o.Finished)
	if finished > 0 {
		if err := tidyUp(ctx, o); err != nil {
			return r, err
		}
	}
	r = part.Report{CPU: -1, ServerCPU: -1}
	for i, n := range []int{3, o.Tasks} { // the first ones make plans and fill caches
		c := costs{}
		done, err := s.cycle(ctx, c, n)
		if err != nil {
			return r, err
		}
		back, err := s.recover(ctx, o, c, max(n/3, 1))
		if err != nil {
			return r, err
		}
		finished += done + back
		if i == 0 {
			continue
		}
		r.Values = map[string]float64{}
		for name, list := range c {
			r.Values[name] = part.Quantiles(list)["p50"]
		}
	}
	r.Tasks = finished
	r.Values["size"], r.Notes, err = size(ctx, o)
	return r, err
}

// cycle submits, claims, completes and lists tasks by the hundred, n times, and tells how many have ended.
func (s *stock) cycle(ctx context.Context, c costs, n int) (done int, err error) {
	for range n {
		if _, err := s.put(ctx, hundred, false); err != nil {
			return done, err
		}
		var tasks []store.Task
		err := errors.Join(
			c.time("claim", func() (err error) { tasks, err = s.take(ctx, hundred); return err }),
			c.time("complete", func() error { return s.finish(ctx, tasks) }),
			c.time("list", func() error { return s.page(ctx) }),
			s.beat(ctx),
		)
		if err != nil {
			return done, err
		}
		if len(tasks) != hundred {
			return done, fmt.Errorf("%d of %d tasks were claimed", len(tasks), hundred)
		}
		done += hundred
	}
	return done, nil
}

// page lists the last hundred that are done.
func (s *stock) page(ctx context.Context) error {
	page, err := s.List(ctx, store.Filter{States: []store.State{store.Done}}, store.PageRequest{Limit: hundred})
	if err == nil && len(page.Items) != hundred {
		err = fmt.Errorf("a page has %d tasks", len(page.Items))
	}
	return err
}

// recover has a worker die with n times a hundred tasks, and puts them back by the hundred; then it runs them.
func (s *stock) recover(ctx context.Context, o part.Order, c costs, n int) (done int, err error) {
	victim, err := openStock(ctx, o, store.Timing{})
	if err != nil {
		return 0, err
	}
	for range n {
		if _, err := victim.put(ctx, hundred, true); err != nil {
			return 0, errors.Join(err, victim.Close())
		}
	}
	if err := victim.Close(); err != nil { // without a Leave: its evidence goes with the handle
		return 0, err
	}
	for begun := time.Now(); done < n*hundred; {
		var res store.RecoverResult
		one := costs{}
		err := one.time("recover", func() (err error) {
			res, err = s.Recover(ctx, store.RecoverRequest{Worker: s.worker, Limit: hundred, Force: true})
			return err
		})
		if err = errors.Join(err, s.beat(ctx)); err != nil {
			return done, fmt.Errorf("recover: %w", err)
		}
		done += len(res.Tasks)
		switch {
		case len(res.Tasks) == hundred:
			c["recover"] = append(c["recover"], one["recover"]...)
		case time.Since(begun) > time.Minute:
			return done, fmt.Errorf("%d of %d tasks of a dead worker were put back", done, n*hundred)
		default:
			<-time.After(20 * time.Millisecond) // its death is not certain yet
		}
	}
	for left := done; left > 0; {
		ran, err := s.run(ctx, 10*hundred)
		if err == nil && ran == 0 {
			err = fmt.Errorf("%d recovered tasks are not ready", left)
		}
		if err != nil {
			return done, err
		}
		left -= ran
	}
	return done, nil
}

// shortHorizon lets a task be pruned soon after it has ended: what would take days is over in minutes.
const shortHorizon = 2 * time.Second

// measurePassed lets tasks through a store that is pruned all the while, and tells how large it is when they are gone.
func measurePassed(ctx context.Context, o part.Order, _ *part.Wire) (r part.Report, err error) {
	s, err := openStock(ctx, o, store.Timing{Horizon: shortHorizon})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	s.retention = time.Nanosecond
	prune := func() error {
		for range 3 {
			if n, err := s.Prune(ctx, 1000); n < 1000 || err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.pass(ctx, o.Finished-o.Before, prune); err != nil {
		return r, err
	}
	for begun := time.Now(); time.Since(begun) < 2*shortHorizon; {
		if err := errors.Join(prune(), s.beat(ctx)); err != nil {
			return r, err
		}
		<-time.After(20 * time.Millisecond)
	}
	r = part.Report{Values: map[string]float64{}, Tasks: o.Finished, CPU: -1, ServerCPU: -1}
	r.Values["size"], r.Notes, err = size(ctx, o)
	return r, err
}
