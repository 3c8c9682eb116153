package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Totals is what runs add up to.
type Totals struct {
	Seeds, Steps, Tasks, Runs, Calls, Scans int64
	Crashes, Pauses, Drains, Cuts, Sessions int64
	ClockSteps, Restarts, Outages, Fenced   int64
	Crashed                                 int64 // tasks that ended as crashed, or were held for it
	Ticks                                   int64
	Faults                                  [faultCount]int64
	Virtual                                 time.Duration
	SlowestRecovery                         time.Duration
	cells                                   map[cell]int64
}

// NewTotals returns totals of nothing.
func NewTotals() *Totals { return &Totals{cells: map[cell]int64{}} }

// Add adds what other runs came to.
func (t *Totals) Add(o *Totals) {
	for _, f := range []struct{ to, from *int64 }{
		{&t.Seeds, &o.Seeds},
		{&t.Steps, &o.Steps},
		{&t.Tasks, &o.Tasks},
		{&t.Runs, &o.Runs},
		{&t.Calls, &o.Calls},
		{&t.Scans, &o.Scans},
		{&t.Crashes, &o.Crashes},
		{&t.Pauses, &o.Pauses},
		{&t.Drains, &o.Drains},
		{&t.Cuts, &o.Cuts},
		{&t.Sessions, &o.Sessions},
		{&t.ClockSteps, &o.ClockSteps},
		{&t.Restarts, &o.Restarts},
		{&t.Outages, &o.Outages},
		{&t.Fenced, &o.Fenced},
		{&t.Crashed, &o.Crashed},
		{&t.Ticks, &o.Ticks},
	} {
		*f.to += *f.from
	}
	for i, n := range o.Faults {
		t.Faults[i] += n
	}
	t.Virtual += o.Virtual
	t.SlowestRecovery = max(t.SlowestRecovery, o.SlowestRecovery)
	for c, n := range o.cells {
		t.cells[c] += n
	}
}

// Print tells the totals, one line per subject.
func (t *Totals) Print(w io.Writer, wall time.Duration, verbose bool) {
	seeds := max(t.Seeds, 1)
	fmt.Fprintf(w, "%d seeds in %.1f s (%.0f per second), %.1f virtual hours, %d steps (%d per seed)\n",
		t.Seeds, wall.Seconds(), float64(t.Seeds)/max(wall.Seconds(), 0.001), t.Virtual.Hours(), t.Steps, t.Steps/seeds)
	fmt.Fprintf(w, "%d tasks, %d runs of handlers, %d ticks, %d store calls, %d scans\n", t.Tasks, t.Runs, t.Ticks, t.Calls, t.Scans)
	fmt.Fprintf(w, "processes: %d crashes, %d pauses, %d drains, %d cuts, %d lost sessions, %d clock steps; store: %d restarts, %d outages\n",
		t.Crashes, t.Pauses, t.Drains, t.Cuts, t.Sessions, t.ClockSteps, t.Restarts, t.Outages)
	var faults []string
	for f := faultDieBefore; f < faultCount; f++ {
		faults = append(faults, fmt.Sprintf("%s %d", faultNames[f], t.Faults[f]))
	}
	fmt.Fprintf(w, "calls that went wrong: %s\n", strings.Join(faults, ", "))
	fmt.Fprintf(w, "%d late outcomes refused by their fence, %d tasks ended as crashed, slowest recovery among the healthy %v\n",
		t.Fenced, t.Crashed, t.SlowestRecovery.Round(time.Millisecond))
	reached, possible, missing := t.coverage()
	fmt.Fprintf(w, "coverage: %d of %d cells (operation × fault × state of the caller)\n", reached, possible)
	if verbose && len(missing) > 0 {
		fmt.Fprintf(w, "not reached: %s\n", strings.Join(missing, ", "))
	}
}

// cell is one way in which a call can go.
type cell struct {
	op    string
	fault fault
	class class
}

// class is the state that the caller is in.
type class uint8

const (
	classClient   class = iota
	classNew            // has not joined
	classSteady         // a worker that nobody doubts
	classHolding        // a worker that holds tasks
	classDraining       // was asked to stop
	classDead           // was declared dead, and may not know
	classWoken          // was paused or cut a short while ago
	classCount
)

var classNames = [classCount]string{"client", "new", "steady", "holding", "draining", "dead", "woken"}

// The operations that callers of each kind make.
var (
	clientOps = []string{
		"Submit", "Cancel", "Retry", "Free", "Send", "Seal", "Release", "Abort", "PutLimit", "Pause", "Resume", "PutSchedule", "Now", "Get",
	}
	workerOps = []string{"Beat", "Recover", "Promote", "Prune", "DueSchedules"}
	holderOps = []string{"Complete", "Save", "Load", "Messages", "Group", "Get", "Stage", "Holds", "Tick", "Now"}
)

func possibleCells() []cell {
	var all []cell
	add := func(op string, classes ...class) {
		for _, c := range classes {
			for f := range faultCount {
				all = append(all, cell{op, f, c})
			}
		}
	}
	for _, op := range clientOps {
		add(op, classClient)
	}
	for _, op := range workerOps {
		add(op, classSteady, classHolding, classDraining, classDead, classWoken)
	}
	for _, op := range holderOps {
		add(op, classHolding, classDraining, classDead, classWoken)
	}
	add("Claim", classSteady, classHolding, classDead, classWoken)
	add("Join", classNew, classDead)
	add("Leave", classDraining, classDead)
	return all
}

func (t *Totals) coverage() (reached, possible int, missing []string) {
	all := possibleCells()
	for _, c := range all {
		if t.cells[c] > 0 {
			reached++
		} else {
			missing = append(missing, c.op+"/"+faultNames[c.fault]+"/"+classNames[c.class])
		}
	}
	slices.Sort(missing)
	return reached, len(all), missing
}

// Struck returns how many cells were met by a fault.
func (t *Totals) Struck() int {
	n := 0
	for c := range t.cells {
		if c.fault != faultNone {
			n++
		}
	}
	return n
}

// cover counts a call.
func (s *Sim) cover(p *process, op string, f fault) { s.stats.cells[cell{op, f, s.classOf(p)}]++ }

func (s *Sim) classOf(p *process) class {
	if p.role != roleWorker {
		return classClient
	}
	m := s.shadow.workers[p.worker]
	switch {
	case m == nil:
		return classNew
	case m.dead:
		return classDead
	case p.draining:
		return classDraining
	case p.woken > 0 && s.now-p.woken < s.plan.deadAfter:
		return classWoken
	case p.holding > 0:
		return classHolding
	}
	return classSteady
}
