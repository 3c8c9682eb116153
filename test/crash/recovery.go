package crash

import (
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// before is how close before a death something must be to have a part in how it was found: about two beats.
const before = 2 * time.Second

// waits are how long the tasks of the dead lay still, by what there was to tell of the death.
type waits struct{ proven, silent, outage []time.Duration }

// slow is one task of a dead worker whose death left evidence.
type slow struct {
	of    *process
	epoch int64 // of the claim that died
	taken time.Duration
}

// recoveries measures how long the tasks of the dead lay still.
func (r *run) recoveries(rep *Report, h *history, info store.Info) {
	var w waits
	var all []slow
	for _, p := range r.fleet.all() {
		for _, s := range p.stopped {
			for task, epoch := range p.underWay(s.from) {
				if next, ok := h.next(task, epoch, s.from); ok {
					r.stillOf(&w, s, next, info)
				}
			}
		}
		if p.asked && !p.termed || len(p.stopped) > 0 {
			continue
		}
		for task, epoch := range p.inFlight {
			next, ok := h.next(task, epoch, p.diedAt)
			if !ok {
				continue
			}
			back, was := r.downBetween(p.diedAt, next)
			switch {
			case was:
				w.outage = append(w.outage, max(next.Sub(back), 0))
			case info.Evidence == store.EvidenceNone || p.unseen(info) || r.blindAt(p.diedAt):
				w.silent = append(w.silent, next.Sub(p.diedAt))
			default:
				w.proven = append(w.proven, next.Sub(p.diedAt))
				all = append(all, slow{p, epoch, next.Sub(p.diedAt)})
			}
		}
	}
	rep.Recovery, rep.RecoverySilent, rep.RecoveryOutage = recoveryTimes(w.proven), recoveryTimes(w.silent), recoveryTimes(w.outage)
	if r.cfg.Seconds > 0 { // a demo has enough to show
		r.showSlowest(all)
	}
}

// showSlowest tells of the recoveries with evidence that took longest: what of each was the finding of the death, and what came after.
func (r *run) showSlowest(all []slow) {
	declared := map[string]line{}
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind == lineDead {
				declared[l.worker] = l
			}
		}
	}
	slices.SortFunc(all, func(a, b slow) int { return int(b.taken - a.taken) })
	for _, s := range all[:min(slowest, len(all))] {
		found := "nobody who lives says how it was found"
		for _, l := range s.of.lines {
			if dead, ok := declared[l.worker]; ok && l.kind == lineJoined {
				found = fmt.Sprintf("declared dead (%s) after %v", dead.text, dead.at.Sub(s.of.diedAt).Round(time.Millisecond))
			}
		}
		r.show(fmt.Sprintf("a task that %s held under epoch %d when it died, at %.1fs, went on after %v; %s",
			s.of.name, s.epoch, s.of.diedAt.Sub(r.begin).Seconds(), s.taken.Round(time.Millisecond), found), true)
	}
}

// slowest is of how many recoveries it is told.
const slowest = 12

// next is when a task was begun again after its run under an epoch. One whose outcome had been written just before has no later start; one
// whose next worker died as well before it could begin was recovered twice, and how long each took is not known; one that had been taken
// before, from a worker that could not reach the store, was no longer the dead's.
func (h *history) next(task string, epoch int64, died time.Time) (time.Time, bool) {
	for _, l := range h.starts[task] {
		if l.epoch == epoch+1 {
			return l.at, l.at.After(died)
		}
	}
	return time.Time{}, false
}

// stillOf notes how long a task of a process that was stopped lay still. On SQLite a writer that was stopped in the middle of a commit holds up
// everybody until it goes on: then that is when it begins to count.
func (r *run) stillOf(w *waits, s span, next time.Time, info store.Info) {
	if info.Evidence == store.EvidenceProof {
		if !s.to.IsZero() && next.After(s.to) {
			s.from = s.to
		}
		w.silent = append(w.silent, next.Sub(s.from))
		return
	}
	if back, was := r.downBetween(s.from, next); was {
		w.outage = append(w.outage, max(next.Sub(back), 0))
		return
	}
	w.silent = append(w.silent, next.Sub(s.from))
}

// underWay lists what a process had begun and not settled at a time, with the epochs.
func (p *process) underWay(at time.Time) map[string]int64 {
	all := map[string]int64{}
	for _, l := range p.lines {
		if l.at.After(at) {
			break
		}
		switch l.kind {
		case lineStart:
			all[l.task] = l.epoch
		case lineAccepted, lineRefused:
			delete(all, l.task)
		}
	}
	return all
}

// unseen reports whether a process died without a witness: its session had been cut or held up shortly before, or everybody died with it.
func (p *process) unseen(info store.Info) bool {
	if info.Evidence == store.EvidenceProof {
		return false
	}
	for _, at := range p.cut {
		if d := p.diedAt.Sub(at); d >= 0 && d < before {
			return true
		}
	}
	for _, s := range p.away {
		if s.from.Before(p.diedAt) && s.to.Add(before).After(p.diedAt) {
			return true
		}
	}
	return false
}

// blindAt reports whether everybody's session was ended about a time: before a death could be seen, or told.
func (r *run) blindAt(died time.Time) bool {
	return slices.ContainsFunc(r.blinded, func(at time.Time) bool { return died.Sub(at).Abs() < before })
}

// downBetween reports whether the store was out of reach shortly before a death or until its tasks went on, and when it was back for good.
func (r *run) downBetween(died, next time.Time) (back time.Time, was bool) {
	back = died
	for _, d := range r.downs {
		if d.from.Before(next) && d.to.After(died.Add(-before)) {
			was = true
			if d.to.After(back) {
				back = d.to
			}
		}
	}
	return back, was
}

func recoveryTimes(waits []time.Duration) Recovery {
	if len(waits) == 0 {
		return Recovery{}
	}
	slices.Sort(waits)
	at := func(q float64) float64 {
		return float64(waits[min(int(q*float64(len(waits))), len(waits)-1)].Microseconds()) / 1000
	}
	return Recovery{P50: at(0.5), P99: at(0.99), Max: at(1), Count: len(waits)}
}
