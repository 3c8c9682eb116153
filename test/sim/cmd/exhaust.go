package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/sim"
)

// exhaustion is every schedule of one fault, or of one and two, that there is, or a part of them.
type exhaustion struct {
	pairs  bool
	abroad bool // pairs in every world, and not only in that of the scenario
	jobs   []job
	begin  time.Time
	next   atomic.Int64
	done   atomic.Int64
	stop   atomic.Bool

	mu       sync.Mutex
	coverage sim.Coverage
	totals   *sim.Totals
	findings []finding
}

// job is a case and the first fault of its schedules.
type job struct {
	in    sim.Case
	first sim.Planned
}

// finding is a schedule that broke something, and the job that it was found by.
type finding struct {
	job  int
	text string
}

// slice is a part of all jobs: those whose number leaves a rest. Jobs are dealt out in turn, so that parts take about as long as each other.
type slice struct{ part, of int }

func parseSlice(text string) (s slice, err error) {
	if text == "" {
		return slice{1, 1}, nil
	}
	if _, err = fmt.Sscanf(text, "%d/%d", &s.part, &s.of); err != nil || s.part < 1 || s.part > s.of {
		return s, fmt.Errorf("-part: %q is not written as 1/8", text)
	}
	return s, nil
}

// exhaust runs the cases that match, and returns the exit code.
func exhaust(pairs bool, match string, part slice, o options) int {
	like, err := regexp.Compile(match)
	if err != nil {
		fmt.Fprintf(os.Stderr, "-scenario: %v\n", err)
		return 2
	}
	e := &exhaustion{pairs: pairs, abroad: o.abroad, begin: time.Now(), totals: sim.NewTotals()}
	cases, all := e.plan(like, part)
	e.run(o)
	slices.SortFunc(e.findings, func(a, b finding) int { return a.job - b.job })
	for _, f := range e.findings {
		fmt.Print(f.text)
	}
	c := e.coverage
	fmt.Printf("coverage: %d cells met by a fault (operation × fault × state of the caller)\n", e.totals.Struck())
	fmt.Printf("exhaust: %d cases, %d of %d first faults of part %d/%d (%d in all), %d single faults, %d ordered pairs, %d of %d schedules covered, %d violations, %.0f s\n",
		cases, e.done.Load(), len(e.jobs), part.part, part.of, all, c.Singles, c.Pairs, c.Met, c.Singles+c.Pairs, len(e.findings), time.Since(e.begin).Seconds())
	if int(e.done.Load()) < len(e.jobs) {
		fmt.Println("exhaust: the time was over before all was done; -part takes a smaller share")
	}
	if len(e.findings) > 0 || c.Met != c.Singles+c.Pairs || cases == 0 {
		return 1
	}
	return 0
}

// run does all jobs, or as many as there is time for.
func (e *exhaustion) run(o options) {
	if o.minutes > 0 {
		timer := time.AfterFunc(time.Duration(o.minutes*float64(time.Minute)), func() { e.stop.Store(true) })
		defer timer.Stop()
	}
	over := make(chan struct{})
	var group, telling sync.WaitGroup
	telling.Go(func() { e.tell(over) })
	for range max(o.workers, 1) {
		group.Go(e.work)
	}
	group.Wait()
	close(over)
	telling.Wait()
}

// plan lists the jobs of the cases that match, as far as they are of this part, and returns how many there are in all.
func (e *exhaustion) plan(like *regexp.Regexp, part slice) (cases, all int) {
	for _, c := range sim.Cases() {
		if !like.MatchString(caseName(c)) {
			continue
		}
		cases++
		singles, wrong := sim.Singles(c, e.totals)
		if wrong != nil {
			e.findings = append(e.findings, finding{-1, fmt.Sprintf("%s\nreplay: go run ./test/sim/cmd -replay %q\n", wrong, caseName(c))})
		}
		for _, first := range singles {
			if all%part.of == part.part-1 {
				e.jobs = append(e.jobs, job{c, first})
			}
			all++
		}
	}
	return cases, all
}

// tell says now and then how far it is, until it is over.
func (e *exhaustion) tell(over <-chan struct{}) {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		e.mu.Lock()
		c, findings := e.coverage, len(e.findings)
		e.mu.Unlock()
		done, took := e.done.Load(), time.Since(e.begin).Seconds()
		fmt.Fprintf(os.Stderr, "%d of %d first faults, %d schedules, %.0f per second, %d violations, %.0f s\n",
			done, len(e.jobs), c.Singles+c.Pairs, float64(c.Singles+c.Pairs)/took, findings, took)
	}
}

// work takes jobs until there are none left, or ten schedules broke something.
func (e *exhaustion) work() {
	totals := sim.NewTotals()
	for !e.stop.Load() {
		n := int(e.next.Add(1) - 1)
		if n >= len(e.jobs) {
			break
		}
		j := e.jobs[n]
		c, faults, broken := sim.After(j.in, j.first, e.pairs && (e.abroad || j.in.Home()), totals)
		e.done.Add(1)
		e.mu.Lock()
		e.coverage.Add(c)
		if broken != nil {
			f := finding{n, fmt.Sprintf("%s\nreplay: go run ./test/sim/cmd -replay %q -faults %s\n", broken, caseName(j.in), faultList(faults))}
			e.findings = append(e.findings, f)
			fmt.Fprint(os.Stderr, f.text) // at once; in their order they come in the end
			e.stop.Store(len(e.findings) >= 10)
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.totals.Add(totals)
}

func caseName(c sim.Case) string { return c.Scenario + "/" + string(c.Evidence) }

func faultList(faults []sim.Planned) string {
	var list []string
	for _, f := range faults {
		list = append(list, f.String())
	}
	return strings.Join(list, ",")
}

// rehearse runs one case under one schedule, with its whole trace.
func rehearse(name, faults string) int {
	scenario, evidence, _ := strings.Cut(name, "/")
	var list []sim.Planned
	for text := range strings.SplitSeq(faults, ",") {
		if text == "" {
			continue
		}
		p, err := sim.ParsePlanned(text)
		if err != nil {
			fmt.Fprintf(os.Stderr, "-faults: %v\n", err)
			return 2
		}
		list = append(list, p)
	}
	res, calls, met := sim.RunCase(sim.Case{Scenario: scenario, Evidence: store.EvidenceKind(evidence)}, list, sim.NewTotals(), func(line string) { fmt.Println(line) })
	fmt.Printf("%d calls, all faults met: %v\n", calls, met)
	if res.Violation != nil {
		fmt.Println(res.Violation)
		return 1
	}
	return 0
}
