package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// settlement is an outcome on its way to the store.
type settlement struct {
	run        *Run
	completion store.Completion
	result     []byte  // as the handler returned it
	ending     *ending // that is remembered if it is written; may be nil
}

func (s *settlement) queue() string { return s.run.task.Queue }

// settle sees an outcome through: it returns when the outcome is durable, or refused, or the process ends. It is detached from
// every context but the kernel's own: the work is done, and must not be lost because somebody stopped waiting.
func (k *Kernel) settle(r *Run, out Outcome) store.Completed {
	result := out.Result
	out, err := k.check(r, out)
	if err != nil {
		out = r.refused(err)
	}
	answer, sent := k.complete(r, out, result)
	if sent && errors.Is(answer.Err, store.ErrInvalid) {
		// The store refuses what the handler wants to be written: no repeat can mend that.
		answer, _ = k.write(r, r.refused(answer.Err), nil)
	}
	if !sent {
		return store.Completed{State: store.Ready, Err: ErrDraining}
	}
	event := Event{
		Kind: TaskSettled, Task: r.task.ID, Name: r.task.Kind, Queue: r.task.Queue, Worker: r.worker.id,
		Attempt: r.Attempt(), Epoch: r.fence.Epoch, State: answer.State, Took: k.env.Now().Sub(r.started), Err: answer.Err,
	}
	switch {
	case errors.Is(answer.Err, store.ErrFenced):
		event.Kind = TaskFenced
		k.log.Warn("fence lost; the outcome was refused", "task", r.task.ID.String(), "kind", r.task.Kind, "worker", r.worker.id)
	case errors.Is(answer.Err, ErrClosed):
		// It may come by the thousand when a stop has no time left. Who goes on with the task is for others to say.
		k.log.Info("outcome not written before the end", "task", r.task.ID.String(), "kind", r.task.Kind)
	case answer.Err != nil:
		k.log.Error("outcome not written", "task", r.task.ID.String(), "kind", r.task.Kind, "err", answer.Err)
	case out.Error != nil:
		k.log.Warn("attempt failed", "task", r.task.ID.String(), "kind", r.task.Kind, "queue", r.task.Queue,
			"attempt", r.Attempt(), "state", string(answer.State), "err", out.Error.Message)
	}
	k.observe(event)
	return answer
}

// Completion prepares the outcome of this run for a transaction of the user's on the store: staged there, it counts once the
// transaction is committed, together with the user's own writes, and not at all if it is rolled back. ErrFenced from the
// staging says that the task belongs to another by now: roll back. After the commit the handler returns; whatever it returns
// then, the staged outcome is the one that counts. The zero Outcome is done.
func (r *Run) Completion(out Outcome) (Completion, error) {
	if out.Kind == "" {
		out.Kind = store.OutcomeDone
	}
	r.staged.Store(true)
	out, err := r.k.check(r, out)
	return Completion{Fence: r.fence, Outcome: out}, err
}

// check refuses what can never be stored, and seals the rest.
func (k *Kernel) check(r *Run, out Outcome) (Outcome, error) {
	if err := k.fits("result", r.task.Kind, out.Result); err != nil {
		return out, err
	}
	for name, value := range out.Entries {
		if err := k.fits("entry "+name, r.task.Kind, value); err != nil {
			return out, err
		}
	}
	if n := len(out.Follow); n > store.FollowLimit {
		return out, fmt.Errorf("%w: the outcome has %d follow-ups; at most %d are allowed: submit more through a group", store.ErrInvalid, n, store.FollowLimit)
	}
	out, err := k.spillResult(r, out)
	if err != nil {
		return out, err
	}
	return k.sealOutcome(r, out)
}

// complete writes the outcome of a run unless somebody else does already: a drain gives back what the handler has not finished. result is as the
// handler returned it. Its slot is free at once, unless more outcomes wait than the next call takes: a store that is slower than the handlers must not have what it is
// given pile up here.
func (k *Kernel) complete(r *Run, out Outcome, result []byte) (store.Completed, bool) {
	crowded := k.completions.crowded()
	k.mu.Lock()
	if r.settling {
		k.mu.Unlock()
		return store.Completed{}, false
	}
	r.settling = true
	if !crowded {
		r.vacate()
	}
	progress := r.progress
	k.mu.Unlock()
	out.Progress = k.sealNote(&r.task, progress)
	return k.write(r, out, result)
}

func (k *Kernel) write(r *Run, out Outcome, result []byte) (store.Completed, bool) {
	answer, err := k.completions.do(k.life, &settlement{run: r, completion: store.Completion{Fence: r.fence, Outcome: out}, result: result})
	if err != nil {
		answer.Err = err
	}
	return answer, true
}

// flushCompletions writes outcomes that came together, and claims for the slots that they free in the same call.
func (k *Kernel) flushCompletions(items []*settlement) []store.Completed {
	req := store.CompleteRequest{Items: make([]store.Completion, len(items))}
	for i, it := range items {
		req.Items[i] = it.completion
	}
	k.mu.Lock()
	for _, it := range items {
		it.run.vacate()
	}
	if slices.ContainsFunc(items, (*settlement).stirs) {
		k.appetite.wake() // what becomes ready by this call can be claimed by it
	}
	k.mu.Unlock()
	p := k.plan(2)
	if p != nil {
		req.Claim = &p.req
	}
	k.expect(items)
	var res store.CompleteResult
	err := k.persist(k.life, -1, func(ctx context.Context, repeat bool) (err error) {
		p.repeated(repeat)
		res, err = k.store.Complete(ctx, req)
		return err
	})
	k.remember(items, res.Items)
	if p != nil {
		k.claimed(p, res.Claim, errors.Join(err, res.ClaimErr))
	}
	if slices.ContainsFunc(items, func(s *settlement) bool { return len(s.completion.Outcome.Groups) > 0 }) {
		k.sweep.Notify() // the members of a group that is sealed by now wait to be let go
	}
	if err == nil {
		return res.Items
	}
	answers := make([]store.Completed, len(items))
	for i := range answers {
		answers[i].Err = err
	}
	return answers
}

// expect and remember keep the tasks that end well for those that follow them, which a call beside this one may bring before it is answered.
func (k *Kernel) expect(items []*settlement) {
	for _, it := range items {
		if !it.run.staged.Load() && it.completion.Outcome.Kind == store.OutcomeDone {
			it.ending = k.endings.expect(it.run, it.result)
		}
	}
}

// remember is told what the store has answered; nothing, if it has not.
func (k *Kernel) remember(items []*settlement, answers []store.Completed) {
	for i, it := range items {
		if it.ending != nil {
			k.endings.answered(it.ending, len(answers) > 0 && answers[i].Err == nil && answers[i].State == store.Done)
		}
	}
}

// stirs reports whether the outcome makes another task ready, as far as can be told: what it submits, or the parent it wakes.
func (s *settlement) stirs() bool {
	switch out := &s.completion.Outcome; out.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel:
		return len(out.Follow) > 0 || !s.run.task.Parent.IsZero() || !s.run.task.Group.IsZero()
	default:
		return len(out.Follow) > 0
	}
}

// repeated marks the claim of a call that is made again.
func (p *plan) repeated(repeat bool) {
	if p != nil {
		p.req.Repeat = repeat
	}
}
