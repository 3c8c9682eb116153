package sim_test

import (
	"fmt"
	"testing"

	"github.com/outlast-go/outlast/test/sim"
)

// Every scenario bears every single fault at every one of its store calls; make exhaust has every pair of them as well., FT-03, FT-11,
// FT-17, FT-18, FT-26, PH-108, PH-141, PH-142, AL-005, AL-006, AL-007, AL-009, AL-016, AL-100, AL-101, AL-102, AE-010, R002-6
func TestEveryFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	for i, c := range sim.Cases() {
		if i%3 != i/3%3 {
			continue // each scenario with one kind of evidence, in turn
		}
		t.Run(c.Scenario, func(t *testing.T) {
			t.Parallel()
			totals := sim.NewTotals()
			singles, wrong := sim.Singles(c, totals)
			if wrong != nil {
				t.Fatalf("without any fault: %s", wrong)
			}
			if len(singles) < 40 {
				t.Fatalf("%d schedules: the work has hardly any calls", len(singles))
			}
			for _, first := range singles {
				coverage, _, broken := sim.After(c, first, false, totals)
				if broken != nil {
					t.Fatalf("%s\nreplay: go run ./test/sim/cmd -replay %q -faults %s", broken, c.Scenario+"/"+string(c.Evidence), first)
				}
				if coverage.Met != 1 {
					t.Fatalf("%s did not come to pass", first)
				}
			}
			if totals.Crashes == 0 || totals.Pauses == 0 {
				t.Errorf("%d crashes and %d pauses: the faults do not happen", totals.Crashes, totals.Pauses)
			}
		})
	}
}

// One schedule is one run, of the faces as well: what was found is found again.
func TestOneScheduleIsOneRun(t *testing.T) {
	t.Parallel()
	for i, c := range sim.Cases() {
		if i%3 != i/3%3 {
			continue
		}
		totals := sim.NewTotals()
		_, calls, _ := sim.RunCase(c, nil, totals, nil)
		for _, name := range []string{"die-after", "stop-before"} {
			p, err := sim.ParsePlanned(fmt.Sprintf("%s@%d", name, calls/2))
			if err != nil {
				t.Fatal(err)
			}
			one, _, _ := sim.RunCase(c, []sim.Planned{p}, totals, nil)
			two, _, _ := sim.RunCase(c, []sim.Planned{p}, totals, nil)
			if one.Hash != two.Hash || one.Steps != two.Steps {
				t.Errorf("%s/%s under %s: %016x after %d steps, then %016x after %d", c.Scenario, c.Evidence, p, one.Hash, one.Steps, two.Hash, two.Steps)
			}
		}
	}
}
