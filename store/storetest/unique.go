package storetest

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func uniqueTests() []test {
	return []test{
		{"with keep the holder stands and is told", uniqueKeep},
		{"with reject the newcomer is a duplicate", uniqueReject},
		{"with replace a waiting holder ends, in every waiting state", uniqueReplace},
		{"with replace a running holder stands", uniqueReplaceRunning},
		{"with latest a waiting holder ends, and is told of", uniqueLatest},
		{"with latest a running holder goes on without the key", uniqueLatestRunning},
		{"with latest the last one runs, whatever came before", uniqueLatestLast},
		{"who replaces is told whom", uniqueReplaced},
		{"kinds do not share keys", uniqueKinds},
		{"the newcomer's policy decides", uniqueNewcomer},
		{"a key is held until the task ends", uniqueUntilEnd},
		{"a key is held through retry, park, hold and recovery", uniqueHeld},
		{"a key for a duration outlives the ending", uniqueFor},
		{"a key for a duration ends though the task runs", uniqueForRunning},
		{"a key for the record is held until it is removed", uniqueRecord},
		{"a key for a duration is not held longer than the record", uniqueForGone},
		{"a failed task lets go at once", uniqueFailed},
		{"a key that stays is held by a failed task too", uniqueStays},
		{"two in one call are one", uniqueInOne},
		{"an ending of an old holder leaves the new one its key", uniqueOldHolder},
	}
}

func unique(c store.Conflict, d time.Duration) edit {
	return func(s *store.Spec) { s.Unique = store.Unique{Key: "key", OnConflict: c, For: d} }
}

// taken checks that the key is held by a task, or by none.
func (w *world) taken(holder store.ID) {
	w.t.Helper()
	s := w.spec(unique(store.Keep, 0))
	res := w.try(s)
	if holder.IsZero() {
		if res.Existed || res.Err != nil {
			w.t.Errorf("Submit = %+v, want the key free", res)
		}
		return
	}
	if !res.Existed || res.ID != holder || w.exists(s.ID) {
		w.t.Errorf("Submit = %+v, want the key held by %v", res, holder)
	}
}

func uniqueKeep(t *testing.T, w *world) {
	holder := w.spec(unique(store.Keep, 0), func(s *store.Spec) { s.Fingerprint, s.Args = "one", []byte("one") })
	w.submit(holder)
	before := w.get(holder.ID)
	s := w.spec(unique(store.Keep, 0), func(s *store.Spec) { s.Fingerprint = "two" })
	res := w.try(s)
	want := store.Submitted{ID: holder.ID, State: store.Ready, Existed: true, Fingerprint: "one"}
	if res != want {
		t.Errorf("Submit = %+v, want %+v", res, want)
	}
	if w.exists(s.ID) {
		t.Errorf("the newcomer was stored")
	}
	w.same(before)
}

func uniqueReject(t *testing.T, w *world) {
	holder := w.put(unique(store.Keep, 0))
	s := w.spec(unique(store.Reject, 0))
	res := w.try(s)
	w.refused("Submit", res.Err, store.ErrDuplicate)
	if res.ID != holder || w.exists(s.ID) {
		t.Errorf("Submit = %+v, want it told which task stands", res)
	}
}

func uniqueLatest(t *testing.T, w *world) {
	first := w.put(unique(store.Latest, 0), w.delay(50))
	s := w.spec(unique(store.Latest, 0), w.delay(50))
	if res := w.try(s); res.Err != nil || res.Existed || res.ID != s.ID || res.Replaced != first {
		t.Errorf("Submit = %+v, want the newcomer stored and the first replaced", res)
	}
	w.reason(first, store.Cancelled, store.ReasonReplaced)
	w.taken(s.ID)
}

func uniqueLatestRunning(t *testing.T, w *world) {
	k := w.join()
	runs := k.start(unique(store.Latest, 0))
	s := w.spec(unique(store.Latest, 0))
	if res := w.try(s); res.Err != nil || res.Existed || res.ID != s.ID || res.Replaced != runs.ID {
		t.Errorf("Submit = %+v, want the newcomer stored and told who ran", res)
	}
	w.in(runs.ID, store.Running)
	w.taken(s.ID)
	k.done(runs) // it has no key to let go of
	w.in(runs.ID, store.Done)
	w.taken(s.ID)
	k.done(k.take())
	w.taken(store.ID{})
}

func uniqueLatestLast(t *testing.T, w *world) {
	k := w.join()
	runs := k.start(unique(store.Latest, 0))
	var last store.ID
	for range 5 {
		last = w.put(unique(store.Latest, 0))
	}
	k.end(runs, store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(50)})
	w.in(runs.ID, store.Scheduled)
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{last})
	if got := len(w.list(store.Filter{States: []store.State{store.Cancelled}})); got != 4 {
		t.Errorf("%d tasks were replaced, want the 4 between", got)
	}
}

func uniqueReplaced(t *testing.T, w *world) {
	first := w.put(unique(store.Keep, 0))
	s := w.spec(unique(store.Replace, 0))
	if res := w.try(s); res.Replaced != first {
		t.Errorf("Submit = %+v, want it told that %v was replaced", res, first)
	}
	if res := w.try(s); !res.Existed || !res.Replaced.IsZero() {
		t.Errorf("Submit again = %+v, want it known, and nobody replaced by it", res)
	}
	if res := w.try(w.spec(unique(store.Keep, 0))); !res.Replaced.IsZero() || res.ID != s.ID {
		t.Errorf("Submit with keep = %+v, want nobody replaced", res)
	}
}

func uniqueReplace(t *testing.T, w *world) {
	k := w.join()
	for _, wait := range []func() store.ID{
		func() store.ID { return w.put(unique(store.Keep, 0)) },
		func() store.ID { return w.put(unique(store.Keep, 0), w.delay(50)) },
		func() store.ID { task := k.start(unique(store.Keep, 0)); k.park(task); return task.ID },
		func() store.ID {
			task := k.start(unique(store.Keep, 0))
			k.end(task, store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
			return task.ID
		},
	} {
		holder := wait()
		state := w.get(holder).State
		s := w.spec(unique(store.Replace, 0))
		if res := w.try(s); res.Err != nil || res.Existed || res.ID != s.ID {
			t.Errorf("Submit over a %s holder = %+v, want the newcomer stored", state, res)
		}
		w.reason(holder, store.Cancelled, store.ReasonReplaced)
		w.taken(s.ID)
		w.cancel(s.ID)
	}
}

func uniqueReplaceRunning(t *testing.T, w *world) {
	k := w.join()
	task := k.start(unique(store.Keep, 0))
	s := w.spec(unique(store.Replace, 0))
	if res := w.try(s); !res.Existed || res.ID != task.ID || res.State != store.Running || w.exists(s.ID) {
		t.Errorf("Submit = %+v, want the running holder told", res)
	}
	if got := w.in(task.ID, store.Running); got.Asked != "" {
		t.Errorf("the running holder was asked %q", got.Asked)
	}
}

func uniqueKinds(t *testing.T, w *world) {
	w.put(unique(store.Reject, 0))
	if res := w.try(w.spec(unique(store.Reject, 0), func(s *store.Spec) { s.Kind = "other" })); res.Err != nil || res.Existed {
		t.Errorf("Submit of another kind = %+v, want it stored", res)
	}
}

func uniqueNewcomer(_ *testing.T, w *world) {
	holder := w.put(unique(store.Reject, 0))
	w.taken(holder)
	w.refused("Submit", w.try(w.spec(unique(store.Reject, 0))).Err, store.ErrDuplicate)
	s := w.spec(unique(store.Replace, 0))
	w.submit(s)
	w.taken(s.ID)
}

func uniqueUntilEnd(_ *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeCancel} {
		task := k.start(unique(store.Keep, 0))
		w.taken(task.ID)
		k.end(task, store.Outcome{Kind: out})
		w.taken(store.ID{})
		w.cancel(w.list(store.Filter{States: []store.State{store.Ready}})[0].ID)
	}
}

func uniqueHeld(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(unique(store.Keep, 0))
	k.end(task, store.Outcome{Kind: store.OutcomeRetry})
	w.taken(task.ID)
	k.park(k.take())
	w.taken(task.ID)
	w.send(task.ID, "m")
	k.end(k.take(), store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	w.taken(task.ID)
	w.ok("Free", w.st.Free(w.ctx(), task.ID))
	k.take()
	k.die(by)
	w.taken(task.ID)
}

func uniqueFor(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(unique(store.Keep, w.units(30)))
	k.done(task)
	w.pass(20)
	w.taken(task.ID)
	w.pass(11)
	w.taken(store.ID{})
}

func uniqueForRunning(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(unique(store.Keep, w.units(10)))
	w.taken(task.ID)
	w.pass(11)
	w.taken(store.ID{})
	w.in(task.ID, store.Running)
}

func uniqueRecord(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(unique(store.Keep, -1))
	k.done(task)
	w.pass(50)
	w.taken(task.ID)
	w.ok("Delete", w.st.Delete(w.ctx(), task.ID))
	w.taken(store.ID{})
}

func uniqueFailed(_ *testing.T, w *world) {
	k := w.join()
	for _, d := range []time.Duration{0, -1, w.units(1000)} {
		task := k.start(unique(store.Keep, d))
		k.fail(task)
		w.taken(store.ID{})
		w.cancel(w.list(store.Filter{States: []store.State{store.Ready}})[0].ID)
	}
}

func uniqueStays(t *testing.T, w *world) {
	k := w.join()
	task := k.start(unique(store.Keep, store.KeyStays))
	k.fail(task)
	w.taken(task.ID)
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID)) // its own key does not stand in its way
	w.taken(task.ID)
	k.fail(k.take())
	w.taken(task.ID)
	w.ok("Delete", w.st.Delete(w.ctx(), task.ID))
	w.taken(store.ID{})
	done := w.spec(unique(store.Keep, store.KeyStays), func(s *store.Spec) { s.Kind = "other" })
	w.submit(done)
	w.cancel(done.ID)
	if res := w.try(w.spec(unique(store.Keep, 0), func(s *store.Spec) { s.Kind = "other" })); res.ID != done.ID {
		t.Errorf("Submit = %+v, want the key held by the cancelled task %v", res, done.ID)
	}
}

func uniqueInOne(t *testing.T, w *world) {
	specs := w.specs(3, unique(store.Keep, 0))
	res := w.submit(specs...)
	for i, r := range res {
		if r.ID != specs[0].ID || r.Existed != (i > 0) {
			t.Errorf("item %d = %+v, want the first to stand", i, r)
		}
	}
}

// The key moved on when its time was over: the ending of the first must not free the key of the second.
func uniqueOldHolder(_ *testing.T, w *world) {
	k := w.join()
	old := k.start(unique(store.Keep, w.units(5)))
	w.pass(6)
	second := w.put(unique(store.Keep, 0))
	w.taken(second)
	k.fail(old)
	w.taken(second)
	w.ok("Delete", w.st.Delete(w.ctx(), old.ID))
	w.taken(second)
	w.cancel(second)
	w.taken(store.ID{})
}

func uniqueForGone(_ *testing.T, w *world) {
	k := w.join()
	k.done(k.start(unique(store.Keep, w.units(1000)), retain(0)))
	w.Pass(w.timing.Horizon + w.u)
	w.prune()
	w.taken(store.ID{})
}
