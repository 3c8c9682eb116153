package storetest

import (
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// crowd lets n workers claim and complete until all tasks are done, and tells how many ran beside each other at most.
func crowd(t *testing.T, w *world, n int) (done, peak int64) {
	workers := make([]*worker, n)
	for i := range workers {
		workers[i] = w.join()
	}
	var running, high, count atomic.Int64
	together(n, func(i int) {
		k := workers[i]
		for misses := 0; misses < 1000; {
			res, err := k.st.Claim(w.ctx(), k.request(1))
			if err != nil {
				t.Errorf("Claim = %v, want no error", err)
				return
			}
			if len(res.Tasks) == 0 {
				misses++
				continue
			}
			now := running.Add(1)
			for was := high.Load(); now > was && !high.CompareAndSwap(was, now); was = high.Load() {
			}
			// A look at the store between the two, so that others come in the way.
			_, err = k.st.Get(w.ctx(), res.Tasks[0].ID)
			running.Add(-1)
			if err != nil {
				t.Errorf("Get = %v, want no error", err)
				return
			}
			_, err = k.st.Complete(w.ctx(), store.CompleteRequest{
				Items: []store.Completion{{Fence: res.Tasks[0].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
			})
			if err != nil {
				t.Errorf("Complete = %v, want no error", err)
				return
			}
			count.Add(1)
		}
	})
	return count.Load(), high.Load()
}

// I23
func raceLimit(t *testing.T, w *world) {
	n := w.scaled(300)
	w.limit(store.Limit{Key: "two", Running: 2})
	w.submit(w.specs(n, limited("two"))...)
	done, peak := crowd(t, w, 8)
	if done != int64(n) || peak > 2 {
		t.Errorf("%d ran, at most %d at once, want %d, at most 2", done, peak, n)
	}
	if got := w.inUse("two"); got != 0 {
		t.Errorf("InUse = %d, want 0", got)
	}
}

// I24
func raceOrdered(t *testing.T, w *world) {
	n := w.scaled(300)
	w.chain(n, store.OrderSkip)
	done, peak := crowd(t, w, 8)
	if done != int64(n) || peak > 1 {
		t.Errorf("%d ran, at most %d at once, want %d, one at a time", done, peak, n)
	}
}
