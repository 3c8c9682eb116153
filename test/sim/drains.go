package sim

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// drains are those scenarios in which a worker with runs under way is asked to stop.
var drains = []scenario{
	{"drain", drainIs(200*ms, (*process).drain)},
	{"drain, given back", drainIs(500*ms, (*process).drain)},
	{"drain, halted", drainIs(500*ms, func(p *process) {
		p.drain()
		p.sim.after(100*ms, p, p.kernel.Halt)
	})},
	{"drain, killed", drainIs(500*ms, func(p *process) {
		p.drain()
		p.sim.after(200*ms, p, func() { p.kill("SIGKILL within the grace") })
	})},
	{"quiet", drainIs(300*ms, (*process).silence)},
}

// drainIs lets three tasks run for a while, does something to a worker that runs some of them, and lets two more come.
func drainIs(run time.Duration, do func(p *process)) func(w *workload) {
	return func(w *workload) {
		var ids []store.ID
		for i := range 5 {
			if i == 3 {
				w.then(150*ms, func(context.Context, *kernel.Kernel) error { return nil })
			}
			ids = append(ids, w.want(func(t *store.Spec, sc *script) { sc.run, t.Retry.Max = run, 1 }))
		}
		done := 0
		w.whenBusy(func(p *process) {
			done++
			do(p)
		})
		w.judge(func() {
			if w.faults() == 0 && done != 1 {
				w.s.fail("D1", "%d workers were asked to stop, want 1", done)
			}
			for _, id := range ids {
				if t := w.s.eye.look(id); t.State != store.Done && !struck(&t) || t.Attempts != 0 {
					w.s.fail("D1", "task %v is %s after %d failed attempts: stopping a worker costs none", id, t.State, t.Attempts)
				}
			}
		})
	}
}

// silence lets a worker claim no more.
func (p *process) silence() {
	p.quiet = true
	p.kernel.Quiet()
	if p.sim.tracing {
		p.sim.tracef(p, "asked to be quiet")
	}
}

// claims is told of each claim that is sent.
func (p *process) claims(repeat bool) {
	if p.quiet && !repeat {
		p.sim.fail("D2", "%s claims, and was asked to be quiet", p.name)
	}
}
