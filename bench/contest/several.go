package contest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// processes lets several worker processes run what is there: each side's Workers of them.
func processes(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	list := make([]part.Report, len(b.Sides))
	for i, s := range b.Sides {
		r, err := w.fleet(ctx, b, s)
		if err != nil {
			r.Error = err.Error()
		}
		list[i] = r
	}
	return list, nil
}

// fleet measures one side's worker processes.
func (w *World) fleet(ctx context.Context, b *Bench, s Side) (r part.Report, err error) {
	store, err := w.fresh(ctx, b.Engine)
	if err != nil {
		return r, err
	}
	defer store.remove()
	o := w.order(b, s, store)
	o.Bench = "fill"
	if _, err := w.ask(ctx, s, o); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	o.Bench = "work"
	var workers []*process
	for range s.Workers {
		p, err := w.start(ctx, s, o)
		if err != nil {
			return r, err
		}
		defer p.kill()
		workers = append(workers, p)
		if line, _ := p.hear(); line != "ready" {
			return r, fmt.Errorf("a worker said %q", line)
		}
	}
	server := part.TreeCPU(store.server)
	for _, p := range workers {
		if err := p.say("go"); err != nil {
			return r, err
		}
	}
	first, last := 0.0, 0.0
	for _, p := range workers {
		one, err := p.report()
		if err != nil {
			return r, err
		}
		if one.Tasks == 0 {
			continue
		}
		if f := one.Values["first"]; first == 0 || f < first {
			first = f
		}
		last = max(last, one.Values["last"])
		r.Tasks += one.Tasks
		r.CPU += one.CPU * float64(one.Tasks)
	}
	if last <= first {
		return r, errors.New("no tasks ran")
	}
	r.CPU /= float64(r.Tasks)
	r.ServerCPU = -1
	if store.server != 0 {
		r.ServerCPU = float64((part.TreeCPU(store.server) - server).Microseconds()) / float64(r.Tasks)
	}
	r.Values = map[string]float64{"rate": float64(r.Tasks) / (last - first)}
	return r, nil
}

// crashes kills a worker that runs tasks and waits until another runs all of them.
func crashes(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	list := make([]part.Report, len(b.Sides))
	for i, s := range b.Sides {
		r, err := w.crash(ctx, b, s)
		if err != nil {
			r.Error = err.Error()
		}
		list[i] = r
	}
	return list, nil
}

func (w *World) crash(ctx context.Context, b *Bench, s Side) (r part.Report, err error) {
	store, err := w.fresh(ctx, b.Engine)
	if err != nil {
		return r, err
	}
	defer store.remove()
	o := w.order(b, s, store)
	fill := o
	fill.Bench = "fill"
	if _, err := w.ask(ctx, s, fill); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	victim, err := w.start(ctx, s, o)
	if err != nil {
		return r, err
	}
	defer victim.kill()
	if !victim.runs(o.Tasks, time.Minute) {
		return r, errors.New("the tasks were not run at all")
	}
	heir, err := w.start(ctx, s, o)
	if err != nil {
		return r, err
	}
	defer heir.kill()
	select { // it has joined and is idle
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	begun := time.Now()
	victim.kill()
	took := o.For
	if heir.runs(o.Tasks, o.For) {
		took = time.Since(begun)
	}
	return part.Report{Values: map[string]float64{"took": took.Seconds()}, Tasks: o.Tasks, CPU: -1, ServerCPU: -1}, nil
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

// growth measures the same drain on a store with few finished tasks and with many.
func growth(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	store, err := w.fresh(ctx, b.Engine)
	if err != nil {
		return nil, err
	}
	defer store.remove()
	list := make([]part.Report, len(b.Sides))
	finished := 0
	for i := len(b.Sides) - 1; i >= 0; i-- { // the fullest store is the first side
		s := b.Sides[i]
		o := w.order(b, s, store)
		o.Bench, o.For = "drain", 15*time.Minute
		for finished < s.Finished {
			o.Tasks = min(100_000, s.Finished-finished)
			if _, err := w.ask(ctx, s, o); err != nil {
				return list, fmt.Errorf("fill: %w", err)
			}
			finished += o.Tasks
		}
		o.Tasks = b.Order.Tasks
		if list[i], err = w.ask(ctx, s, o); err != nil {
			return list, err
		}
		finished += o.Tasks
	}
	return list, nil
}

// calling runs the server that requests go to beside the contestants.
func calling(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	server, err := w.start(ctx, ours, part.Order{Bench: "serve", Side: side.Ours})
	if err != nil {
		return nil, err
	}
	defer server.kill()
	url, ok := server.hear()
	if !ok {
		return nil, errors.New("the HTTP server did not start")
	}
	b.Order.Target = url
	return inTurn(ctx, w, b)
}
