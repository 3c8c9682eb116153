package sim_test

import (
	"runtime"
	"testing"

	"github.com/outlast-go/outlast/test/sim"
)

const seeds = 300

// Every sentence of invariants.go holds in a short run; make sim runs a long one.
func TestInvariantsHold(t *testing.T) {
	t.Parallel()
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			totals := sim.NewTotals()
			for seed := part; seed < seeds; seed += parts {
				if res := sim.Run(uint64(seed), totals, nil); res.Violation != nil {
					t.Fatalf("%s\nreplay: go run ./test/sim/cmd -seed %d", res.Violation, seed)
				}
			}
			if totals.Crashes == 0 || totals.Fenced == 0 {
				t.Errorf("%d crashes and %d refused outcomes: the faults do not happen", totals.Crashes, totals.Fenced)
			}
		})
	}
}

func TestSameSeedIsTheSameRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		a, b := sim.Run(seed, sim.NewTotals(), nil), sim.Run(seed, sim.NewTotals(), func(string) {})
		if a.Hash != b.Hash || a.Steps != b.Steps {
			t.Errorf("seed %d: hash %x after %d steps, then %x after %d", seed, a.Hash, a.Steps, b.Hash, b.Steps)
		}
	}
}

func TestNoGoroutineOutlivesARun(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range uint64(5) {
		sim.Run(seed, sim.NewTotals(), nil)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
