package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func ownedTests() []test {
	return []test{
		{"cancel of a waiting one makes it ready with the reason", ownedCancelWaiting},
		{"cancel of a running one turns its next outcome into ready", ownedCancelRunning},
		{"an outcome turned into ready writes all of it", ownedTurnedWrites},
		{"once told, its outcomes are its own", ownedTold},
		{"start-by passed makes it ready with the reason", ownedExpired},
		{"abort of its group makes it ready with the reason", ownedAborted},
		{"a crash of its owner leaves the request untold", ownedCrash},
		{"dying alone as a suspect holds it until Free", ownedCrashed},
		{"dying in company as a suspect it is tried alone", ownedCompany},
		{"its handler ends it, and OnEnd comes then", ownedEnds},
	}
}

func owned(s *store.Spec) { s.Owned = true }

func ownedCancelWaiting(t *testing.T, w *world) {
	k := w.join()
	park := k.start(owned)
	k.park(park)
	for state, id := range map[string]store.ID{"parked": park.ID, "scheduled": w.put(owned, w.delay(90)), "ready": w.put(owned)} {
		if got := w.cancel(id); got != store.Ready {
			t.Errorf("Cancel of an owned %s task = %q, want ready", state, got)
		}
		if got := w.in(id, store.Ready); got.Asked != store.ReasonCancelled || got.Told {
			t.Errorf("asked %q, told %v, want asked and untold", got.Asked, got.Told)
		}
	}
	for _, task := range k.claim(3) {
		if task.Asked != store.ReasonCancelled || !task.Told {
			t.Errorf("Claim told %q, %v, want the request", task.Asked, task.Told)
		}
		k.end(task, store.Outcome{Kind: store.OutcomeCancel})
	}
}

func ownedCancelRunning(t *testing.T, w *world) {
	k := w.join()
	for _, out := range w.turning() {
		task := k.start(owned)
		w.cancel(task.ID)
		if got := k.end(task, out); got != store.Ready {
			t.Errorf("Complete with %s = %q, want ready", out.Kind, got)
		}
		again := k.take()
		if again.ID != task.ID || again.Asked != store.ReasonCancelled {
			t.Errorf("Claim after %s = %v asked %q, want the same task, asked", out.Kind, again.ID, again.Asked)
		}
		k.done(again)
	}
}

func ownedTurnedWrites(t *testing.T, w *world) {
	k := w.join()
	task := k.start(owned)
	w.cancel(task.ID)
	s := w.spec(func(s *store.Spec) { s.Kind = "other" })
	k.end(task, store.Outcome{Kind: store.OutcomePark, Follow: []store.Spec{s}, Entries: map[string][]byte{"e": []byte("1")}})
	w.in(s.ID, store.Ready)
	if got := w.load(task.ID); string(got["e"]) != "1" {
		t.Errorf("Load = %q, want the entry of the outcome", got)
	}
}

func ownedTold(t *testing.T, w *world) {
	k := w.join()
	for _, c := range []struct {
		out  store.Outcome
		want store.State
	}{
		{store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(500)}, store.Scheduled},
		{store.Outcome{Kind: store.OutcomeSnooze, Delay: w.units(500)}, store.Scheduled},
		{store.Outcome{Kind: store.OutcomeHold, Reason: "look"}, store.Held},
	} {
		id := w.put(owned)
		w.cancel(id)
		task := k.take()
		if got := k.end(task, c.out); got != c.want {
			t.Errorf("Complete with %s = %q, want %q", c.out.Kind, got, c.want)
		}
	}
	id := w.put(owned)
	w.cancel(id)
	task := k.take()
	if got := k.beat().Asked; len(got) != 0 {
		t.Errorf("Beat = %v asked, want none: the claim told it", got)
	}
	if got := k.park(task); got != store.Parked {
		t.Errorf("Complete with park = %q, want parked: it has seen the wake", got)
	}
}

func ownedExpired(t *testing.T, w *world) {
	k := w.join()
	id := w.put(owned, w.delay(50), func(s *store.Spec) { s.StartBy = w.units(5) })
	w.pass(6)
	w.promote()
	if got := w.in(id, store.Ready); got.Asked != store.ReasonExpired {
		t.Errorf("asked %q, want expired", got.Asked)
	}
	task := k.take()
	w.pass(6)
	w.promote()
	w.in(id, store.Running)
	k.end(task, store.Outcome{Kind: store.OutcomeCancel, Reason: task.Asked})
	w.reason(id, store.Cancelled, store.ReasonExpired)
}

func ownedAborted(t *testing.T, w *world) {
	k := w.join()
	member := w.spec(owned)
	g := w.group(store.NewGroup{Seal: true}, member)
	w.promote()
	_, err := w.st.Abort(w.ctx(), g, "stop")
	w.ok("Abort", err)
	w.promote()
	task := k.take()
	if task.ID != member.ID || task.Asked == "" || !task.Told {
		t.Errorf("Claim = %v asked %q, want the member, asked", task.ID, task.Asked)
	}
	if got := w.readGroup(g); got.State == store.GroupClosed {
		t.Errorf("the group closed before its owned member ended")
	}
	k.end(task, store.Outcome{Kind: store.OutcomeCancel})
	if got := w.readGroup(g); got.State != store.GroupClosed || got.Cancelled != 1 {
		t.Errorf("Group = %+v, want closed with one cancelled", got)
	}
}

func ownedCrash(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start(owned)
	w.cancel(task.ID)
	k.die(by)
	if got := w.in(task.ID, store.Ready); got.Asked != store.ReasonCancelled {
		t.Errorf("asked %q, want the request kept", got.Asked)
	}
	if again := by.take(); !again.Told {
		t.Errorf("Claim did not tell the request")
	}
}

func ownedCrashed(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by, owned)
	k := w.join()
	w.sameIDs("Claim of suspects", ids(k.takeSuspects(1)), []store.ID{id})
	k.die(by)
	w.reason(id, store.Held, store.ReasonCrashed)
	w.send(id, "wake")
	if got := w.in(id, store.Held); got.Wakes != 1 {
		t.Errorf("a held task = %d wakes, want 1", got.Wakes)
	}
	w.ok("Free", w.st.Free(w.ctx(), id))
	if got := w.in(id, store.Ready); got.Suspect || got.CrashRun != 0 {
		t.Errorf("freed: suspect %v, %d crashes, want forgotten", got.Suspect, got.CrashRun)
	}
	by.done(by.take())
}

func ownedEnds(t *testing.T, w *world) {
	k := w.join()
	task := k.start(owned, func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	w.cancel(task.ID)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	if got := w.list(store.Filter{Kinds: []string{"after"}}); len(got) != 0 {
		t.Errorf("OnEnd came before the end")
	}
	k.end(k.take(), store.Outcome{Kind: store.OutcomeFail})
	w.in(task.ID, store.Failed)
	if got := w.list(store.Filter{Kinds: []string{"after"}}); len(got) != 1 {
		t.Errorf("OnEnd came %d times, want once", len(got))
	}
}

func ownedCompany(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by, owned)
	k := w.join()
	other := k.start()
	k.takeSuspect()
	k.done(other)
	k.die(by)
	if got := w.in(id, store.Ready); !got.Solo {
		t.Errorf("Get = solo %v, want it to be tried alone", got.Solo)
	}
}
