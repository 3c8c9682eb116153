package sqlite

import (
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// few is how many lanes of a queue are looked at in any case.
const few = 16

// round is the lanes of a queue and some kinds that have ready tasks, in the order of their turns, as far as they were looked at.
type round struct {
	s     *step
	queue string
	kinds []string // sorted
	lanes []*lane
	at    int  // whose turn is next
	whole bool // all were looked at
	top   int  // no lane has a higher priority; 0 if none has more

	begin, from string // the name with which it begins, and the one to be looked at next
	second      bool   // it has come to the names before the one with which it began
}

// round looks at n lanes in turn.
func (s *step) round(queue string, kinds []string, turn store.Turn, n int) *round {
	r := &round{s: s, queue: queue, kinds: slices.Compact(slices.Sorted(slices.Values(kinds))), begin: turn.Lane}
	if turn.Lane != "" && turn.Left <= 0 {
		r.begin += "\x00" // the next one
	}
	r.from = r.begin
	if r.more(n); !r.whole {
		r.rank()
	}
	return r
}

// more looks at n lanes more.
func (r *round) more(n int) {
	for n > 0 && !r.whole {
		end := []byte{0xff} // no name begins with it
		if r.second {
			end = []byte(r.begin)
		}
		for _, kind := range r.kinds {
			if n <= 0 {
				return
			}
			r.s.query("lane_round", func(row *sqlite.Stmt) {
				l := r.s.knownLane(row)
				r.lanes, r.from = append(r.lanes, l), l.name+"\x00"
				n--
			}, r.queue, kind, []byte(r.from), end, n)
		}
		if n > 0 {
			r.whole, r.second, r.from = r.second || r.begin == "" || r.s.err != nil, true, ""
		}
	}
}

// rank finds the highest priority. What this step has not yet written counts as well.
func (r *round) rank() {
	r.top = 0
	for _, kind := range r.kinds {
		r.top = max(r.top, int(r.s.number("lane_urgent", r.queue, kind)))
	}
	for _, l := range r.s.laneID {
		if l.dirty && l.queue == r.queue && slices.Contains(r.kinds, l.kind) {
			r.s.fresh(l)
			r.top = max(r.top, l.priority)
		}
	}
}

// taken says that a lane had its turn.
func (r *round) taken(at int) {
	if r.at = at + 1; r.whole {
		r.at %= len(r.lanes)
		return
	}
	if r.top > 0 {
		r.s.flushLanes() // what was taken must not count as urgent any more
		r.rank()
	}
}

// first returns the place of the first lane in turn that fits; -1 if none does. All are known.
func (r *round) first(fits func(*lane) bool) int {
	for i := range r.lanes {
		if at := (r.at + i) % len(r.lanes); fits(r.lanes[at]) {
			return at
		}
	}
	return -1
}

// anyOpen reports whether a claim may take from a lane now. It looks until it has found one.
func (s *step) anyOpen(r *round) bool {
	for i := 0; i < len(r.lanes) && s.err == nil; i++ {
		l := r.lanes[i]
		if s.fresh(l); l.ready > 0 && !l.suspect && s.blocked(l) == "" {
			return true
		}
		if i == len(r.lanes)-1 {
			r.more(len(r.lanes))
		}
	}
	return false
}

// suspectLanes lists the lanes of a queue and some kinds in which suspects wait, by name.
func (s *step) suspectLanes(queue string, kinds []string) []*lane {
	var list []*lane
	for _, kind := range kinds {
		s.query("lane_suspect", func(r *sqlite.Stmt) { list = append(list, s.knownLane(r)) }, queue, kind)
	}
	for _, l := range list {
		s.fresh(l)
	}
	slices.SortFunc(list, func(a, b *lane) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(list)
}
