package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// chunk bounds what a step does besides what it was asked for.
const chunk = 100

// Claim takes ready tasks.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.ClaimResult{}, err
	}
	defer leave()
	return s.d.claim(req)
}

func (d *data) claim(req store.ClaimRequest) (store.ClaimResult, error) {
	w := d.alive(req.Worker)
	if w == nil {
		return store.ClaimResult{}, deadError(req.Worker)
	}
	if req.Repeat {
		return store.ClaimResult{Tasks: d.repeat(&req), Again: true}, nil
	}
	res := store.ClaimResult{Cursors: map[string]string{}}
	more := d.promoteDue(chunk) == chunk
	pick := picker{d: d, req: &req, res: &res, ends: chunk}
	switch {
	case req.Suspects > 0:
		pick.suspects()
	default:
		for _, q := range req.Queues {
			pick.queue(q, q.Slots)
		}
	}
	for _, t := range pick.taken {
		res.Tasks = append(res.Tasks, given(t)) // as the whole step leaves it: an end further on may have woken it
	}
	res.Again = pick.more || more
	res.Next = d.next(req)
	return res, nil
}

// repeat answers a claim whose answer was lost: what still runs under its nonce.
func (d *data) repeat(req *store.ClaimRequest) []store.Task {
	var tasks []store.Task
	for _, t := range d.holds(req.Worker) {
		if t.Nonce == req.Nonce {
			tasks = append(tasks, given(t))
		}
	}
	return tasks
}

// next tells when it is worth to claim again.
func (d *data) next(req store.ClaimRequest) time.Duration {
	at := never
	if t := d.due.head(); t != nil {
		at = t.DueAt
	}
	for _, q := range req.Queues {
		for _, l := range d.lanes(q.Queue, req.Kinds) {
			if opens := d.opens(l.ready.head()); !opens.IsZero() && opens.Before(at) {
				at = opens
			}
		}
	}
	for _, p := range d.pauses {
		if p.Until.After(d.now) && p.Until.Before(at) {
			at = p.Until
		}
	}
	if at.Equal(never) {
		return 0
	}
	return max(at.Sub(d.now), 1)
}

// lanes lists the lanes of a queue and some kinds, by name.
func (d *data) lanes(name string, kinds []string) []*lane {
	q := d.queues[name]
	if q == nil {
		return nil
	}
	var list []*lane
	for _, kind := range kinds {
		for _, l := range q.kinds[kind] {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *lane) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(list)
}

// picker takes tasks for one claim.
type picker struct {
	d     *data
	req   *store.ClaimRequest
	res   *store.ClaimResult
	taken []*task
	ends  int  // members of aborted groups and corrupt records it may still end
	more  bool // it stopped for another reason than that nothing is left
}

// queue takes up to n tasks of a queue, lane by lane in turn.
func (p *picker) queue(q store.QueueSlots, n int) {
	lanes := p.d.lanes(q.Queue, p.req.Kinds)
	turn := store.ParseTurn(q.Cursor)
	for n > 0 {
		l := p.best(lanes, turn)
		if l == nil {
			return
		}
		share := turn.Share(l.name, p.d.weight(l))
		taken := p.turn(l, min(n, share))
		if taken > 0 {
			turn = store.TurnOf(l.name, share, taken, n)
			p.res.Cursors[q.Queue] = turn.String()
		}
		if n -= taken; p.ends <= 0 {
			p.more = true
			return
		}
	}
	p.more = p.more || p.best(lanes, turn) != nil
}

// suspects takes suspects alone. A Solo one comes without company, and only to a worker that holds nothing.
func (p *picker) suspects() {
	free := p.d.held[p.req.Worker] == nil && !p.req.Company
	n := p.req.Suspects
	for _, q := range p.req.Queues {
		for _, l := range p.d.lanes(q.Queue, p.req.Kinds) {
			if !l.suspect {
				continue
			}
			for n > 0 && l.ready.len() > 0 && p.d.blocked(l) == "" {
				t := l.ready.head()
				if t.Solo && (!free || len(p.taken) > 0) {
					break // its turn comes when nothing else is held
				}
				if !p.fit(t) {
					continue
				}
				p.take(t)
				if n--; t.Solo {
					return
				}
			}
		}
	}
}

func (p *picker) take(t *task) {
	p.d.claimOne(t, p.req)
	p.taken = append(p.taken, t)
}

// company takes it back that a task was claimed alone: another has come with it.
func (d *data) company(worker string) {
	h := d.held[worker]
	if h == nil || h.len() != 1 {
		return
	}
	h.head().Alone = false
}

// best returns the lane whose turn it is: of the highest rank the one whose turn goes on, or the first after it.
func (p *picker) best(lanes []*lane, turn store.Turn) *lane {
	var open []*lane
	top := math.MinInt
	for _, l := range lanes {
		if !l.suspect && l.ready.len() > 0 && p.d.blocked(l) == "" {
			open = append(open, l)
			top = max(top, l.ready.head().Priority)
		}
	}
	var first *lane
	for _, l := range open {
		switch {
		case l.ready.head().Priority < top && !p.aged(l):
			continue
		case l.name > turn.Lane || l.name == turn.Lane && turn.Left > 0:
			return l
		case first == nil:
			first = l
		}
	}
	return first
}

// aged reports whether the head of a lane has waited so long that it ranks with the highest, whatever its priority.
func (p *picker) aged(l *lane) bool {
	return p.d.now.Sub(l.ready.head().ReadyAt) >= p.d.cfg.Timing.Aged
}

// turn takes up to n tasks of a lane.
func (p *picker) turn(l *lane, n int) int {
	taken := 0
	for taken < n && l.ready.len() > 0 && p.d.blocked(l) == "" && p.ends > 0 {
		t := l.ready.head()
		if p.fit(t) {
			p.take(t)
			taken++
		}
	}
	return taken
}

// fit ends what must not run: an unreadable record, a member of an aborted group, a task that was not started in time.
func (p *picker) fit(t *task) bool {
	if t.corrupt {
		p.ends--
		p.d.endCorrupt(t)
		return false
	}
	if g := p.d.groups[t.Group]; g != nil && g.Aborting != "" && t.Asked == "" {
		p.ends--
		p.d.ask(t, g.Aborting)
		return false
	}
	if !t.StartByAt.IsZero() && !t.StartByAt.After(p.d.now) {
		p.ends--
		p.d.expire(t)
		return false
	}
	if t.Asked == "" && p.d.broken(t) {
		p.ends--
		p.d.failOrdered(t)
		return false
	}
	return true
}

// failOrdered ends a task because one before it in its line failed. An Owned one is asked to end itself.
func (d *data) failOrdered(t *task) {
	if t.Owned {
		d.ask(t, store.ReasonOrder)
		return
	}
	d.end(t, ending{state: store.Failed, reason: store.ReasonOrder, err: &store.Error{Message: "a task before it in its lane failed", Type: store.ReasonOrder}})
}

func (d *data) endCorrupt(t *task) {
	t.corrupt = false
	d.end(t, ending{state: store.Failed, reason: store.ReasonCorrupt, err: &store.Error{Message: "the record cannot be read", Type: store.ReasonCorrupt}})
}

// claimOne makes a task run under a new fence.
func (d *data) claimOne(t *task, req *store.ClaimRequest) {
	d.count(t, func(m *store.Minute) {
		m.Claimed++
		m.Waited += max(d.now.Sub(t.ReadyAt), 0) // the clock may have been stepped back
	})
	d.exit(t)
	d.company(req.Worker)
	d.startBy.remove(t)
	t.StartByAt = time.Time{}
	t.Epoch++
	t.Nonce, t.Worker, t.StartedAt, t.Told = req.Nonce, req.Worker, d.now, t.Asked != ""
	t.Alone, t.Saves = d.held[req.Worker] == nil && !req.Company, 0
	if t.Timeout > 0 {
		t.DeadlineAt = d.now.Add(t.Timeout)
	}
	t.State = "" // it is nowhere now
	d.move(t, store.Running)
	d.event(t, store.EventClaimed, "")
}

// given is a task as a claimer gets it.
func given(t *task) store.Task {
	c := t.Clone()
	c.History = nil
	return c
}

func deadError(worker string) error { return fmt.Errorf("worker %s: %w", worker, store.ErrDead) }
