package sqlite

import (
	"math"

	"github.com/outlast-go/outlast/store"
)

// picker takes tasks for one claim.
type picker struct {
	s    *step
	req  *store.ClaimRequest
	res  *store.ClaimResult
	ends int  // members of aborted groups and corrupt records it may still end
	more bool // it stopped for another reason than that nothing is left
}

// queue takes up to n tasks of a queue, lane by lane in turn.
func (p *picker) queue(q store.QueueSlots, n int) {
	lanes := p.s.lanesOf(q.Queue, p.req.Kinds)
	cursor := q.Cursor
	for n > 0 {
		l := p.best(lanes, cursor)
		if l == nil {
			return
		}
		taken := p.turn(l, min(n, p.s.weight(l)))
		if taken > 0 {
			cursor = l.name
			p.res.Cursors[q.Queue] = cursor
		}
		if n -= taken; p.ends <= 0 {
			p.more = true
			return
		}
	}
	p.more = p.more || p.best(lanes, cursor) != nil
}

// suspects takes suspects alone. A Solo one comes without company, and only to a worker that holds nothing.
func (p *picker) suspects() {
	free := p.s.holds(p.req.Worker) == 0
	n := p.req.Suspects
	for _, q := range p.req.Queues {
		for _, l := range p.s.lanesOf(q.Queue, p.req.Kinds) {
			if !l.suspect {
				continue
			}
			for n > 0 && p.open(l) {
				t := p.s.headOf(l)
				if t == nil || t.Solo && (!free || len(p.res.Tasks) > 0) {
					break // its turn comes when nothing else is held
				}
				if !p.fit(t) {
					continue
				}
				p.res.Tasks = append(p.res.Tasks, p.s.claimOne(t, p.req))
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

// best returns the lane whose turn it is: of the highest rank the first after the cursor.
func (p *picker) best(lanes []*lane, cursor string) *lane {
	var best *lane
	top := math.MinInt
	for _, l := range lanes {
		if l.suspect || l.ready <= 0 {
			continue
		}
		p.s.fresh(l)
		r := p.rank(l)
		leads := best == nil || r > top || r == top && best.name <= cursor && l.name > cursor
		if leads && p.open(l) {
			best, top = l, r
		}
	}
	return best
}

// rank is the priority of a lane's head; one that has waited long goes before all.
func (p *picker) rank(l *lane) int {
	if p.s.now.Sub(l.since) >= p.s.s.cfg.Timing.Aged {
		return math.MaxInt
	}
	return l.priority
}

// turn takes up to n tasks of a lane.
func (p *picker) turn(l *lane, n int) int {
	taken := 0
	for taken < n && p.ends > 0 && p.open(l) {
		t := p.s.headOf(l)
		if t == nil {
			break
		}
		if p.fit(t) {
			p.res.Tasks = append(p.res.Tasks, p.s.claimOne(t, p.req))
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
