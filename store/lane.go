package store

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit bounds the tasks of one limit key across the fleet.
type Limit struct {
	Key     string
	Running int    // at most so many at once; 0: no bound
	Rates   []Rate // all must be open; a start is charged to each
	// Declared says that a program set it as part of itself, and not somebody at run time. The store only keeps it.
	Declared bool
}

// Same reports whether two limits bound their keys in the same way.
func (l *Limit) Same(o Limit) bool { return l.Running == o.Running && slices.Equal(l.Rates, o.Rates) }

// Rate allows N starts per Per, with so many at once as Burst says (0: N). It is kept as a GCRA on the store's clock.
type Rate struct {
	N     int
	Per   time.Duration
	Burst int
}

// Pace returns the time between two starts, and the time that a full burst is worth. It is rounded up, so that no window ever has more
// than N starts and a burst.
func (r Rate) Pace() (step, burst time.Duration) {
	n := time.Duration(max(r.N, 1))
	step = r.Per / n
	if r.Per%n != 0 {
		step++
	}
	times := r.Burst
	if times <= 0 {
		times = r.N
	}
	const longest = 1<<63 - 1
	if times = max(times, 1); time.Duration(times) > longest/max(step, 1) {
		return step, longest
	}
	return step, step * time.Duration(times)
}

// LimitStatus is a limit and its use.
type LimitStatus struct {
	Limit
	InUse int           // slots taken
	Opens time.Duration // the rates are closed for so long; 0: open
}

// Scope names lanes: those whose queue, kind and lane key are as said, an empty field matching all. The zero Scope is
// everything.
type Scope struct {
	Queue string
	Kind  string
	Lane  string
}

// Matches reports whether a lane is in the scope.
func (s Scope) Matches(queue, kind, lane string) bool {
	return (s.Queue == "" || s.Queue == queue) && (s.Kind == "" || s.Kind == kind) && (s.Lane == "" || s.Lane == lane)
}

// Pause keeps claims away from a scope. What runs goes on.
type Pause struct {
	Scope  Scope
	Reason string
	At     time.Time
	Until  time.Time // zero: until Resume
}

// LaneStatus is a lane with ready tasks.
type LaneStatus struct {
	Queue, Kind, Lane, Limit string
	Ordered, Suspect         bool
	Ready                    int64
	Priority                 int
	OldestAt                 time.Time // when its head became ready
	Weight                   int
	Blocked                  string // why no claim takes from it: paused, limit, order; empty: one may
}

// Turn is where the turns of a queue stand: at a lane, of whose turn so many tasks are left because a claim was full before. Engines write
// it as their cursor, with the names they have for lanes.
type Turn struct {
	Lane string
	Left int
}

// turnMark stands before what is left: no name of a lane has it, as keys have no control characters.
const turnMark = "\x02"

// ParseTurn reads a cursor. An empty one stands before all lanes.
func ParseTurn(cursor string) Turn {
	name, rest, _ := strings.Cut(cursor, turnMark)
	left, err := strconv.Atoi(rest)
	if err != nil || left < 0 {
		left = 0
	}
	return Turn{name, left}
}

// TurnOf is where it stands after a lane had a share and gave so many of it to a claim that had so many slots left.
func TurnOf(lane string, share, taken, slots int) Turn {
	if taken < slots {
		return Turn{Lane: lane} // it had no more to give
	}
	return Turn{lane, share - taken}
}

// Share is how many tasks a lane of some weight may give in the turn that is next.
func (t Turn) Share(lane string, weight int) int {
	if lane == t.Lane && t.Left > 0 {
		return min(t.Left, weight)
	}
	return weight
}

// String is the cursor.
func (t Turn) String() string {
	if t.Left <= 0 {
		return t.Lane
	}
	return t.Lane + turnMark + strconv.Itoa(t.Left)
}

// LaneName is the name by which lanes take turns: lanes of one queue are visited in the order of their names.
func LaneName(kind, lane, limit string, order Order, suspect bool) string {
	name := kind + "\x00" + lane + "\x00" + limit + "\x00"
	if order != Unordered {
		name += "o"
	}
	if suspect {
		name += "s"
	}
	return name
}
