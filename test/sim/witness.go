package sim

import (
	"context"
	"errors"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

// witness sits right above the memory store. It sees each call when it is applied, with arguments and result, also one that is
// applied long after its caller gave up, and tells the shadow.
type witness struct {
	store.Store
	p *process
}

var (
	_ store.Store  = (*witness)(nil)
	_ store.Stager = (*witness)(nil)
)

// sender is what the kernel calls. It copies what a network would have copied: a request that is applied late must say what it
// said when it was sent.
type sender struct {
	store.Store
	p *process
}

// sentKey is the place in a call's context where it says as the how manieth of its process it was sent.
type sentKey struct{}

func wrap(w store.Store, p *process) store.Store {
	return sender{p: p, Store: storetest.Wrap(w, func(ctx context.Context, op string, do func() error) error {
		if op == "Watch" || op == "Close" {
			return do()
		}
		return p.call(ctx, op, do)
	})}
}

func (s sender) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if req.Claim != nil {
		claim := *req.Claim
		req.Claim = &claim
		s.p.claims(claim.Repeat)
	}
	return s.Store.Complete(ctx, req)
}

func (s sender) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	if req.Claim != nil {
		claim := *req.Claim
		req.Claim = &claim
		s.p.claims(claim.Repeat)
	}
	return s.Store.Submit(ctx, req)
}

func (s sender) Join(ctx context.Context, req store.JoinRequest) error {
	err := s.Store.Join(ctx, req)
	if err == nil {
		s.p.told = req.ID
	}
	return err
}

func (s sender) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	s.p.claims(req.Repeat)
	return s.Store.Claim(ctx, req)
}

func (s sender) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	s.p.sent++
	return s.Store.Save(context.WithValue(ctx, sentKey{}, s.p.sent), req)
}

func (s sender) Stage(ctx context.Context, c store.Completion) error {
	stager, ok := s.Store.(store.Stager)
	if !ok {
		return errors.New("the store offers no Stage")
	}
	return stager.Stage(ctx, c)
}

// apply is the context of a call that has reached the store: whether its caller still waits is nothing to it.
func apply(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func (w *witness) shadow() *shadow { return w.p.sim.shadow }

func (w *witness) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	res, err := w.Store.Submit(apply(ctx), req)
	if err == nil {
		w.shadow().submitted(w.p, req, res)
	}
	w.done("Submit", err)
	return res, err
}

func (w *witness) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	res, err := w.Store.Claim(apply(ctx), req)
	if err == nil {
		w.shadow().claimed(w.p, req, res.Tasks)
	}
	w.done("Claim", err)
	return res, err
}

func (w *witness) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	res, err := w.Store.Complete(apply(ctx), req)
	if err == nil {
		for i, it := range req.Items {
			w.shadow().completed(w.p, it, res.Items[i])
		}
		if req.Claim != nil && res.ClaimErr == nil {
			w.shadow().claimed(w.p, *req.Claim, res.Claim.Tasks)
		}
	}
	w.done("Complete", err)
	return res, err
}

func (w *witness) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	asked, err := w.Store.Save(apply(ctx), req)
	sent, _ := ctx.Value(sentKey{}).(int)
	w.shadow().saved(sent, req, err)
	w.done("Save", err)
	return asked, err
}

func (w *witness) Stage(ctx context.Context, c store.Completion) error {
	stager, ok := w.Store.(store.Stager)
	if !ok {
		return errors.New("the store offers no Stage")
	}
	err := stager.Stage(apply(ctx), c)
	w.shadow().staged(w.p, c, err)
	w.done("Stage", err)
	return err
}

func (w *witness) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	entries, err := w.Store.Load(apply(ctx), id, names...)
	if err == nil {
		w.shadow().loaded(id, names, entries)
	}
	return entries, err
}

func (w *witness) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	state, err := w.Store.Cancel(apply(ctx), id, reason)
	w.done("Cancel", err)
	return state, err
}

func (w *witness) Retry(ctx context.Context, id store.ID) error {
	w.p.sim.scan("before Retry")
	err := w.Store.Retry(apply(ctx), id)
	if err == nil {
		w.shadow().again(id)
	}
	w.done("Retry", err)
	return err
}

func (w *witness) Free(ctx context.Context, id store.ID) error {
	err := w.Store.Free(apply(ctx), id)
	if err == nil {
		t := w.shadow().task(id)
		t.crashes, t.crashRun, t.kills, t.pardons = 0, 0, 0, 0
	}
	w.done("Free", err)
	return err
}

func (w *witness) Delete(ctx context.Context, id store.ID) error {
	err := w.Store.Delete(apply(ctx), id)
	if err == nil {
		w.shadow().task(id).deleted = true
	}
	w.done("Delete", err)
	return err
}

func (w *witness) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	res, err := w.Store.Promote(apply(ctx), limit)
	if err == nil && res.Due+res.Freed+res.Expired+res.Aborted+res.Marked > 0 {
		w.done("Promote", err)
	}
	return res, err
}

func (w *witness) Prune(ctx context.Context, limit int) (int, error) {
	w.p.sim.scan("before Prune")
	n, err := w.Store.Prune(apply(ctx), limit)
	if n > 0 {
		w.p.sim.scan("Prune")
	}
	return n, err
}

func (w *witness) Join(ctx context.Context, req store.JoinRequest) error {
	if w.p.dead {
		return store.ErrClosed // evidence is of a process that lives
	}
	err := w.Store.Join(apply(ctx), req)
	if err == nil {
		w.shadow().joined(w.p, req)
	}
	w.done("Join", err)
	return err
}

func (w *witness) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	if w.p.dead {
		return store.BeatResult{}, store.ErrClosed
	}
	res, err := w.Store.Beat(apply(ctx), req)
	w.shadow().beaten(w.p, req, err)
	return res, err
}

func (w *witness) Leave(ctx context.Context, worker string) (bool, error) {
	more, err := w.Store.Leave(apply(ctx), worker)
	if err == nil {
		w.shadow().left(w.p, worker, more)
	}
	w.done("Leave", err)
	return more, err
}

func (w *witness) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	res, err := w.Store.Recover(apply(ctx), req)
	if err == nil && len(res.Dead)+len(res.Tasks) > 0 {
		w.shadow().recovered(w.p, res)
		w.done("Recover", err)
	}
	return res, err
}

func (w *witness) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	g, err := w.Store.Seal(apply(ctx), id)
	w.done("Seal", err)
	return g, err
}

func (w *witness) Release(ctx context.Context, id store.ID) (store.Group, error) {
	g, err := w.Store.Release(apply(ctx), id)
	w.done("Release", err)
	return g, err
}

func (w *witness) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	g, err := w.Store.Abort(apply(ctx), id, reason)
	w.done("Abort", err)
	return g, err
}

func (w *witness) Send(ctx context.Context, m store.Message) error {
	err := w.Store.Send(apply(ctx), m)
	if err == nil {
		w.shadow().sent(m)
	}
	w.done("Send", err)
	return err
}

func (w *witness) Messages(ctx context.Context, id store.ID) ([]store.Message, error) {
	list, err := w.Store.Messages(apply(ctx), id)
	if err == nil {
		w.shadow().inbox(id, list)
	}
	return list, err
}

func (w *witness) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	before, err := w.Store.PutLimit(apply(ctx), l)
	if err == nil {
		w.shadow().limited(l)
	}
	w.done("PutLimit", err)
	return before, err
}

func (w *witness) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	res, err := w.Store.Tick(apply(ctx), req)
	if err == nil {
		w.shadow().ticked(req, res)
	}
	w.done("Tick", err)
	return res, err
}

// done is called after each applied call that may have changed something.
func (w *witness) done(op string, err error) {
	s := w.p.sim
	s.noteText(op)
	if s.tracing {
		s.tracef(w.p, "%s applied: %v", op, err)
	}
	s.maybeScan(op)
}

// Watch delivers notices late, twice or not at all, and ends with ctx.
func (w *witness) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	s, p := w.p.sim, w.p
	deliver := func(n store.Notice) {
		if p.dead || ctx.Err() != nil || p.cutUntil > s.now || s.awayUntil > s.now || !s.healing && s.chance.Float64() < s.plan.notice.lost {
			return
		}
		times := 1
		if s.chance.Float64() < s.plan.notice.twice {
			times = 2
		}
		for range times {
			s.after(s.delay()*time.Duration(1+s.chance.IntN(20)), p, func() {
				if ctx.Err() == nil {
					fn(n)
				}
			})
		}
	}
	stop := p.handle.OnNotice(worker, queues, deliver)
	defer stop()
	for ctx.Err() == nil {
		co := s.begin()
		c := watch(ctx, co)
		s.suspend(co)
		c.unwatch(co)
	}
	return ctx.Err()
}
