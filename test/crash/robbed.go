package crash

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// How much starvation, in all, excuses a declaration, and how far back it counts.
const (
	goneWithin = 4 * time.Second
	goneLack   = 500 * time.Millisecond
)

// robbed counts workers that were declared dead while their process ran, unstopped, and could reach the store. One that the machine did not
// let run is counted apart, if canaries prove it: those of the process itself, or ours beside it.
func (r *run) robbed(rep *Report) {
	owner := map[string]*process{}
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind == lineJoined {
				owner[l.worker] = p
			}
		}
	}
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind != lineDead {
				continue
			}
			rep.Deaths.add(store.Death(l.text))
			v := owner[l.worker]
			if v == nil || !v.wasWell(l.worker, l.at) {
				continue
			}
			if lack, starved := r.lack(v, l); starved {
				rep.Starved++
				rep.tell("worker %s (%s) was declared dead (%s) by %s; the machine had not let it run for %v", l.worker, v.name, l.text, p.name, lack)
				continue
			}
			rep.RobbedLive++
			rep.tell("worker %s (%s) was declared dead (%s) by %s while it ran, at %v", l.worker, v.name, l.text, p.name, l.at.Sub(r.begin))
		}
	}
}

func (d *Deaths) add(how store.Death) {
	switch how {
	case store.DeathProof:
		d.Proof++
	case store.DeathGone:
		d.Gone++
	case store.DeathSilence:
		d.Silence++
	}
}

// wasWell reports whether a process ran at a time, had not been stopped or kept from the store shortly before, and had not fenced itself.
func (p *process) wasWell(worker string, at time.Time) bool {
	const grace = 1500 * time.Millisecond
	if !p.diedAt.IsZero() && p.diedAt.Before(at) || p.asked {
		return false
	}
	for _, spans := range [][]span{p.stopped, p.away} {
		for _, s := range spans {
			if s.from.Before(at) && (s.to.IsZero() || at.Before(s.to.Add(grace))) {
				return false
			}
		}
	}
	for _, l := range p.lines {
		if l.kind == lineFenced && l.worker == worker && l.at.Before(at) {
			return false
		}
	}
	return true
}

// lack is how long a process was starved before it was declared dead, and whether that explains it.
func (r *run) lack(p *process, dead line) (lack time.Duration, enough bool) {
	within, least := goneWithin, goneLack
	if store.Death(dead.text) == store.DeathSilence {
		within, least = r.cfg.Dead, r.cfg.Dead/3
	}
	begin := dead.at.Add(-within)
	overlap := func(s span) time.Duration {
		from, to := s.from, s.to
		if from.Before(begin) {
			from = begin
		}
		if to.After(dead.at) {
			to = dead.at
		}
		return max(to.Sub(from), 0)
	}
	for _, l := range p.lines {
		if l.kind == linePaused {
			lack += overlap(span{from: l.at.Add(-time.Duration(l.epoch)), to: l.at})
		}
	}
	var ours time.Duration
	for _, s := range r.pauses {
		ours += overlap(s)
	}
	lack = max(lack, ours)
	return lack, lack >= least
}
