package saga

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// drive runs a saga as far as it goes now: to its end, or to where it must wait.
func (e *engine) drive(ctx context.Context) (kernel.Outcome, error) {
	e.heed()
	if e.life.Phase != mended && (e.waiting() || len(e.life.Stuck) > 0) {
		if err := e.readInbox(ctx); err != nil {
			return kernel.Outcome{}, err
		}
	}
	if e.run.Fence().Epoch > 1 {
		if err := e.gather(ctx); err != nil {
			return kernel.Outcome{}, err
		}
	}
	if out, err := e.enter(ctx); err != nil || out != nil {
		return deref(out), err
	}
	for {
		var out *kernel.Outcome
		var err error
		switch e.life.Phase {
		case forward:
			out, err = e.forward(ctx)
		case settling:
			out, err = e.settle(ctx)
		case unwinding:
			out, err = e.unwind(ctx)
		case mended:
			out, err = e.end(ctx)
		}
		if err != nil || out != nil {
			return deref(out), err
		}
		if e.interrupted(ctx) {
			if !e.here {
				// The next run is told with its claim, and has a context that ends only when the task is lost.
				e.life.Clean = e.run.Fence().Epoch
				e.dirty[lifeEntry] = true
				return e.with(kernel.Outcome{Kind: "release"}), nil
			}
			ctx = context.WithoutCancel(ctx)
			e.asked(e.run.Asked())
		}
	}
}

func deref(out *kernel.Outcome) kernel.Outcome {
	if out == nil {
		return kernel.Outcome{}
	}
	return *out
}

// interrupted reports whether the saga was asked to end since this run began.
func (e *engine) interrupted(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), kernel.ErrAsked) && e.life.Phase == forward && !e.pivoted()
}

// waiting reports whether there may be something in the inbox that this run should know.
func (e *engine) waiting() bool { return e.run.Fence().Epoch > 1 && e.run.Task().Wakes > 0 }

// view is what could be done now.
type view struct {
	ready    []inst // steps of this run
	remote   []inst // steps and maps for tasks of their own
	waits    []inst
	pending  bool // something is waited for
	backoff  bool // a step of this run waits for its next attempt
	next     time.Time
	complete bool
	broken   *inst // a node whose items cannot be had
	err      error
}

func (v *view) until(at time.Time) {
	if !at.IsZero() && (v.next.IsZero() || at.Before(v.next)) {
		v.next = at
	}
}

func (e *engine) look() *view {
	v := &view{complete: true}
	e.walk(e.root, v)
	if v.backoff && e.limit() == 1 {
		v.ready = nil // one at a time, and that one waits
	}
	return v
}

func (e *engine) limit() int { return max(e.g.parallel, 1) }

func (e *engine) walk(s *scope, v *view) {
	now := e.run.Now()
	for _, n := range s.g.nodes {
		in := inst{s, n}
		if e.over(in) {
			continue
		}
		v.complete = false
		if !e.depsOver(in) {
			continue
		}
		if n.nested() {
			e.walkInside(in, v)
			continue
		}
		r := e.rec[in.path()]
		switch {
		case r != nil && r.State == sent:
			v.pending = true
		case n.kind == waitNode || n.kind == sleepNode:
			v.waits = append(v.waits, in)
		case r != nil && r.NextAt.After(now):
			v.pending, v.backoff = true, v.backoff || n.queue == ""
			v.until(r.NextAt)
		case n.queue != "":
			v.remote = append(v.remote, in)
		default:
			v.ready = append(v.ready, in)
		}
	}
}

// walkInside goes on inside a call, or the first element of a map that is not complete.
func (e *engine) walkInside(in inst, v *view) {
	list, err := in.s.items(in.n)
	if err != nil {
		v.broken, v.err = &in, err
		return
	}
	for i := range list {
		sub := in.s.sub(in.n, i)
		if e.complete(sub) {
			continue
		}
		if err := sub.g.validate(list[i]); err != nil && !e.begunInside(sub) {
			v.broken, v.err = &in, kernel.Typed("invalid", err)
			return
		}
		e.walk(sub, v)
		return
	}
}

// begunInside reports whether something of a scope is on record.
func (e *engine) begunInside(s *scope) bool {
	for path := range e.rec {
		if strings.HasPrefix(path, s.prefix) {
			return true
		}
	}
	return false
}

// forward does what can be done, and then waits or ends.
func (e *engine) forward(ctx context.Context) (*kernel.Outcome, error) {
	if e.late() {
		e.fail("", OutcomeFailed, ErrDeadline, nil)
		return nil, nil
	}
	v := e.look()
	if v.broken != nil {
		if l := (*lacking)(nil); errors.As(v.err, &l) {
			return nil, l
		}
		e.fail(v.broken.path(), OutcomeFailed, v.err, fieldErrors(v.err))
		return nil, nil
	}
	if v.complete {
		return e.completed(ctx)
	}
	if len(v.ready) > 0 {
		return nil, e.runReady(ctx, v)
	}
	changed, err := e.await(ctx, v)
	if err != nil || changed {
		return nil, err
	}
	if len(v.remote) > 0 {
		return e.send(ctx, v)
	}
	if e.here && v.backoff && len(v.waits) == 0 && !e.sentAny() {
		return nil, e.pause(ctx, v.next)
	}
	out := e.park(e.untilNext(v.next))
	return &out, nil
}

// late reports whether the saga has missed its deadline.
func (e *engine) late() bool {
	return e.g.deadline > 0 && !e.pivoted() && e.run.Now().Sub(e.run.Task().CreatedAt) > e.g.deadline
}

// untilNext is how long to park at most: until something is due, or the saga is late; 0: until a wake.
func (e *engine) untilNext(at time.Time) time.Duration {
	if e.g.deadline > 0 && e.life.Phase == forward && !e.pivoted() {
		v := view{next: at}
		v.until(e.run.Task().CreatedAt.Add(e.g.deadline))
		at = v.next
	}
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(e.run.Now()), time.Millisecond)
}

// pause waits in the caller's process for the next attempt, after what is known was saved.
func (e *engine) pause(ctx context.Context, at time.Time) error {
	if err := e.save(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(at.Sub(e.run.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), kernel.ErrAsked) {
			return nil
		}
		return context.Cause(ctx)
	}
}

func (e *engine) sentAny() bool {
	for _, r := range e.rec {
		if r.State == sent {
			return true
		}
	}
	return false
}

// pivoted reports whether the saga is past its point of no return.
func (e *engine) pivoted() bool {
	for _, n := range e.g.nodes {
		if n.pivot && e.rec[n.name].over() {
			return true
		}
	}
	return false
}

// fail begins the rollback. The first failure is the one that counts.
func (e *engine) fail(step string, outcome Outcome, err error, fields []FieldError) {
	if e.life.Phase != forward {
		return
	}
	e.life.Phase = settling
	e.life.Failure = &failure{Step: step, Outcome: outcome, Fault: asFault(err), Fields: fields}
	e.result.err = err
	e.event("", EventUnwinding, 0, fmt.Sprint(err))
}

// asked begins the rollback of a saga that somebody wants to end.
func (e *engine) asked(reason string) {
	if e.life.Phase != forward || e.pivoted() {
		return
	}
	abandon, text := cancelMode(reason)
	if e.unclean && !abandon {
		e.suspectNext()
	}
	e.life.Phase = settling
	e.life.Failure = &failure{Cancel: text, Abandon: abandon}
	e.event("", EventUnwinding, 0, text)
}

// heed looks at what the claim has told.
func (e *engine) heed() {
	if reason := e.run.Task().Asked; reason != "" {
		e.asked(reason)
	}
}

// suspectNext marks the steps that a dead run may have begun: those that would be next.
func (e *engine) suspectNext() {
	v := e.look()
	for i, in := range v.ready {
		if i == e.limit() {
			return
		}
		if in.n.pure {
			continue
		}
		r := e.at(in.path())
		r.State, r.Outcome, r.Fault = failed, OutcomeUnknown, &fault{Message: "its process died while it may have been under way"}
		e.event(in.path(), EventUnknown, 0, "")
	}
}

// completed ends a saga whose steps are all over.
func (e *engine) completed(ctx context.Context) (*kernel.Outcome, error) {
	v, err := e.valueOf(e.root, e.g.out)
	if err != nil {
		return nil, err
	}
	data, _, err := encodeValue(v)
	if err != nil {
		return nil, err
	}
	if err := e.letGo(ctx); err != nil {
		return nil, err
	}
	e.event("", EventCompleted, 0, "")
	e.result = ending{state: Completed, value: v}
	out := e.wipe(e.with(kernel.Done(data)))
	return &out, nil
}
