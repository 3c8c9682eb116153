package store

import (
	"math"
	"time"
)

// Wait returns how long to wait after the given number of failed attempts, without jitter.
func (r Retry) Wait(failed int) time.Duration {
	if r.Base <= 0 || failed < 1 {
		return 0
	}
	factor := r.Factor
	if factor < 1 {
		factor = 2
	}
	wait := float64(r.Base) * math.Pow(factor, float64(failed-1))
	limit := float64(math.MaxInt64 / 2)
	if r.Cap > 0 {
		limit = float64(r.Cap)
	}
	return time.Duration(min(wait, limit))
}

// Spent reports whether no attempt is left after the given number of failed ones.
func (r Retry) Spent(failed int) bool { return failed >= max(r.Max, 1) }
