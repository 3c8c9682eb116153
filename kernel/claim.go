package kernel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// appetite is what the kernel knows of work that waits for it. k.mu guards it.
type appetite struct {
	hungry   bool            // there may be something to claim
	full     map[string]bool // queues that had no slot left when there may have been more in them
	news     int             // grows with each hint, so that one that comes during a claim is not lost
	claiming int             // claims under way: two at most, one if it is of suspects
	alone    bool            // the one under way is of suspects: no other beside it
	planned  map[string]int  // slots that they may fill, by queue
	turn     int             // grows with each claim
	here     int             // submits under way that claim what they store
	nextAt   time.Time
	yield    time.Duration // how long it last gave way to others, in a row
	cursors  map[string]string
}

// Claims that find what others are about to take come again soon, but not at once: the others must commit first. The longer it lasts, the
// later.
const (
	yieldFirst = 2 * time.Millisecond
	yieldMost  = 32 * time.Millisecond
)

func (a *appetite) wake() { a.hungry, a.news = true, a.news+1 }

// content reports whether nothing more is known to wait, in any queue.
func (a *appetite) content() bool {
	for _, full := range a.full {
		if full {
			return false
		}
	}
	return !a.hungry
}

// wants reports whether a claim of these queues may find something.
func (a *appetite) wants(free []store.QueueSlots) bool {
	return a.hungry || slices.ContainsFunc(free, func(q store.QueueSlots) bool { return a.full[q.Queue] })
}

// setAside notes the queues that a claim leaves out, as they have no slot free: once they have, they are looked at, hint or not.
func (a *appetite) setAside(slots map[string]int, free []store.QueueSlots) {
	for queue := range slots {
		if !slices.ContainsFunc(free, func(q store.QueueSlots) bool { return q.Queue == queue }) {
			a.full[queue] = true
		}
	}
}

// fill notes which queues gave a claim as much as there were slots for: more may wait there. A claim beside another takes nothing back of
// what that has found.
func (a *appetite) fill(asked []store.QueueSlots, got []Task, beside bool) {
	taken := map[string]int{}
	for i := range got {
		taken[got[i].Queue]++
	}
	for _, q := range asked {
		a.full[q.Queue] = taken[q.Queue] >= q.Slots || beside && a.full[q.Queue]
	}
}

// plan is a claim that is about to be made.
type plan struct {
	worker  *worker
	at      time.Time // when it was made: before the store's clock of the claim
	req     store.ClaimRequest
	news    int
	turn    int
	beside  bool // another was under way when it was made
	suspect bool
	here    bool // by RunHere
}

// claimLoop takes work when there may be some and a slot is free. It sleeps only when one of both is missing.
func (k *Kernel) claimLoop(ctx context.Context) {
	for ctx.Err() == nil {
		// Outcomes that wait to be written claim for the slots that they free, in the same call.
		if !k.completions.waits() {
			if p := k.plan(1); p != nil {
				k.claim(ctx, p)
				continue
			}
		}
		k.kick.Wait(ctx, k.untilDue())
	}
}

// untilDue returns how long there is nothing to claim as far as is known; negative: until a hint comes.
func (k *Kernel) untilDue() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.env.Now()
	wait := k.suspects.overdue(now, k.cfg.DeadAfter, len(k.runs))
	if wait > 0 && k.suspects.on(now) {
		return wait // for others to end; nothing else is claimed meanwhile
	}
	if k.appetite.nextAt.IsZero() {
		return cmp.Or(wait, -1)
	}
	if next := k.appetite.nextAt.Sub(now); next > 0 {
		if wait > 0 {
			next = min(next, wait)
		}
		return next
	}
	k.appetite.nextAt = time.Time{}
	k.appetite.wake()
	if k.worker.fenced || k.quiet || k.state != Running {
		return -1
	}
	return 0
}

// plan makes a claim of the free slots, or nil if none is to be made now, also because so many are under way.
func (k *Kernel) plan(most int) *plan {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, a := k.worker, &k.appetite
	if k.state != Running || k.quiet || w == nil || w.fenced || a.claiming >= most || len(k.served) == 0 {
		return nil
	}
	p := &plan{worker: w, at: k.env.Now(), news: a.news, beside: a.claiming > 0}
	if p.beside && (a.alone || k.suspects.on(p.at)) {
		return nil
	}
	if k.suspects.on(p.at) {
		n := k.suspects.want(p.at, k.cfg.DeadAfter, len(k.runs), k.over())
		if n == 0 {
			return nil
		}
		p.suspect, p.req.Suspects, p.req.Company = true, n, len(k.runs) > 0
	} else if a.content() {
		return nil
	}
	p.req.Queues = k.freeSlots()
	if len(p.req.Queues) == 0 || !p.suspect && !a.wants(p.req.Queues) {
		return nil
	}
	if a.hungry && !p.suspect {
		a.setAside(k.cfg.Slots, p.req.Queues)
	}
	p.req.Worker, p.req.Kinds, p.req.Nonce = w.id, k.served, k.NewID()
	a.claiming++
	a.alone = p.suspect
	a.turn++
	p.turn = a.turn
	for _, q := range p.req.Queues {
		a.planned[q.Queue] += q.Slots
	}
	return p
}

// claimLimit is how many tasks of a queue one claim takes at most; the next follows at once. A claim for all slots of a process that has
// ten thousand would keep others from the store for as long, and where it took longer than a call may, nothing would ever be claimed.
const claimLimit = 500

// freeSlots lists the queues that have some, by name, with as many as one claim may take. k.mu is held.
func (k *Kernel) freeSlots() []store.QueueSlots {
	var free []store.QueueSlots
	for _, queue := range k.queues {
		if n := k.cfg.Slots[queue] - k.used[queue] - k.appetite.planned[queue]; n > 0 {
			free = append(free, store.QueueSlots{Queue: queue, Slots: min(n, claimLimit), Cursor: k.appetite.cursors[queue]})
		}
	}
	return free
}

// claim makes a planned claim, repeats it under its nonce until it is answered, and starts what it brought.
func (k *Kernel) claim(ctx context.Context, p *plan) {
	var res store.ClaimResult
	err := k.persist(ctx, -1, func(ctx context.Context, repeat bool) (err error) {
		p.req.Repeat = repeat
		res, err = k.store.Claim(ctx, p.req)
		return err
	})
	k.claimed(p, res, err)
}

// claimed takes in the answer of a claim and starts what it brought.
func (k *Kernel) claimed(p *plan, res store.ClaimResult, err error) {
	if errors.Is(err, store.ErrDead) {
		k.lose(p.worker)
		k.beatNow.Notify() // the beat will be told too, and joins anew
	} else if err != nil {
		k.away(err)
	}
	k.mu.Lock()
	a := &k.appetite
	a.claiming--
	for _, q := range p.req.Queues {
		a.planned[q.Queue] -= q.Slots
	}
	if p.suspect {
		k.suspects.took(len(res.Tasks), k.env.Now())
	} else {
		// After a refusal only a hint, of a beat at the latest, lets it claim again: it would be refused in a tight loop.
		vain := res.Again && len(res.Tasks) == 0 && !p.req.Repeat
		beside := p.beside || a.turn != p.turn
		a.hungry = err == nil && (p.req.Repeat || res.Again && !vain || a.news != p.news || beside && a.hungry)
		a.fill(p.req.Queues, res.Tasks, beside)
		if !beside {
			a.nextAt = time.Time{}
		}
		if vain {
			a.yield = min(max(2*a.yield, yieldFirst), yieldMost)
			if wait := k.jitter(a.yield); res.Next <= 0 || wait < res.Next {
				res.Next = wait
			}
		} else {
			a.yield = 0
		}
		if next := k.env.Now().Add(res.Next); res.Next > 0 && (a.nextAt.IsZero() || next.Before(a.nextAt)) {
			a.nextAt = next
		}
		if err == nil && len(res.Tasks) == 0 && len(k.runs) == 0 {
			k.suspects.whenIdle(k.env.Now())
		}
	}
	maps.Copy(a.cursors, res.Cursors)
	runs := k.newRuns(res.Tasks, p)
	k.mu.Unlock()
	k.start(runs)
	k.kick.Notify()
}

// newRuns registers what a claim has brought. k.mu is held.
func (k *Kernel) newRuns(tasks []Task, p *plan) []*Run {
	runs := make([]*Run, len(tasks))
	for i := range tasks {
		runs[i] = k.newRun(&tasks[i], p)
		// A drain or a fence of our own may have come while the claim was under way; and under an id that was used before may be something else.
		runs[i].late = k.state != Running || k.quiet || p.worker.fenced || !k.serves(tasks[i].Queue, tasks[i].Kind)
	}
	return runs
}

// start lets runs go, or gives back those that came too late.
func (k *Kernel) start(runs []*Run) {
	for _, r := range runs {
		k.team.Go(func() {
			if r.late {
				k.decline(r)
			} else {
				k.execute(r)
			}
		})
	}
}

// decline gives back what a claim has brought too late.
func (k *Kernel) decline(r *Run) {
	defer k.forget(r)
	k.mu.Lock()
	r.returned = true
	k.mu.Unlock()
	k.release(r)
}
