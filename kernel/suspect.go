package kernel

import "time"

// suspects is this worker's turn at tasks that may kill it. While a turn lasts it takes nothing else, so that a death can be
// blamed on what was tried and on nothing beside it. A worker may take a turn when it has joined, when it has nothing to do, and
// when the store says that it is its turn though it has. A turn is one round of suspects; then other work goes before for as long as
// the turn took, if there is any, and the next turn follows, until one finds none: however many suspects there are, and however short the
// lives of workers, half of all time is for the innocent. k.mu guards it.
type suspects struct {
	turn    bool
	since   time.Time // when the turn begins or began: while other work goes before, it lies in the future
	rest    time.Time // other work goes before until then
	allow   int       // how many are tried at once: 1, and twice as many after each round that it outlived
	running int
	asked   time.Time // when a turn last found none
}

const (
	mostSuspects = 16
	idleTurn     = time.Second // between turns of a worker that has nothing else to do
)

// whenIdle begins a turn of a worker that has nothing to do, and so nothing to lose.
func (s *suspects) whenIdle(now time.Time) {
	if now.Sub(s.asked) >= idleTurn {
		s.rest = now
		s.begin(now)
	}
}

// begin begins a turn as soon as other work no longer goes before.
func (s *suspects) begin(now time.Time) {
	at := now
	if s.rest.After(at) {
		at = s.rest
	}
	if !s.turn || s.since.After(at) {
		s.turn, s.since = true, at
	}
}

// on reports whether it is this worker's turn now.
func (s *suspects) on(now time.Time) bool { return s.turn && !s.since.After(now) }

// want returns how many suspects to ask for now. Others that still run delay a turn by patience at most; then one suspect
// is tried in their company.
// A run that has lost its task is company that the store does not know of: nothing is tried beside it.
func (s *suspects) want(now time.Time, patience time.Duration, runs, over int) int {
	switch {
	case s.running > 0 || over > 0:
		return 0
	case runs == 0:
		return s.allow
	case now.Sub(s.since) >= patience:
		return 1
	}
	return 0
}

// overdue returns how long a turn still waits, for its beginning or for others to end; 0: it does not wait.
func (s *suspects) overdue(now time.Time, patience time.Duration, runs int) time.Duration {
	switch {
	case !s.turn || s.running > 0:
		return 0
	case s.since.After(now):
		return s.since.Sub(now)
	case runs == 0:
		return 0
	}
	return max(patience-now.Sub(s.since), 0)
}

// took notes how many a claim brought; none ends the turn.
func (s *suspects) took(n int, now time.Time) {
	s.running = n
	if n == 0 {
		s.turn, s.asked = false, now
	}
}

// outlived notes that a suspect's run ended and the process lives. The last one ends the turn; there may be more for the next.
func (s *suspects) outlived(now time.Time) {
	s.running--
	if s.running == 0 {
		s.allow = min(2*s.allow, mostSuspects)
		s.turn, s.rest = false, now.Add(now.Sub(s.since))
		s.begin(now)
	}
}
