package contest

import (
	"context"
	"errors"
	"fmt"

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
