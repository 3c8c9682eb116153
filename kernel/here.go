package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// Here is what became of a task that RunHere stored.
type Here struct {
	Submitted
	Ran     bool      // it was run here; otherwise it waits for a worker, or another task stands
	Settled TaskState // where it stood after the run
}

// here is one call of RunHere on its way to the store.
type here struct {
	spec    Spec
	handler Handler

	// Guarded by k.mu.
	run    *Run // what the store has given for it
	gone   bool // its caller has stopped waiting: nobody will run it here
	answer Submitted
	err    error
}

// RunHere stores a task and runs it in the goroutine of the caller, by h, whether this process handles the kind or not. The task
// belongs to this process from its first moment on: if the process dies, a worker that handles the kind goes on with it. A
// kernel that is not run joins the fleet for as long as such runs last. The run's context ends also with ctx, cause ErrCaller;
// the task then goes back to ready, unless the handler finishes all the same. Where the store does not give the task (a limit, a
// pause, an order, a process that drains, a key that is held), it is not run here: see Here.Ran. ErrFenced says that it was run,
// and that its outcome was refused: it belongs to another.
func (k *Kernel) RunHere(ctx context.Context, spec Spec, h Handler) (Here, error) {
	if err := k.open(); err != nil {
		return Here{}, err
	}
	spec, err := k.prepare(spec)
	if err != nil {
		return Here{Submitted: Submitted{ID: spec.ID}}, err
	}
	ok, err := k.admit(ctx)
	if err != nil {
		return Here{Submitted: Submitted{ID: spec.ID}}, err
	}
	if !ok {
		_, all, err := k.submit(ctx, nil, []Spec{spec})
		return Here{Submitted: all[0]}, errors.Join(err, all[0].Err)
	}
	defer k.dismiss()
	for i := len(k.cfg.Around) - 1; i >= 0; i-- {
		h = k.cfg.Around[i](h)
	}
	item := &here{spec: spec, handler: h}
	if _, err := k.heres.do(ctx, item); err != nil {
		k.abandon(item)
		return Here{Submitted: Submitted{ID: spec.ID}}, fmt.Errorf("submit: %w", err)
	}
	if err := errors.Join(item.err, item.answer.Err); err != nil {
		item.answer.ID = spec.ID
		return Here{Submitted: item.answer}, fmt.Errorf("submit: %w", err)
	}
	k.observeSubmits([]Spec{spec}, []Submitted{item.answer})
	if item.run == nil {
		return Here{Submitted: item.answer}, nil
	}
	stop := context.AfterFunc(ctx, func() { item.run.cancel(ErrCaller) })
	defer stop()
	settled := k.execute(item.run)
	return Here{Submitted: item.answer, Ran: true, Settled: settled.State}, wrap("run here", settled.Err)
}

// abandon gives back what the store gives to a caller that has stopped waiting for it.
func (k *Kernel) abandon(item *here) {
	k.mu.Lock()
	item.gone = true
	r := item.run
	k.mu.Unlock()
	if r != nil {
		k.decline(r)
	}
}

// flushHere submits what was gathered, and claims it in the same step.
func (k *Kernel) flushHere(items []*here) []struct{} {
	k.mu.Lock()
	p := &plan{worker: k.worker, at: k.env.Now(), here: true}
	k.appetite.here++ // what this call brings is known to nobody yet
	k.appetite.turn++
	k.mu.Unlock()
	var res store.SubmitResult
	var err error
	if p.worker == nil {
		err = ErrClosed // it has left since the caller was let in
	} else {
		res, err = k.submitHere(items, p)
	}
	if errors.Is(res.ClaimErr, store.ErrDead) {
		k.lose(p.worker)
		k.beatNow.Notify()
	}
	k.mu.Lock()
	k.appetite.here--
	k.appetite.turn++
	for i, it := range items {
		if it.err = err; err == nil {
			it.answer = res.Specs[i]
		}
	}
	var late []*Run
	for i := range res.Claimed {
		t := &res.Claimed[i]
		for _, it := range items {
			if it.spec.ID != t.ID {
				continue
			}
			it.run = k.newRun(t, p)
			it.run.handler = it.handler
			if it.gone {
				late = append(late, it.run)
			}
			break
		}
	}
	k.mu.Unlock()
	for _, r := range late {
		k.crew.Go(func() { k.decline(r) })
	}
	return make([]struct{}, len(items))
}

func (k *Kernel) submitHere(items []*here, p *plan) (store.SubmitResult, error) {
	req := store.SubmitRequest{Claim: &store.ClaimRequest{Worker: p.worker.id, Nonce: k.NewID()}}
	for _, it := range items {
		req.Specs = append(req.Specs, it.spec)
	}
	var res store.SubmitResult
	err := k.persist(k.life, k.store.Info().Timing.Horizon/2, func(ctx context.Context, repeat bool) (err error) {
		req.Claim.Repeat = repeat
		res, err = k.store.Submit(ctx, req)
		return err
	})
	return res, err
}
