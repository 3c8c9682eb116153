package crash

import (
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// How close something must be to a death to have a part in how it was found.
const (
	before = 2 * time.Second // about two beats
	after  = 3 * time.Second
)

// waits are how long the tasks of the dead lay still, by what there was to tell of the death.
type waits struct{ proven, silent, outage []time.Duration }

// recoveries measures how long the tasks of the dead lay still.
func (r *run) recoveries(rep *Report, h *history, info store.Info) {
	var w waits
	for _, p := range r.fleet.all() {
		for _, s := range p.stopped {
			for task, epoch := range p.underWay(s.from) {
				if d, ok := h.still(task, epoch, s.from, s.to, info); ok {
					w.silent = append(w.silent, d)
				}
			}
		}
		if p.asked && !p.termed || len(p.stopped) > 0 {
			continue
		}
		for task, epoch := range p.inFlight {
			next, ok := h.next(task, epoch)
			if !ok {
				continue
			}
			down, was := r.downAbout(p.diedAt)
			switch {
			case was:
				w.outage = append(w.outage, max(next.Sub(down), 0))
			case info.Evidence == store.EvidenceNone || p.unseen(info):
				w.silent = append(w.silent, next.Sub(p.diedAt))
			default:
				w.proven = append(w.proven, next.Sub(p.diedAt))
			}
		}
	}
	rep.Recovery, rep.RecoverySilent, rep.RecoveryOutage = recoveryTimes(w.proven), recoveryTimes(w.silent), recoveryTimes(w.outage)
}

// next is when a task was begun again after its run under an epoch. One whose outcome had been written just before has no later start; one
// whose next worker died as well before it could begin was recovered twice, and how long each took is not known.
func (h *history) next(task string, epoch int64) (time.Time, bool) {
	for _, l := range h.starts[task] {
		if l.epoch == epoch+1 {
			return l.at, true
		}
	}
	return time.Time{}, false
}

// still is how long a task of a stopped process lay still. On SQLite a writer that was stopped in the middle of a commit holds up
// everybody until it goes on: then that is when it begins to count.
func (h *history) still(task string, epoch int64, from, to time.Time, info store.Info) (time.Duration, bool) {
	next, ok := h.next(task, epoch)
	if !ok {
		return 0, false
	}
	if info.Evidence == store.EvidenceProof && !to.IsZero() && next.After(to) {
		from = to
	}
	return next.Sub(from), true
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

// downAbout reports whether the store was out of reach about a time, and until when.
func (r *run) downAbout(at time.Time) (until time.Time, was bool) {
	until = at
	for _, d := range r.downs {
		if d.from.Before(at.Add(after)) && d.to.After(at.Add(-before)) {
			was = true
			if d.to.After(until) {
				until = d.to
			}
		}
	}
	return until, was
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
