package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func promoteTests() []test {
	return []test{
		{"a scheduled task is ready when it is due, not before", promoteDue},
		{"it works in chunks", promoteChunks},
		{"limit 0 is 100", promoteDefault},
		{"the next due time is told", promoteNext},
		{"nothing to do is told", promoteNothing},
		{"start-by passed ends scheduled and ready tasks", promoteExpired},
		{"a paused lane does not outlive its start-by", promoteExpiredPaused},
		{"a corrupt record ends and stops nobody", promoteCorrupt},
		{"Beat tells that something is ripe", promoteRipe},
	}
}

func promoteDue(t *testing.T, w *world) {
	id := w.put(w.delay(10))
	w.pass(8)
	if res := w.promote(); res.Due != 0 {
		t.Errorf("Promote = %d due, want 0", res.Due)
	}
	w.in(id, store.Scheduled)
	w.pass(3)
	if res := w.promote(); res.Due != 1 {
		t.Errorf("Promote = %d due, want 1", res.Due)
	}
	if got := w.in(id, store.Ready); !w.near(got.ReadyAt, w.now()) {
		t.Errorf("ReadyAt = %v, want now", got.ReadyAt)
	}
}

func promoteChunks(t *testing.T, w *world) {
	w.submit(w.specs(10, w.delay(1))...)
	w.pass(2)
	for i, want := range []int{4, 4, 2} {
		res, err := w.st.Promote(w.ctx(), 4)
		w.ok("Promote", err)
		if res.Due != want || res.More != (i < 2) {
			t.Errorf("Promote %d = %d due, more %v, want %d, %v", i, res.Due, res.More, want, i < 2)
		}
	}
}

func promoteDefault(t *testing.T, w *world) {
	w.submit(w.specs(130, w.delay(1))...)
	w.pass(2)
	res, err := w.st.Promote(w.ctx(), 0)
	w.ok("Promote", err)
	if res.Due != 100 || !res.More {
		t.Errorf("Promote = %d due, more %v, want 100, true", res.Due, res.More)
	}
}

func promoteNext(t *testing.T, w *world) {
	w.put(w.delay(30))
	w.put(w.delay(12))
	if res := w.promote(); res.Next <= w.units(11) || res.Next > w.units(12) {
		t.Errorf("Promote = next in %v, want %v", res.Next, w.units(12))
	}
}

func promoteNothing(t *testing.T, w *world) {
	w.put()
	res, err := w.st.Promote(w.ctx(), 0)
	w.ok("Promote", err)
	if res != (store.PromoteResult{}) {
		t.Errorf("Promote = %+v, want nothing", res)
	}
}

func promoteExpired(t *testing.T, w *world) {
	startBy := func(s *store.Spec) { s.StartBy = w.units(5) }
	ready, scheduled := w.put(startBy), w.put(startBy, w.delay(50))
	w.pass(4)
	w.promote()
	w.in(ready, store.Ready)
	w.in(scheduled, store.Scheduled)
	w.pass(2)
	if res := w.promote(); res.Expired != 2 {
		t.Errorf("Promote = %d expired, want 2", res.Expired)
	}
	w.reason(ready, store.Cancelled, store.ReasonExpired)
	w.reason(scheduled, store.Cancelled, store.ReasonExpired)
	w.sameIDs("Claim", ids(w.join().claim(9)), []store.ID{})
}

func promoteExpiredPaused(_ *testing.T, w *world) {
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{}, 0, "test"))
	id := w.put(func(s *store.Spec) { s.StartBy = w.units(5) })
	w.pass(6)
	w.promote()
	w.reason(id, store.Cancelled, store.ReasonExpired)
}

// FT-16
func promoteCorrupt(t *testing.T, w *world) {
	specs := w.specs(5, w.delay(2))
	w.submit(specs...)
	w.e.Corrupt(w.World, specs[2].ID)
	w.pass(3)
	w.promote()
	if got := len(w.join().claim(9)); got != 4 {
		t.Errorf("Claim took %d tasks, want the 4 that are sound", got)
	}
	w.reason(specs[2].ID, store.Failed, store.ReasonCorrupt)
}

func promoteRipe(t *testing.T, w *world) {
	k := w.join()
	w.put(w.delay(3))
	if k.beat().Ripe {
		t.Errorf("Beat said ripe before anything was due")
	}
	w.pass(4)
	if !k.beat().Ripe {
		t.Errorf("Beat did not say ripe")
	}
	w.promote()
	if k.beat().Ripe {
		t.Errorf("Beat said ripe after Promote")
	}
}
