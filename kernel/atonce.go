package kernel

import (
	"errors"

	"github.com/outlast-go/outlast/store"
)

// A worker that has nothing to do takes the task that its own process submits, in the call that stores it: it runs one round trip sooner. It
// takes a lone one alone, and only while it knows of nothing that waits: nothing is overtaken, and of many that come together each
// process of the fleet has its share.

// planAtOnce makes the claim of a submit, or nil if others may have its task as well.
func (k *Kernel) planAtOnce(req *store.SubmitRequest) *plan {
	if len(req.Groups) > 0 || len(req.Specs) != 1 {
		return nil
	}
	spec := &req.Specs[0]
	if spec.Delay > 0 || !spec.DueAt.IsZero() || !spec.Group.IsZero() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	w, a, now := k.worker, &k.appetite, k.env.Now()
	ready := k.state == Running && !k.quiet && !w.fenced && !k.suspects.on(now)
	idle := len(k.runs) == 0 && a.claiming == 0 && a.here == 0 && a.content()
	if !ready || !idle || !k.serves(spec.Queue, spec.Kind) {
		return nil
	}
	p := &plan{worker: w, at: now, req: store.ClaimRequest{
		Worker: w.id, Nonce: k.NewID(), Queues: []store.QueueSlots{{Queue: spec.Queue, Slots: 1}}, Kinds: k.served,
	}}
	a.here++ // what this call brings is known to nobody yet
	a.turn++
	a.planned[spec.Queue]++
	return p
}

// serves reports whether this process runs tasks of a kind in a queue. k.mu is held.
func (k *Kernel) serves(queue, kind string) bool {
	return k.handlers[kind] != nil && k.cfg.Slots[queue] > 0
}

// startAtOnce takes in the answer of a submit with a claim and starts what it brought. To the caller the task is as it would be without the claim.
func (k *Kernel) startAtOnce(p *plan, res store.SubmitResult, err error) {
	for i := range res.Specs {
		if s := &res.Specs[i]; s.State == store.Running && !s.Existed {
			s.State = store.Ready
		}
	}
	if errors.Is(res.ClaimErr, store.ErrDead) {
		k.lose(p.worker)
		k.beatNow.Notify() // the beat will be told too, and joins anew
	}
	k.mu.Lock()
	a := &k.appetite
	a.here--
	a.turn++
	a.planned[p.req.Queues[0].Queue]--
	if err != nil || res.ClaimErr != nil {
		a.wake() // it may be there, and nobody told of it
	}
	runs := k.newRuns(res.Claimed, p)
	k.mu.Unlock()
	k.start(runs)
	k.kick.Notify()
}
