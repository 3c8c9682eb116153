package kernel

import "time"

// suspects is this worker's turn at tasks that may kill it. While a turn lasts it takes nothing else, so that a death can be
// blamed on what was tried and on nothing beside it. A worker takes a turn when it has joined, when it has nothing to do, and
// when the store says that it is its turn though it has. k.mu guards it.
type suspects struct {
	turn    bool
	since   time.Time
	allow   int // how many are tried at once: 1, and twice as many after each round that it outlived
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
		s.begin(now)
	}
}

func (s *suspects) begin(now time.Time) {
	if !s.turn {
		s.turn, s.since = true, now
	}
}

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

// overdue returns how long a turn still waits for others to end; 0: it does not wait.
func (s *suspects) overdue(now time.Time, patience time.Duration, runs int) time.Duration {
	if !s.turn || s.running > 0 || runs == 0 {
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

// outlived notes that a suspect's run ended and the process lives.
func (s *suspects) outlived(now time.Time) {
	s.running--
	if s.running == 0 {
		s.allow = min(2*s.allow, mostSuspects)
		s.since = now
	}
}
