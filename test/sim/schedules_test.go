package sim_test

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/test/sim"
)

// I25: 20 drivers, 50 schedules, 30 days with crashes and both changes of the clocks: each tick comes once.
func TestEachTickOfAMonthComesOnce(t *testing.T) {
	t.Parallel()
	r := sim.Schedules{Drivers: 20, Schedules: 50, Span: 30 * 24 * time.Hour}
	if v := r.Run(1); v != nil {
		t.Fatal(v)
	}
	t.Logf("%d ticks, %d of them when clocks leapt, %d when they went back; %d kills, %d outages, %d steps", r.Ticks, r.Gaps, r.Folds, r.Kills, r.Outages, r.Steps)
	if r.Ticks < 5000 || r.Kills < 100 || r.Gaps == 0 || r.Folds == 0 {
		t.Errorf("%+v: too little has happened", r)
	}
}
