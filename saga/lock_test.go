package saga_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// Who waits for a lock is woken when it is let go, one after the other, and does not find out by looking. RR-120
func TestWhoWaitsForALockIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nap = 1501 * time.Millisecond // between the looks of those who wait
		def := saga.Define("locks", func(b *saga.Builder[int]) *saga.Node[int] {
			b.Lock(func(int) string { return "one" })
			return saga.Step1(b, "a", func(_ context.Context, n int) (int, error) {
				<-time.After(nap)
				return n, nil
			}, b.In())
		})
		k := fleet(t, def)
		begin := time.Now()
		var all []*saga.Handle[int]
		for i := range 5 {
			all = append(all, start(t, false, def, k, i))
		}
		for i, h := range all {
			sagatest.Completed(t, h, i)
		}
		if took := time.Since(begin); took > 5*nap+500*time.Millisecond {
			t.Errorf("five sagas under one lock took %v, want five times %v", took, nap)
		}
	})
}
