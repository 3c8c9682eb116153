package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Planned is a fault at one call of the store: the call'th of the run, counted over all processes from 0.
type Planned struct {
	Call  int
	Fault fault
}

// String writes the fault and its place, as in die-after@17.
func (p Planned) String() string { return fmt.Sprintf("%s@%d", faultNames[p.Fault], p.Call) }

// exhaustive are the faults that a schedule can put at a call.
var exhaustive = []fault{
	faultDieBefore, faultDieAfter, faultRefused, faultLostAnswer, faultLatePacket, faultLateAnswer, faultStopBefore, faultStopAfter,
}

// ParsePlanned reads what String writes.
func ParsePlanned(text string) (p Planned, err error) {
	name, call, ok := strings.Cut(text, "@")
	if !ok {
		return p, fmt.Errorf("the fault %q is not written as die-after@17", text)
	}
	for _, f := range exhaustive {
		if faultNames[f] == name {
			p.Fault = f
		}
	}
	if p.Fault == faultNone {
		return p, fmt.Errorf("there is no fault %q", name)
	}
	_, err = fmt.Sscanf(call, "%d", &p.Call)
	return p, err
}

// schedule is where the faults of a run are that are not drawn.
type schedule struct {
	faults []Planned
	calls  int // made so far, before healing
	met    int // faults that have befallen somebody
}

// next decides what befalls the next call.
func (e *schedule) next(s *Sim, p *process) fault {
	at := e.calls
	e.calls++
	for _, f := range e.faults {
		if f.Call == at {
			e.met++
			return f.Fault
		}
	}
	return faultNone
}

// Case is a scenario in a world whose workers hold some evidence.
type Case struct {
	Scenario string
	Evidence store.EvidenceKind
}

// worlds are the kinds of evidence that there are.
var worlds = []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone}

// Cases lists all of them.
func Cases() []Case {
	var all []Case
	for _, sc := range scenarios {
		for _, e := range worlds {
			all = append(all, Case{sc.name, e})
		}
	}
	return all
}

// Home reports whether a case is its scenario in the world that is its own: each has one, in turn.
func (c Case) Home() bool {
	i := slices.IndexFunc(scenarios, func(sc scenario) bool { return sc.name == c.Scenario })
	return i >= 0 && worlds[i%len(worlds)] == c.Evidence
}

// exactPlan is a world without chance but for the order of what happens in one instant. What takes time takes little: each beat
// that is sent meanwhile is one more call, to be paired with all others.
func exactPlan(evidence store.EvidenceKind) plan {
	p := plan{
		evidence: evidence, deadAfter: 3 * time.Second, beat: 600 * time.Millisecond, workers: 2, clients: 1, slots: 2,
		shutdown: 300 * time.Millisecond, latency: 2 * time.Millisecond, chaos: 30 * time.Second, crashes: 30, full: true,
	}
	p.timing = store.Timing{GoneAfter: 900 * time.Millisecond, StuckGrace: 500 * time.Millisecond}.WithDefaults()
	return p
}

// RunCase runs a case under a schedule of faults. calls is how many calls were made until the work was done; met says whether all faults
// came to pass.
func RunCase(c Case, faults []Planned, totals *Totals, trace func(line string)) (res Result, calls int, met bool) {
	loom := &loom{}
	defer loom.end()
	return runCase(c, faults, loom, totals, trace)
}

func runCase(c Case, faults []Planned, loom *loom, totals *Totals, trace func(line string)) (res Result, calls int, met bool) {
	s := newWorld(1, exactPlan(c.Evidence), loom, totals)
	s.tracing, s.trace = trace != nil, trace
	s.exact = &schedule{faults: faults}
	for _, sc := range scenarios {
		if sc.name == c.Scenario {
			sc.work(s.work)
		}
	}
	s.run()
	s.bury()
	totals.Seeds++
	totals.Steps += int64(s.steps)
	totals.Virtual += s.now
	return Result{Hash: s.hash, Steps: s.steps, Violation: s.broken}, s.exact.calls, s.exact.met == len(faults)
}

// Coverage counts schedules of faults.
type Coverage struct {
	Singles, Pairs int64 // that there are
	Met            int64 // that came to pass, of both
}

// Add adds what another part came to.
func (c *Coverage) Add(o Coverage) {
	c.Singles += o.Singles
	c.Pairs += o.Pairs
	c.Met += o.Met
}

// Singles lists every fault at every call of a case. The case is run without any for it, and must bear that.
func Singles(c Case, totals *Totals) (all []Planned, v *Violation) {
	res, calls, _ := RunCase(c, nil, totals, nil)
	for call := range calls {
		for _, f := range exhaustive {
			all = append(all, Planned{call, f})
		}
	}
	return all, res.Violation
}

// After runs a case under a first fault and, with pairs, under it and every fault at every later call. It stops at the first violation, and
// returns the schedule that led to it.
func After(c Case, first Planned, pairs bool, totals *Totals) (cov Coverage, broken []Planned, v *Violation) {
	loom := &loom{}
	defer loom.end()
	try := func(faults ...Planned) (calls int, ok bool) {
		res, calls, met := runCase(c, faults, loom, totals, nil)
		if met {
			cov.Met++
		}
		if res.Violation != nil {
			broken, v = faults, res.Violation
		}
		return calls, res.Violation == nil
	}
	cov.Singles++
	calls, ok := try(first)
	for at := first.Call + 1; pairs && ok && at < calls; at++ {
		for _, f := range exhaustive {
			cov.Pairs++
			if _, ok = try(first, Planned{at, f}); !ok {
				return cov, broken, v
			}
		}
	}
	return cov, broken, v
}
