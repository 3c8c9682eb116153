package contest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/outlast-go/outlast/bench/part"
)

// settle is how long all workers are left alone before one is killed: the heir has joined by then, and is idle.
const settle = 3 * time.Second

// crashes kills a worker of each side that runs tasks, and waits until another runs all of them. The sides wait side by side, as they have
// nothing to do meanwhile; nobody is killed before all are ready.
func crashes(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	list := make([]part.Report, len(b.Sides))
	pairs := make([]pair, len(b.Sides))
	for i, s := range b.Sides { // on Redis an empty store is one for all of them
		pairs[i].order, pairs[i].err = w.place(ctx, b, s, &pairs[i])
	}
	for i, s := range b.Sides {
		defer pairs[i].end()
		if pairs[i].err == nil {
			pairs[i].err = pairs[i].ready(ctx, w, s)
		}
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var group sync.WaitGroup
	for i := range pairs {
		group.Go(func() {
			if pairs[i].err != nil {
				list[i].Error = pairs[i].err.Error()
				return
			}
			list[i] = pairs[i].kill()
		})
	}
	group.Wait()
	return list, nil
}

// pair is a worker that will be killed and one that should take over.
type pair struct {
	victim, heir *process
	order        part.Order
	remove       func()
	err          error
}

// place gives a pair a store.
func (w *World) place(ctx context.Context, b *Bench, s Side, p *pair) (part.Order, error) {
	store, err := w.fresh(ctx, b.Engine)
	p.remove = store.remove
	return w.order(b, s, store), err
}

// ready fills the store, has the victim run all tasks, and starts the heir.
func (p *pair) ready(ctx context.Context, w *World, s Side) (err error) {
	fill := p.order
	fill.Bench = "fill"
	if _, err := w.ask(ctx, s, fill); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if p.victim, err = w.start(ctx, s, p.order); err != nil {
		return err
	}
	if !p.victim.runs(p.order.Tasks, time.Minute) {
		return errors.New("the tasks were not run at all")
	}
	p.heir, err = w.start(ctx, s, p.order)
	return err
}

// kill ends the victim, and tells how long it took until the heir runs its tasks.
func (p *pair) kill() part.Report {
	begun := time.Now()
	p.victim.kill()
	took := p.order.For
	if p.heir.runs(p.order.Tasks, p.order.For) {
		took = time.Since(begun)
	}
	return part.Report{Values: map[string]float64{"took": took.Seconds()}, Tasks: p.order.Tasks, CPU: -1, ServerCPU: -1}
}

func (p *pair) end() {
	for _, one := range []*process{p.victim, p.heir} {
		if one != nil {
			one.kill()
		}
	}
	if p.remove != nil {
		p.remove()
	}
}

// runs waits until the process has said that it runs so many tasks. A process that takes too long is killed.
func (p *process) runs(n int, patience time.Duration) bool {
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	seen := map[string]bool{}
	for len(seen) < n {
		line, ok := p.hear()
		if !ok {
			return false
		}
		seen[line] = true
	}
	return late.Stop()
}
