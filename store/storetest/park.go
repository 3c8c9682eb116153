package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func parkTests() []test {
	tests := []test{
		{"it is nobody's and holds no slot", parkNobody},
		{"until its time", parkUntil},
		{"a wake comes before its time", parkWakeFirst},
		{"without a time it waits for ever", parkForEver},
		{"one wake is one start", parkOneStart},
		{"a wake seen with the claim does not wake again", parkSeen},
		{"many wakes before one park are one start", parkManyWakes},
		{"a wake of a scheduled task counts, and starts nothing early", parkScheduled},
		{"a wake of a held task counts, and it stays held", parkHeld},
		{"waking a terminal task has no effect", parkTerminal},
	}
	for name, wake := range wakes() {
		tests = append(tests,
			test{name + " before the park makes it ready at once", func(t *testing.T, w *world) { parkWake(t, w, wake, true) }},
			test{name + " after the park makes it ready", func(t *testing.T, w *world) { parkWake(t, w, wake, false) }},
		)
	}
	return tests
}

// wakes are the ways to wake a task: each prepares and returns the wake itself.
func wakes() map[string]func(w *world, k *worker, id store.ID) func() {
	return map[string]func(w *world, k *worker, id store.ID) func(){
		"a message": func(w *world, _ *worker, id store.ID) func() {
			return func() { w.send(id, "m") }
		},
		"the end of a child": func(w *world, k *worker, id store.ID) func() {
			child := k.start(func(s *store.Spec) { s.Kind, s.Parent = "child", id })
			return func() { k.done(child) }
		},
		"the cancelled child": func(w *world, _ *worker, id store.ID) func() {
			child := w.put(func(s *store.Spec) { s.Kind, s.Parent = "child", id })
			return func() { w.cancel(child) }
		},
		"the closing of a group": func(w *world, k *worker, id store.ID) func() {
			w.opened(1, store.NewGroup{Parent: id}, func(s *store.Spec) { s.Kind = "member" })
			member := k.take("member")
			return func() { k.done(member) }
		},
		"the seal of an empty group": func(w *world, _ *worker, id store.ID) func() {
			g := w.group(store.NewGroup{Parent: id})
			return func() { w.seal(g) }
		},
		"a cancel of an owned task": func(w *world, _ *worker, id store.ID) func() {
			return func() { w.cancel(id) }
		},
	}
}

// FT-22
func parkWake(t *testing.T, w *world, prepare func(w *world, k *worker, id store.ID) func(), before bool) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Kind, s.Owned = "parent", true })
	wake := prepare(w, k, task.ID)
	if before {
		wake()
		if got := k.park(task); got != store.Ready {
			t.Errorf("Complete with park = %q, want ready: a wake came since the claim", got)
		}
	} else {
		if got := k.park(task); got != store.Parked {
			t.Errorf("Complete with park = %q, want parked", got)
		}
		w.sameIDs("Claim", ids(k.claim(9, "parent")), []store.ID{})
		wake()
	}
	if got := w.in(task.ID, store.Ready); got.Wakes != task.Wakes+1 {
		t.Errorf("wakes = %d, want %d", got.Wakes, task.Wakes+1)
	}
	if again := k.take("parent"); again.ID != task.ID || again.Wakes != task.Wakes+1 {
		t.Errorf("Claim = %v with %d wakes, want the parent with %d", again.ID, again.Wakes, task.Wakes+1)
	}
}

func parkNobody(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "one", Running: 1})
	task := k.start(func(s *store.Spec) { s.Limit = "one" })
	k.park(task)
	if got := w.in(task.ID, store.Parked); got.Worker != "" || !got.Nonce.IsZero() || !got.DueAt.IsZero() {
		t.Errorf("Get = %+v, want nobody's, with no time", got)
	}
	if got := w.inUse("one"); got != 0 {
		t.Errorf("InUse = %d, want 0", got)
	}
	w.sameIDs("Holds", k.holds(), []store.ID{})
}

func parkUntil(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomePark, Delay: w.units(10)})
	if got, want := w.in(task.ID, store.Parked).DueAt, w.now().Add(w.units(10)); !w.near(got, want) {
		t.Errorf("DueAt = %v, want %v", got, want)
	}
	w.pass(8)
	w.promote()
	w.in(task.ID, store.Parked)
	w.pass(3)
	if res := w.promote(); res.Due != 1 {
		t.Errorf("Promote = %d due, want 1", res.Due)
	}
	w.in(task.ID, store.Ready)
}

func parkWakeFirst(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomePark, Delay: w.units(10)})
	w.send(task.ID, "m")
	again := k.take()
	k.park(again)
	// The time of the first park must not start it again.
	w.pass(20)
	if res := w.promote(); res.Due != 0 {
		t.Errorf("Promote = %d due, want 0", res.Due)
	}
	w.in(task.ID, store.Parked)
}

func parkForEver(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.park(task)
	w.pass(3000)
	w.promote()
	w.prune()
	w.in(task.ID, store.Parked)
}

func parkOneStart(t *testing.T, w *world) {
	k := w.join()
	k.park(k.start())
	w.send(w.list(store.Filter{})[0].ID, "m")
	if got := len(k.claim(9)) + len(k.claim(9)); got != 1 {
		t.Errorf("claims took %d, want 1", got)
	}
}

func parkSeen(t *testing.T, w *world) {
	k := w.join()
	id := w.put()
	w.send(id, "m")
	if got := k.park(k.take()); got != store.Parked {
		t.Errorf("Complete with park = %q, want parked: the claim told the wake", got)
	}
}

func parkManyWakes(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for range 5 {
		w.send(task.ID, "m")
	}
	k.park(task)
	again := k.take()
	if again.Wakes != 5 {
		t.Errorf("Claim told %d wakes, want 5", again.Wakes)
	}
	if got := k.park(again); got != store.Parked {
		t.Errorf("Complete with park = %q, want parked", got)
	}
}

func parkScheduled(t *testing.T, w *world) {
	id := w.put(w.delay(30))
	w.send(id, "m")
	if got := w.in(id, store.Scheduled); got.Wakes != 1 {
		t.Errorf("wakes = %d, want 1", got.Wakes)
	}
}

func parkHeld(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	w.send(task.ID, "m")
	if got := w.in(task.ID, store.Held); got.Wakes != 1 {
		t.Errorf("wakes = %d, want 1", got.Wakes)
	}
}

func parkTerminal(_ *testing.T, w *world) {
	k := w.join()
	parent := k.start(func(s *store.Spec) { s.Kind = "parent" })
	child := k.start(func(s *store.Spec) { s.Parent = parent.ID })
	g, _ := w.opened(1, store.NewGroup{Parent: parent.ID}, func(s *store.Spec) { s.Kind = "member" })
	k.done(parent)
	before := w.get(parent.ID)
	k.done(child)
	k.done(k.take("member"))
	w.groupIn(g, store.GroupClosed)
	w.same(before)
}
