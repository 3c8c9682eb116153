package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func limitTests() []test {
	return []test{
		{"at most so many run at once, across workers", limitRunning},
		{"a key without a limit is unbound", limitNone},
		{"PutLimit returns what stood before, and zero removes it", limitPut},
		{"raising a limit lets more start", limitRaise},
		{"lowering a limit stops nobody that runs", limitLower},
		{"a limit set late counts those that run", limitLate},
		{"every outcome frees the slot", limitOutcomes},
		{"death and leaving free the slot", limitDeath},
		{"a full limit does not stand in the way of others", limitOthers},
		{"a rate lets a burst start, then one by one", limitRate},
		{"a rate's burst is its own number", limitBurst},
		{"when a rate opens is told", limitRateNext},
		{"all rates must be open", limitTwoRates},
		{"a released task is not charged twice", limitCharged},
		{"a recovered task is not charged twice", limitChargedRecover},
		{"a retried task is charged again", limitChargedRetry},
		{"limits are listed by key with their use", limitList},
		{"a bad limit is refused", limitInvalid},
	}
}

func limited(key string) edit { return func(s *store.Spec) { s.Limit = key } }

func limitRunning(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	w.limit(store.Limit{Key: "two", Running: 2})
	w.submit(w.specs(5, limited("two"))...)
	first := a.claim(9)
	if len(first) != 2 || len(b.claim(9)) != 0 {
		t.Errorf("Claim took %d, want 2 and no more", len(first))
	}
	a.done(first[0])
	if got := len(b.claim(9)); got != 1 {
		t.Errorf("Claim after one ended took %d, want 1", got)
	}
	if got := w.inUse("two"); got != 2 {
		t.Errorf("InUse = %d, want 2", got)
	}
}

func limitNone(t *testing.T, w *world) {
	w.submit(w.specs(20, limited("free"))...)
	if got := len(w.join().claim(20)); got != 20 {
		t.Errorf("Claim took %d, want 20", got)
	}
}

func limitPut(t *testing.T, w *world) {
	first := store.Limit{Key: "l", Running: 1}
	before, err := w.st.PutLimit(w.ctx(), first)
	w.ok("PutLimit", err)
	if before.Running != 0 || len(before.Rates) != 0 {
		t.Errorf("PutLimit = %+v, want none before", before)
	}
	before, err = w.st.PutLimit(w.ctx(), store.Limit{Key: "l"})
	w.ok("PutLimit", err)
	if before.Running != 1 {
		t.Errorf("PutLimit = %+v, want the first", before)
	}
	w.submit(w.specs(3, limited("l"))...)
	if got := len(w.join().claim(9)); got != 3 {
		t.Errorf("Claim took %d, want 3: the limit was removed", got)
	}
}

func limitRaise(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "l", Running: 1})
	w.submit(w.specs(5, limited("l"))...)
	k.claim(9)
	w.limit(store.Limit{Key: "l", Running: 3})
	if got := len(k.claim(9)); got != 2 {
		t.Errorf("Claim after raising took %d, want 2", got)
	}
}

func limitLower(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "l", Running: 3})
	w.submit(w.specs(5, limited("l"))...)
	tasks := k.claim(9)
	w.limit(store.Limit{Key: "l", Running: 1})
	if got := w.inUse("l"); got != 3 {
		t.Errorf("InUse = %d, want 3", got)
	}
	k.done(tasks[0])
	k.done(tasks[1])
	if got := len(k.claim(9)); got != 0 {
		t.Errorf("Claim took %d with one running under a limit of one, want 0", got)
	}
	k.done(tasks[2])
	if got := len(k.claim(9)); got != 1 {
		t.Errorf("Claim took %d, want 1", got)
	}
}

func limitLate(t *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(3, limited("l"))...)
	k.claim(2)
	w.limit(store.Limit{Key: "l", Running: 2})
	if got := w.inUse("l"); got != 2 {
		t.Errorf("InUse = %d, want 2", got)
	}
	if got := len(k.claim(9)); got != 0 {
		t.Errorf("Claim took %d, want 0", got)
	}
}

// I23
func limitOutcomes(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "one", Running: 1})
	for _, out := range []store.OutcomeKind{
		store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark,
		store.OutcomeRelease, store.OutcomeHold,
	} {
		task := k.start(limited("one"), func(s *store.Spec) { s.Kind = "of." + string(out) })
		if got := w.inUse("one"); got != 1 {
			t.Errorf("InUse = %d, want 1", got)
		}
		k.end(task, store.Outcome{Kind: out, Delay: w.units(9), Reason: "look"})
		if got := w.inUse("one"); got != 0 {
			t.Errorf("InUse after %s = %d, want 0", out, got)
		}
	}
}

func limitDeath(t *testing.T, w *world) {
	by := w.join()
	w.limit(store.Limit{Key: "one", Running: 1})
	w.put(limited("one"))
	k := w.join()
	k.take()
	k.die(by)
	if got := w.inUse("one"); got != 0 {
		t.Errorf("InUse after a death = %d, want 0", got)
	}
	k = w.join()
	k.take()
	k.leave()
	if got := w.inUse("one"); got != 0 {
		t.Errorf("InUse after Leave = %d, want 0", got)
	}
	by.take()
}

func limitOthers(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "full", Running: 1})
	w.submit(w.specs(10, limited("full"), priority(9))...)
	k.take()
	other := w.put()
	w.sameIDs("Claim", ids(k.claim(5)), []store.ID{other})
}

func limitRate(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(20), 2)}})
	w.submit(w.specs(6, limited("r"))...)
	if got := len(k.claim(9)); got != 2 {
		t.Errorf("Claim took %d at once, want 2", got)
	}
	w.pass(8)
	if got := len(k.claim(9)); got != 0 {
		t.Errorf("Claim took %d too early, want 0", got)
	}
	w.pass(3)
	if got := len(k.claim(9)); got != 1 {
		t.Errorf("Claim took %d, want 1 after half of Per", got)
	}
	w.pass(100)
	if got := len(k.claim(9)); got != 2 {
		t.Errorf("Claim took %d after a long rest, want the burst of 2", got)
	}
}

func limitBurst(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{{N: 2, Per: w.units(20), Burst: 4}}})
	w.submit(w.specs(9, limited("r"))...)
	if got := len(k.claim(9)); got != 4 {
		t.Errorf("Claim took %d at once, want the burst of 4", got)
	}
	w.pass(11)
	if got := len(k.claim(9)); got != 1 {
		t.Errorf("Claim took %d, want 1", got)
	}
}

func limitRateNext(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(20), 1)}})
	w.submit(w.specs(2, limited("r"))...)
	k.take()
	res := k.ask(k.request(1))
	if len(res.Tasks) != 0 || res.Next <= w.units(18) || res.Next > w.units(20) {
		t.Errorf("Claim = %d tasks, next in %v, want none, next in %v", len(res.Tasks), res.Next, w.units(20))
	}
	list, err := w.st.LimitList(w.ctx())
	w.ok("LimitList", err)
	if got := list[0].Opens; got <= w.units(18) || got > w.units(20) {
		t.Errorf("LimitList = opens in %v, want %v", got, w.units(20))
	}
	w.Pass(res.Next + w.u)
	k.take()
}

func limitTwoRates(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(100), 3), every(w.units(10), 1)}})
	w.submit(w.specs(9, limited("r"))...)
	total := 0
	for range 5 {
		got := len(k.claim(9))
		if got > 1 {
			t.Errorf("Claim took %d, want at most 1", got)
		}
		total += got
		w.pass(11)
	}
	// After 44 units the rate of 3 per 100 has given its burst of three and one more.
	if total != 4 {
		t.Errorf("claims took %d in 44 units, want 4", total)
	}
}

func limitCharged(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(400), 2)}})
	task := k.start(limited("r"))
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	if got := w.get(task.ID); !got.Charged {
		t.Errorf("a released task is not marked as charged")
	}
	k.take()
	w.put(limited("r"))
	k.take()
	w.put(limited("r"))
	if got := len(k.claim(1)); got != 0 {
		t.Errorf("Claim took a third start under a rate of two")
	}
}

func limitChargedRecover(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(4000), 2)}})
	k.start(limited("r"))
	k.die(by)
	by.take()
	w.put(limited("r"))
	by.take()
}

func limitChargedRetry(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "r", Rates: []store.Rate{every(w.units(400), 2)}})
	task := k.start(limited("r"))
	k.end(task, store.Outcome{Kind: store.OutcomeRetry})
	if got := w.get(task.ID); got.Charged {
		t.Errorf("a retried task is marked as charged")
	}
	k.take()
	w.put(limited("r"))
	if got := len(k.claim(1)); got != 0 {
		t.Errorf("Claim took a third start under a rate of two")
	}
}

func limitList(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "b", Running: 3})
	w.limit(store.Limit{Key: "a", Running: 2, Rates: []store.Rate{{N: 5, Per: w.units(10), Burst: 7}}, Declared: true})
	w.submit(w.specs(2, limited("b"))...)
	k.claim(2)
	list, err := w.st.LimitList(w.ctx())
	w.ok("LimitList", err)
	if len(list) != 2 || list[0].Key != "a" || list[1].Key != "b" || list[1].InUse != 2 || list[0].InUse != 0 || list[1].Running != 3 {
		t.Fatalf("LimitList = %+v, want a unused and b with 2 of 3", list)
	}
	if !list[0].Declared || list[1].Declared {
		t.Errorf("LimitList = %+v, want a declared and b not", list)
	}
	if before, err := w.st.PutLimit(w.ctx(), store.Limit{Key: "a", Running: 9}); err != nil || !before.Declared {
		t.Errorf("PutLimit = %+v, %v, want it to say that what stood was declared", before, err)
	}
	if one, err := w.st.LimitList(w.ctx(), "none", "b", "b"); err != nil || len(one) != 1 || one[0].Key != "b" || one[0].InUse != 2 {
		t.Errorf("LimitList of b = %+v, %v, want it alone, and none for a key without a limit", one, err)
	}
	if rates := list[0].Rates; len(rates) != 1 || rates[0] != (store.Rate{N: 5, Per: w.units(10), Burst: 7}) {
		t.Errorf("rates = %+v, want them as they were put", rates)
	}
}

func limitInvalid(t *testing.T, w *world) {
	for _, l := range []store.Limit{
		{Running: 1},
		{Key: "a\nb", Running: 1},
		{Key: "l", Running: -1},
		{Key: "l", Rates: []store.Rate{{N: 0, Per: w.u}}},
		{Key: "l", Rates: []store.Rate{{N: 1}}},
		{Key: "l", Rates: []store.Rate{{N: 1, Per: w.u, Burst: -1}}},
	} {
		_, err := w.st.PutLimit(w.ctx(), l)
		w.refused("PutLimit", err, store.ErrInvalid)
	}
	if list, err := w.st.LimitList(w.ctx()); err != nil || len(list) != 0 {
		t.Errorf("LimitList = %v, %v, want none", list, err)
	}
}
