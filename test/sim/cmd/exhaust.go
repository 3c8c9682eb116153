package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/sim"
)

// exhaustion is every schedule of one fault, or of one and two, that there is.
type exhaustion struct {
	pairs bool
	jobs  []job
	next  atomic.Int64
	stop  atomic.Bool

	mu       sync.Mutex
	coverage sim.Coverage
	findings int
}

// job is a case and the first fault of its schedules.
type job struct {
	in    sim.Case
	first sim.Planned
}

// exhaust runs the cases that match, and returns the exit code.
func exhaust(pairs bool, match string, workers int) int {
	like, err := regexp.Compile(match)
	if err != nil {
		fmt.Fprintf(os.Stderr, "-scenario: %v\n", err)
		return 2
	}
	begin := time.Now()
	e := &exhaustion{pairs: pairs}
	cases := 0
	for _, c := range sim.Cases() {
		if !like.MatchString(caseName(c)) {
			continue
		}
		cases++
		for _, first := range sim.Singles(c, sim.NewTotals()) {
			e.jobs = append(e.jobs, job{c, first})
		}
	}
	var group sync.WaitGroup
	for range max(workers, 1) {
		group.Go(e.work)
	}
	group.Wait()
	c := e.coverage
	fmt.Printf("exhaust: %d cases, %d single faults, %d ordered pairs, %d of %d schedules covered, %d violations, %.0f s\n",
		cases, c.Singles, c.Pairs, c.Met, c.Singles+c.Pairs, e.findings, time.Since(begin).Seconds())
	if e.findings > 0 || c.Met != c.Singles+c.Pairs || cases == 0 {
		return 1
	}
	return 0
}

// work takes jobs until there are none left, or ten schedules broke something.
func (e *exhaustion) work() {
	for !e.stop.Load() {
		n := e.next.Add(1) - 1
		if n >= int64(len(e.jobs)) {
			return
		}
		j := e.jobs[n]
		c, faults, broken := sim.After(j.in, j.first, e.pairs, sim.NewTotals())
		e.mu.Lock()
		e.coverage.Add(c)
		if broken != nil {
			e.findings++
			fmt.Printf("%s\nreplay: go run ./test/sim/cmd -replay %q -faults %s\n", broken, caseName(j.in), faultList(faults))
			e.stop.Store(e.findings >= 10)
		}
		e.mu.Unlock()
	}
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
