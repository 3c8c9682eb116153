package sim

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

func (s *Sim) kernelConfig(p *process) kernel.Config {
	cfg := kernel.Config{
		Env:             env{p},
		Name:            p.name,
		Slots:           map[string]int{kernel.DefaultQueue: s.plan.slots},
		Beat:            s.plan.beat,
		DeadAfter:       s.plan.deadAfter,
		ShutdownTimeout: max(s.plan.shutdown, time.Millisecond),
		CallTimeout:     s.plan.deadAfter / 2,
		SplitFrom:       2 + s.plan.slots%2,
		PruneEvery:      20 * time.Second,
		Logger:          slog.New(slog.DiscardHandler),
		Around:          []func(kernel.Handler) kernel.Handler{s.around(p)},
	}
	for _, set := range s.work.config {
		set(p, &cfg)
	}
	return cfg
}

// startWorker starts a process that runs tasks, after d.
func (s *Sim) startWorker(d time.Duration) {
	s.after(d, nil, func() {
		if s.work.closing {
			return
		}
		p := s.newProcess(roleWorker, "worker")
		k, err := kernel.New(p.store, s.kernelConfig(p))
		if err != nil {
			s.fail("SIM", "worker: %v", err)
			return
		}
		p.kernel = k
		for _, kind := range kinds {
			k.Handle(kind, s.work.handler(p))
		}
		serveSagas(k)
		for _, serve := range s.work.serves {
			serve(p, k)
		}
		p.main(func(ctx context.Context) { s.worker(ctx, p) })
	})
}

// worker is the main function of a worker process. It ends by SIGTERM.
func (s *Sim) worker(ctx context.Context, p *process) {
	for _, c := range s.work.clients {
		if c.homeless() {
			c.in = p
			s.start(p, func() { c.live(ctx, p) })
		}
	}
	err := p.kernel.Run(ctx)
	p.returned = true
	if s.tracing {
		s.tracef(p, "Run returned: %v", err)
	}
	if ctx.Err() == nil {
		s.fail("I11", "Run of %s returned without having been asked to: %v", p.name, err)
		return
	}
	if err != nil && !errors.Is(err, kernel.ErrStuck) && !errors.Is(err, kernel.ErrInDoubt) {
		s.fail("I11", "Run of %s returned %v", p.name, err)
	}
	p.kernel.Close()
	if !s.healing {
		s.sleep(1) // an outcome that an outage kept waiting is given up by Close
	}
	if left := len(p.coros) - 1; err == nil && left > 0 {
		s.fail("I30", "%s has %d coroutines left after Run and Close", p.name, left)
	}
	self := cmp.Or(p.told, p.worker) // a Join that was given up long ago may have come to be just now
	if held := s.shadow.heldBy(self); s.healing && p.drainAt > s.healedAt && len(held) > 0 {
		s.fail("I11", "%s was drained without faults and still holds %d tasks, %s %v among them", p.name, len(held), held[0].spec.Kind, held[0].id)
	}
	if m := s.shadow.workers[self]; s.healing && p.drainAt > s.healedAt && m != nil && !m.dead {
		s.fail("I11", "%s was drained without faults and has not left the fleet", p.name)
	}
	if took := s.now - p.drainAt; s.healing && p.drainAt > s.healedAt && took > s.plan.shutdown+s.plan.deadAfter+10*time.Second {
		s.fail("I11", "%s took %v to drain; its shutdown timeout is %v", p.name, took, s.plan.shutdown)
	}
}

// exited lets go of what a process held that ended by itself, and starts its successor.
func (s *Sim) exited(p *process) {
	_ = p.handle.Close() // a process that ends closes what it has open
	p.vanish()
	if p.role == roleWorker && !s.work.closing {
		s.startWorker(time.Duration(s.chance.Int64N(int64(s.plan.deadAfter))))
	}
}
