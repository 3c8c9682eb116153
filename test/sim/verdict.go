package sim

import (
	"context"
	"errors"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// run is the shadow of one call of a handler.
type run struct {
	ctx      context.Context //nolint:containedctx // the run's own, to be asked whether it has ended
	proc     *process
	active   bool
	out      kernel.Outcome
	err      error
	panicked bool
	cause    error // of ctx, when the handler returned
}

// around watches over each run of a handler.
func (s *Sim) around(p *process) func(kernel.Handler) kernel.Handler {
	return func(next kernel.Handler) kernel.Handler {
		return func(ctx context.Context, r *kernel.Run) (out kernel.Outcome, err error) {
			f := r.Fence()
			if before := s.shadow.runs[f]; before != nil {
				s.fail("K4", "task %v is run a second time under epoch %d in %s", f.ID, f.Epoch, p.name)
			}
			seen := &run{ctx: ctx, proc: p, active: true, panicked: true}
			s.shadow.runs[f] = seen
			s.stats.Runs++
			defer func() {
				seen.active, seen.out, seen.err, seen.cause = false, out, err, context.Cause(ctx)
			}()
			out, err = next(ctx, r)
			seen.panicked = false
			return out, err
		}
	}
}

// checkVerdict compares an outcome that was applied with what the handler said.
func (sh *shadow) checkVerdict(p *process, t *task, f store.Fence, out store.Outcome) {
	s, r := sh.s, sh.runs[f]
	failed := out.Kind == store.OutcomeRetry || out.Kind == store.OutcomeFail
	switch {
	case out.Kind == store.OutcomeRelease:
	case r == nil && failed && out.Error != nil && out.Error.Type == "blob": // its payload could not be read: the handler is not called
	case r == nil:
		s.fail("K1", "outcome %s of %v was written by %s, and its handler never ran", out.Kind, t.id, p.name)
	case r.active:
		s.fail("K1", "outcome %s of %v was written while its handler runs", out.Kind, t.id)
	case r.panicked:
		if !failed && !errors.Is(r.cause, kernel.ErrAsked) {
			s.fail("K1", "the handler of %v panicked, and its outcome is %s", t.id, out.Kind)
		}
	case r.err == nil:
		want := r.out.Kind
		if want == "" {
			want = store.OutcomeDone
		}
		if out.Kind != want {
			s.fail("K1", "the handler of %v said %s, and its outcome is %s", t.id, want, out.Kind)
		}
	case errors.Is(r.cause, kernel.ErrFenced) || errors.Is(r.cause, kernel.ErrDraining):
		s.fail("K1", "the run of %v was cut short (%v), and its outcome is %s", t.id, r.cause, out.Kind)
	case errors.Is(r.cause, kernel.ErrAsked):
		if failed {
			s.fail("K1", "the run of %v was asked to end, and its outcome is %s", t.id, out.Kind)
		}
	case !failed:
		s.fail("K1", "the handler of %v failed (%v), and its outcome is %s", t.id, r.err, out.Kind)
	case (out.Kind == store.OutcomeFail) != (errors.Is(r.err, errPermanent) || t.spec.Retry.Spent(t.attempts+1)):
		s.fail("K1", "attempt %d of %v failed (%v), and its outcome is %s", t.attempts+1, t.id, r.err, out.Kind)
	}
}

// checkFencedBefore is called when a task is about to be given anew: the run of its last owner must know by now.
func (sh *shadow) checkFencedBefore(t *task) {
	s := sh.s
	if t.last == nil {
		return
	}
	r, p := sh.runs[t.last.fence], t.last.proc
	if r == nil || !r.active || p.dead || p.paused || p.stepped || r.ctx.Err() != nil {
		return
	}
	if m := sh.workers[t.last.worker]; m != nil && m.death == store.DeathGone {
		return
	}
	// What a process that went on only now would have done, it had no time to do.
	if s.now-p.woken < 100*time.Millisecond {
		return
	}
	s.fail("I32", "task %v is given to another while its run in %s goes on, unaware", t.id, p.name)
}
