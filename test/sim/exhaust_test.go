package sim_test

import (
	"testing"

	"github.com/outlast-go/outlast/test/sim"
)

// Every scenario bears every single fault at every one of its store calls; make exhaust has every pair of them as well.
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
