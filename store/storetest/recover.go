package storetest

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func recoverTests() []test {
	return []test{
		{"the task of a dead worker is ready again", recoverPutsBack},
		{"what it did is told", recoverTells},
		{"each task is put back once", recoverOnce},
		{"a claim whose answer was lost is recovered", recoverLostClaim},
		{"it works in chunks", recoverChunks},
		{"the gate keeps it to one pass per RecoverEvery", recoverGate},
		{"the gate lets an older session pass", recoverGateWitness},
		{"the record of the dead goes when nothing runs under it", recoverBuries},
		{"the record of the dead stays while something runs under it", recoverKeeps},
		{"tasks of the living are left alone", recoverLiving},
		{"a corrupt record ends and stops nobody", recoverCorrupt},
		{"after 30 days with all workers down one returns and all goes on", recoverLongOutage},
		{"a task stuck past its deadline is taken from the living", recoverStuck},
		{"stuck tasks of several workers come in chunks", recoverStuckChunks},
		{"a stuck task without attempts fails", recoverStuckSpent},
		{"a stuck task that ends itself is held when no attempt is left", recoverStuckOwned},
		{"a task within the grace is not stuck", recoverNotStuck},
		{"with CrashSpends a crash is a failed attempt and waits as one", recoverSpends},
		{"a wrong clock of the caller has no effect", recoverCallersClock},
	}
}

// FT-02
func recoverPutsBack(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	w.in(task.ID, store.Running)
	k.die(by)
	got := w.in(task.ID, store.Ready)
	if got.Worker != "" || !got.Nonce.IsZero() || got.Attempts != 0 || got.Epoch != task.Epoch {
		t.Errorf("Get = %+v, want nobody's, no attempt spent", got)
	}
	again := by.take()
	if again.ID != task.ID || again.Epoch != task.Epoch+1 {
		t.Errorf("Claim = %v epoch %d, want %v epoch %d", again.ID, again.Epoch, task.ID, task.Epoch+1)
	}
	by.done(again)
}

func recoverTells(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.crash()
	var res store.RecoverResult
	for range 4 * deadAfter {
		w.beat()
		if res = by.recover(); declared(res, k) {
			break
		}
		w.pass(1)
	}
	want := store.Recovered{ID: task.ID, Kind: kind, Queue: queue, Worker: k.id, Death: w.death(), Crash: true, State: store.Ready}
	if len(res.Tasks) != 1 || res.Tasks[0] != want {
		t.Errorf("Recover = %+v, want %+v", res.Tasks, want)
	}
	if len(res.Dead) != 1 || res.Dead[0].Death != w.death() || res.Dead[0].HeldAt != 1 || !w.near(res.Dead[0].DeadAt, w.now()) {
		t.Errorf("Recover = dead %+v, want %s by %s holding 1", res.Dead, k.id, w.death())
	}
	history := w.get(task.ID).History
	if last := history[len(history)-1]; last.Kind != store.EventCrashed || last.Worker != k.id {
		t.Errorf("last event = %+v, want crashed under %s", last, k.id)
	}
}

func recoverOnce(t *testing.T, w *world) {
	k, a, b := w.join(), w.join(), w.join()
	task := k.start()
	if got := len(k.die(a)); got != 1 {
		t.Errorf("Recover put back %d tasks, want 1", got)
	}
	again := a.take()
	for range 5 {
		w.live(1)
		if got := b.recoverAll(); len(got) != 0 {
			t.Errorf("a later pass put back %v", got)
		}
	}
	if got := w.in(task.ID, store.Running); got.Fence() != again.Fence() {
		t.Errorf("fence = %+v, want %+v", got.Fence(), again.Fence())
	}
}

// FT-01
func recoverLostClaim(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	id := w.put()
	_, err := k.st.Claim(w.ctx(), k.request(1))
	w.ok("Claim", err)
	// The answer is never looked at: the process dies before any bookkeeping of its own.
	k.die(by)
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{id})
}

// FT-06
func recoverChunks(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.submit(w.specs(10)...)
	k.claim(10)
	k.crash()
	var res store.RecoverResult
	for range 4 * deadAfter {
		w.beat()
		if res = by.recoverLimit(4); declared(res, k) {
			break
		}
		w.pass(1)
	}
	if len(res.Tasks) != 4 || !res.More {
		t.Fatalf("Recover = %d tasks, more %v, want 4, true", len(res.Tasks), res.More)
	}
	if _, found := k.record(); !found || len(k.holds()) != 6 {
		t.Errorf("the dead worker holds %d, on record %v, want 6, true", len(k.holds()), found)
	}
	// Another process goes on where the first stopped.
	other := w.join()
	seen := 4
	for _, want := range []int{4, 2} {
		res = other.recoverLimit(4)
		if len(res.Tasks) != want {
			t.Errorf("Recover = %d tasks, want %d", len(res.Tasks), want)
		}
		seen += len(res.Tasks)
	}
	if seen != 10 || res.More {
		t.Errorf("passes put back %d, more %v, want 10, false", seen, res.More)
	}
}

func recoverGate(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	pass := func(k *worker, force bool) bool {
		t.Helper()
		res, err := k.st.Recover(w.ctx(), store.RecoverRequest{Worker: k.id, Force: force})
		w.ok("Recover", err)
		return res.Gated
	}
	w.pass(2)
	if pass(a, false) {
		t.Errorf("the first pass was gated")
	}
	if w.e.Virtual && !pass(b, false) {
		t.Errorf("a second pass at once was not gated")
	}
	if pass(b, true) {
		t.Errorf("a forced pass was gated")
	}
	w.Pass(w.timing.RecoverEvery + w.u)
	if pass(b, false) {
		t.Errorf("a pass after RecoverEvery was gated")
	}
}

func recoverBuries(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	k.start()
	k.die(by)
	w.live(2)
	by.recoverAll()
	if _, found := k.record(); found {
		t.Errorf("the record of a dead worker that holds nothing is still there")
	}
	if _, found := by.record(); !found {
		t.Errorf("the record of a living worker is gone")
	}
}

func recoverKeeps(t *testing.T, w *world) {
	k, by, held := w.zombie(2)
	if got, found := k.record(); !found || got.Death != store.DeathSilence || got.DeadAt.IsZero() {
		t.Errorf("record = %+v, %v, want dead by silence", got, found)
	}
	by.recoverLimit(1)
	if _, found := k.record(); !found {
		t.Errorf("the record is gone, and %d still runs under it", len(held)-1)
	}
}

// I7
func recoverLiving(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	for range 3 * deadAfter {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 || len(res.Tasks) != 0 {
			w.t.Fatalf("Recover = %+v, want nothing: all beat", res)
		}
	}
	k.done(task)
}

// FT-16
func recoverCorrupt(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	specs := w.specs(10)
	w.submit(specs...)
	k.claim(10)
	w.e.Corrupt(w.World, specs[4].ID)
	k.die(by)
	if got := len(by.claim(20)); got != 9 {
		t.Errorf("Claim took %d tasks, want the 9 that are sound", got)
	}
	w.reason(specs[4].ID, store.Failed, store.ReasonCorrupt)
}

// FT-11, I22
func recoverLongOutage(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	parked := a.start()
	a.park(parked)
	running := []store.ID{a.start().ID, b.start().ID}
	ready, due := w.put(), w.put(w.delay(50))
	a.crash()
	b.crash()
	if w.e.Virtual {
		w.Pass(30 * 24 * time.Hour)
	} else {
		w.pass(100)
	}
	w.prune()
	k := w.join()
	for range 3 * deadAfter {
		w.live(1)
		k.recoverAll()
	}
	got := map[store.ID]bool{}
	for _, task := range k.claim(9) {
		got[task.ID] = true
		k.done(task)
	}
	for _, id := range append(running, ready, due) {
		if !got[id] {
			t.Errorf("%v did not come back", id)
		}
	}
	w.send(parked.ID, "wake")
	k.done(k.take())
	w.in(parked.ID, store.Done)
}

// FT-14
func recoverStuck(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(func(s *store.Spec) {
		s.Timeout, s.Retry = w.units(5), store.Retry{Max: 3, Base: w.units(20), Exact: true}
	})
	w.live(5 + 10 + 2)
	tasks := by.recoverAll()
	if len(tasks) != 1 || tasks[0].ID != task.ID || tasks[0].Death != "" || tasks[0].Crash || tasks[0].Worker != k.id {
		t.Fatalf("Recover = %+v, want the stuck task of a living worker", tasks)
	}
	got := w.in(task.ID, store.Scheduled)
	if got.Attempts != 1 || got.Crashes != 0 || got.Error == nil || got.Error.Type != store.ReasonStuck {
		t.Errorf("Get = %d attempts, %d crashes, error %+v, want 1, 0, stuck", got.Attempts, got.Crashes, got.Error)
	}
	if want := w.now().Add(w.units(20)); !w.near(got.DueAt, want) {
		t.Errorf("DueAt = %v, want %v", got.DueAt, want)
	}
	w.refused("Complete", k.try(task.Fence(), store.Outcome{Kind: store.OutcomeDone}).Err, store.ErrFenced)
	k.beat()
}

func recoverStuckChunks(t *testing.T, w *world) {
	by := w.join()
	stuck := map[store.ID]bool{}
	for range 3 {
		k := w.join()
		for range 2 {
			stuck[k.start(func(s *store.Spec) { s.Timeout = w.units(5) }).ID] = true
		}
		k.start(func(s *store.Spec) { s.Timeout = w.units(500) })
		k.start() // it has no deadline
	}
	w.live(5 + 10 + 2)
	for i, want := range []int{4, 2, 0} {
		res := by.recoverLimit(4)
		if len(res.Tasks) != want || res.More != (i == 0) {
			t.Errorf("Recover = %d tasks, more %v, want %d, %v", len(res.Tasks), res.More, want, i == 0)
		}
		for _, r := range res.Tasks {
			if !stuck[r.ID] {
				t.Errorf("Recover took %v, which is not stuck, or twice", r.ID)
			}
			delete(stuck, r.ID)
		}
	}
}

func recoverStuckSpent(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(func(s *store.Spec) { s.Timeout, s.Retry = w.units(5), store.Retry{Max: 1} })
	w.live(5 + 10 + 2)
	by.recoverAll()
	got := w.reason(task.ID, store.Failed, store.ReasonAttempts)
	if got.Attempts != 1 || got.Error == nil || got.Error.Type != store.ReasonStuck {
		t.Errorf("Get = %d attempts, error %+v, want 1, stuck", got.Attempts, got.Error)
	}
}

func recoverStuckOwned(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(func(s *store.Spec) { s.Timeout, s.Retry, s.Owned = w.units(5), store.Retry{Max: 1}, true })
	w.live(5 + 10 + 2)
	by.recoverAll()
	if got := w.reason(task.ID, store.Held, store.ReasonAttempts); got.Attempts != 1 {
		t.Errorf("Get = %d attempts, want 1", got.Attempts)
	}
	w.ok("Free", w.st.Free(w.ctx(), task.ID))
	w.in(task.ID, store.Ready)
}

func recoverNotStuck(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(func(s *store.Spec) { s.Timeout = w.units(5) })
	for range 5 + 8 {
		w.live(1)
		by.recoverAll()
		w.in(task.ID, store.Running)
	}
	k.done(task)
}

func recoverSpends(t *testing.T, w *world) {
	by := w.join()
	id := w.put(func(s *store.Spec) { s.Retry = store.Retry{Max: 2, Base: w.units(300), Exact: true, CrashSpends: true} })
	k := w.join()
	k.take()
	k.die(by)
	got := w.in(id, store.Scheduled)
	if got.Attempts != 1 || got.Crashes != 1 || !w.near(got.DueAt, got.UpdatedAt.Add(w.units(300))) {
		t.Errorf("Get = %d attempts, %d crashes, due %v, want 1, 1, in %v", got.Attempts, got.Crashes, got.DueAt, w.units(300))
	}
	w.live(301)
	k = w.join()
	k.take()
	k.die(by)
	w.reason(id, store.Failed, store.ReasonAttempts)
}

// FT-13: nothing in a request of Claim, Beat or Recover carries a time, so what a worker's clock says cannot matter. What can
// is the id that it makes: an id from a clock that is wrong by days is an id like any other.
func recoverCallersClock(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.base = w.base.Add(48 * time.Hour)
	task := k.start()
	w.in(task.ID, store.Running)
	w.base = w.now().Add(-48 * time.Hour)
	past := by.start()
	for range 2 * deadAfter {
		w.live(1)
		by.recoverAll()
	}
	k.done(task)
	by.done(past)
}

// A worker whose session is young cannot show that another's is gone; its passes must not keep the one out that can.
func recoverGateWitness(t *testing.T, w *world) {
	w.needSession(t)
	old := w.join()
	w.live(2)
	young := w.join()
	w.pass(2)
	pass := func(k *worker) bool {
		t.Helper()
		res, err := k.st.Recover(w.ctx(), store.RecoverRequest{Worker: k.id})
		w.ok("Recover", err)
		return res.Gated
	}
	if pass(young) {
		t.Errorf("the first pass was gated")
	}
	if pass(old) {
		t.Errorf("the pass of an older session was gated by that of a younger one")
	}
	if w.e.Virtual && !pass(young) {
		t.Errorf("the pass of a younger session was not gated by that of an older one")
	}
}
