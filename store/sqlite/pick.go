package sqlite

import (
	"math"

	"github.com/outlast-go/outlast/store"
)

// picker takes tasks for one claim.
type picker struct {
	s      *step
	req    *store.ClaimRequest
	res    *store.ClaimResult
	taken  []*task
	rounds []*round // one for each queue
	ends   int      // members of aborted groups and corrupt records it may still end
	more   bool     // it stopped for another reason than that nothing is left
}

// queue takes up to n tasks of a queue, lane by lane in turn.
func (p *picker) queue(q store.QueueSlots, n int) {
	turn := store.ParseTurn(q.Cursor)
	r := p.s.round(q.Queue, p.req.Kinds, turn, max(few, n+1))
	p.rounds = append(p.rounds, r)
	for n > 0 {
		p.s.wants = n + 1 // and who leads the lane after it
		at := p.best(r)
		if at < 0 {
			return
		}
		l := r.lanes[at]
		share := turn.Share(l.name, p.s.weight(l))
		taken := p.turn(l, min(n, share))
		if taken > 0 {
			turn = store.TurnOf(l.name, share, taken, n)
			p.res.Cursors[q.Queue] = turn.String()
			r.taken(at)
		}
		if n -= taken; p.ends <= 0 {
			p.more = true
			return
		}
	}
	p.more = p.more || p.s.anyOpen(r)
}

// suspects takes suspects alone. A Solo one comes without company, and only to a worker that holds nothing.
func (p *picker) suspects() {
	free := p.s.holds(p.req.Worker) == 0 && !p.req.Company
	n := p.req.Suspects
	for _, q := range p.req.Queues {
		for _, l := range p.s.suspectLanes(q.Queue, p.req.Kinds) {
			for n > 0 && p.open(l) {
				t := p.s.headOf(l)
				if t == nil || t.Solo && (!free || len(p.taken) > 0) {
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

// open reports whether a claim may take from a lane now.
func (p *picker) open(l *lane) bool {
	if l.ready <= 0 {
		return false
	}
	p.s.fresh(l)
	return p.s.err == nil && p.s.blocked(l) == ""
}

func (p *picker) take(t *task) {
	p.s.claimOne(t, p.req)
	p.taken = append(p.taken, t)
}

// best returns the place of the lane whose turn it is: of the highest rank the first in turn; -1 if there is none. It looks no further than
// it must: a lane that is aged, or as urgent as any of the queue, is in its turn whatever comes after it. Only if there is none such are
// all of them ranked.
func (p *picker) best(r *round) int {
	found, passed := -1, false
	for i := r.at; !r.whole; i++ {
		if i == len(r.lanes) {
			if r.more(len(r.lanes)); r.whole {
				break
			}
		}
		l := r.lanes[i]
		if !p.waits(l) || !p.open(l) {
			continue
		}
		switch {
		case l.priority >= r.top && found >= 0:
			return found
		case l.priority >= r.top || p.aged(l) && !passed:
			return i
		case p.aged(l) && found < 0:
			found = i // in its turn, unless what is as urgent as any is shut: then one that was passed over may rank higher
		default:
			passed = true
		}
	}
	return p.bestOfAll(r)
}

// bestOfAll is best where all lanes are known.
func (p *picker) bestOfAll(r *round) int {
	found, top := -1, math.MaxInt
	for below := math.MaxInt; found < 0; below = top {
		if top = p.level(r, below); top == math.MinInt {
			return -1
		}
		found = r.first(func(l *lane) bool { return p.waits(l) && l.priority == top && p.open(l) })
	}
	return r.first(func(l *lane) bool { return l == r.lanes[found] || p.waits(l) && p.aged(l) && p.open(l) })
}

// level is the highest priority below another that a lane has; the least number if there is none.
func (p *picker) level(r *round, below int) int {
	top := math.MinInt
	for _, l := range r.lanes {
		if p.waits(l) && l.priority < below {
			top = max(top, l.priority)
		}
	}
	return top
}

// waits reports whether a lane has tasks that are no suspects.
func (p *picker) waits(l *lane) bool {
	p.s.fresh(l)
	return l.ready > 0 && !l.suspect
}

// aged reports whether the head of a lane has waited so long that it ranks with the highest, whatever its priority.
func (p *picker) aged(l *lane) bool { return p.s.now.Sub(l.since) >= p.s.s.cfg.Timing.Aged }

// turn takes up to n tasks of a lane.
func (p *picker) turn(l *lane, n int) int {
	taken := 0
	for taken < n && p.ends > 0 && p.open(l) {
		t := p.s.headOf(l)
		if t == nil {
			break
		}
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
		p.s.endCorrupt(t)
		return false
	}
	if g := p.s.group(t.Group); g != nil && g.Aborting != "" && t.Asked == "" {
		p.ends--
		p.s.ask(t, g.Aborting)
		return false
	}
	if !t.StartByAt.IsZero() && !t.StartByAt.After(p.s.now) {
		p.ends--
		p.s.expire(t)
		return false
	}
	if t.Asked == "" && p.s.broken(t) {
		p.ends--
		p.s.failOrdered(t)
		return false
	}
	return true
}
