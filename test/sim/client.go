package sim

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// client is somebody outside who wants things done. What it has yet to do outlives its process, as in a file of its own.
type client struct {
	w     *workload
	works bool     // its process runs tasks as well
	in    *process // that one, while it lives
	steps []step
	at    int
	tried time.Duration // when the present step was first tried; -1: not yet
}

// step is one thing that a client does. It is repeated until the store has answered it, so it must bear repeating.
type step struct {
	pause time.Duration
	do    func(ctx context.Context, k *kernel.Kernel) error
}

func (w *workload) start() {
	for _, c := range w.clients {
		c.tried = -1
		switch {
		case c.works: // a worker takes it in
		case w.s.exact != nil:
			w.launch(c, 0)
		default:
			w.launch(c, w.some(time.Second))
		}
	}
}

// homeless reports whether its process is to run tasks as well, and it has none.
func (c *client) homeless() bool { return c.works && (c.in == nil || c.in.dead) }

// launch starts a process for a client after d.
func (w *workload) launch(c *client, d time.Duration) {
	s := w.s
	s.after(d, nil, func() {
		p := s.newProcess(roleClient, "client")
		p.client = c
		k, err := kernel.New(p.store, s.kernelConfig(p))
		if err != nil {
			s.fail("SIM", "client: %v", err)
			return
		}
		p.kernel = k
		p.main(func(ctx context.Context) { c.live(ctx, p) })
	})
}

// restart gives a killed client another process.
func (w *workload) restart(p *process, d time.Duration) { w.launch(p.client, d) }

// live does the steps that are left.
func (c *client) live(ctx context.Context, p *process) {
	s := c.w.s
	for ; c.at < len(c.steps) && ctx.Err() == nil; c.at++ {
		st := c.steps[c.at]
		if !s.healing {
			s.travel(ctx, st.pause)
		}
		if c.persist(ctx, p, st); ctx.Err() != nil {
			break // it is asked to stop: another process goes on with this step
		}
		c.tried = -1
	}
	if c.in = nil; p.role == roleClient {
		p.kernel.Close()
	}
}

// persist tries a step until it is answered. A step that is in doubt for too long is given up: its repeat might come after
// the store has forgotten that it was done.
func (c *client) persist(ctx context.Context, p *process, st step) {
	s := c.w.s
	if c.tried < 0 {
		c.tried = s.now
	}
	for ctx.Err() == nil && s.now-c.tried < s.plan.timing.Horizon/3 {
		limit := time.Duration(between(p.chance, 0.1, 3) * float64(s.plan.deadAfter))
		step, cancel := env{p}.WithTimeout(ctx, limit, errTerminated)
		err := st.do(step, p.kernel)
		cancel()
		if err == nil || store.Answered(err) {
			return
		}
		s.travel(ctx, s.delay())
	}
}

// acked records that a client was told that its task is stored.
func (s *Sim) acked(spec store.Spec) {
	t := s.shadow.tasks[spec.ID]
	if t == nil {
		s.fail("I1", "the submit of %v was answered OK and never applied", spec.ID)
		return
	}
	t.acked = true
}
