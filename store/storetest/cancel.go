package storetest

import (
	"slices"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func cancelTests() []test {
	return []test{
		{"a waiting task ends at once, in every waiting state", cancelWaiting},
		{"a running task is asked, and goes on", cancelRunning},
		{"the reason is the one that was given", cancelReason},
		{"a terminal task is left as it is, and is no error", cancelTerminal},
		{"an unknown task is not found", cancelUnknown},
		{"done and fail of the owner win over a request", cancelLoses},
		{"a request turns every other outcome into an ending", cancelTurns},
		{"a turned outcome submits neither follow-ups nor groups", cancelTurnedFollow},
		{"a turned outcome repeated is told Repeated", cancelTurnedRepeat},
		{"a request outlives the crash of the owner", cancelRecover},
		{"Beat tells the owner, and nobody else", cancelBeat},
		{"a cancel repeated has no effect", cancelTwice},
	}
}

// waiting makes one task in each state in which a task waits.
func waiting(w *world, k *worker, edits ...edit) map[string]store.ID {
	park := k.start(edits...)
	k.park(park)
	hold := k.start(edits...)
	k.end(hold, store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	member := w.spec(edits...)
	w.group(store.NewGroup{}, member)
	return map[string]store.ID{
		"parked": park.ID, "held": hold.ID, "held by its group": member.ID,
		"scheduled": w.put(append(edits, w.delay(9))...), "ready": w.put(edits...),
	}
}

func cancelWaiting(t *testing.T, w *world) {
	k := w.join()
	for state, id := range waiting(w, k) {
		if got := w.cancel(id); got != store.Cancelled {
			t.Errorf("Cancel of a %s task = %q, want cancelled", state, got)
		}
		if got := w.reason(id, store.Cancelled, store.ReasonCancelled); !w.near(got.EndedAt, w.now()) {
			t.Errorf("EndedAt = %v, want now", got.EndedAt)
		}
	}
	w.pass(20)
	w.promote()
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
}

func cancelRunning(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	if got := w.cancel(task.ID); got != store.Running {
		t.Errorf("Cancel = %q, want running", got)
	}
	got := w.in(task.ID, store.Running)
	if got.Asked != store.ReasonCancelled || got.Told || got.Wakes != task.Wakes+1 {
		t.Errorf("asked %q, told %v, %d wakes, want asked, untold, one more wake", got.Asked, got.Told, got.Wakes)
	}
	held, err := w.st.Holds(w.ctx(), k.id)
	w.ok("Holds", err)
	if len(held) != 1 || held[0].Asked != store.ReasonCancelled || held[0].Kind != kind || held[0].Fence != task.Fence() {
		t.Errorf("Holds = %+v, want the task with what was asked", held)
	}
}

func cancelReason(_ *testing.T, w *world) {
	k := w.join()
	id := w.put()
	_, err := w.st.Cancel(w.ctx(), id, "not needed")
	w.ok("Cancel", err)
	w.reason(id, store.Cancelled, "not needed")
	task := k.start()
	_, err = w.st.Cancel(w.ctx(), task.ID, "too slow")
	w.ok("Cancel", err)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.reason(task.ID, store.Cancelled, "too slow")
}

func cancelTerminal(t *testing.T, w *world) {
	k := w.join()
	for out, want := range map[store.OutcomeKind]store.State{
		store.OutcomeDone: store.Done, store.OutcomeFail: store.Failed, store.OutcomeCancel: store.Cancelled,
	} {
		task := k.start()
		k.end(task, store.Outcome{Kind: out})
		before := w.get(task.ID)
		if got := w.cancel(task.ID); got != want {
			t.Errorf("Cancel = %q, want %q", got, want)
		}
		w.same(before)
	}
}

func cancelUnknown(_ *testing.T, w *world) {
	_, err := w.st.Cancel(w.ctx(), w.id(), "")
	w.refused("Cancel", err, store.ErrNotFound)
}

func cancelLoses(_ *testing.T, w *world) {
	k := w.join()
	for out, want := range map[store.OutcomeKind]store.State{store.OutcomeDone: store.Done, store.OutcomeFail: store.Failed} {
		task := k.start()
		w.cancel(task.ID)
		k.end(task, store.Outcome{Kind: out, Result: []byte("r")})
		if got := w.in(task.ID, want); string(got.Result) != "r" {
			w.t.Errorf("result = %q, want the owner's", got.Result)
		}
	}
}

// turning are the outcomes that take a task out of running without ending it.
func (w *world) turning() []store.Outcome {
	return []store.Outcome{
		{Kind: store.OutcomeRetry, Delay: w.units(5)},
		{Kind: store.OutcomeRetry},
		{Kind: store.OutcomeSnooze, Delay: w.units(5)},
		{Kind: store.OutcomePark},
		{Kind: store.OutcomeRelease},
		{Kind: store.OutcomeHold, Reason: "look"},
	}
}

func cancelTurns(t *testing.T, w *world) {
	k := w.join()
	for _, out := range w.turning() {
		task := k.start()
		w.cancel(task.ID)
		if got := k.end(task, out); got != store.Cancelled {
			t.Errorf("Complete with %s = %q, want cancelled", out.Kind, got)
		}
		w.reason(task.ID, store.Cancelled, store.ReasonCancelled)
	}
}

func cancelTurnedFollow(t *testing.T, w *world) {
	k := w.join()
	for _, out := range w.turning() {
		task := k.start()
		w.cancel(task.ID)
		g := store.NewGroup{ID: w.id(), Seal: true}
		out.Groups = []store.NewGroup{g}
		out.Follow = []store.Spec{w.spec(), w.spec(func(s *store.Spec) { s.Group = g.ID })}
		k.end(task, out)
		if w.exists(out.Follow[0].ID) || w.exists(out.Follow[1].ID) {
			t.Errorf("a follow-up of %s was submitted, though it became an ending", out.Kind)
		}
		_, err := w.st.Group(w.ctx(), g.ID)
		w.refused("Group", err, store.ErrNotFound)
	}
}

func cancelTurnedRepeat(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.cancel(task.ID)
	out := store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(5)}
	k.end(task, out)
	if res := k.try(task.Fence(), out); res.Err != nil || !res.Repeated || res.State != store.Cancelled {
		t.Errorf("Complete again = %+v, want it told as repeated, cancelled", res)
	}
}

func cancelRecover(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	w.cancel(task.ID)
	k.die(by)
	w.reason(task.ID, store.Cancelled, store.ReasonCancelled)
}

func cancelBeat(t *testing.T, w *world) {
	k, other := w.join(), w.join()
	task := k.start()
	k.start()
	other.start()
	w.cancel(task.ID)
	want := store.HeldTask{Fence: task.Fence(), Kind: kind, Asked: store.ReasonCancelled}
	if got := k.beat().Asked; !slices.Equal(got, []store.HeldTask{want}) {
		t.Errorf("Beat = %v asked, want %v", got, want)
	}
	if got := other.beat().Asked; len(got) != 0 {
		t.Errorf("Beat of another = %v asked, want none", got)
	}
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	if got := k.beat().Asked; len(got) != 0 {
		t.Errorf("Beat after the end = %v asked, want none", got)
	}
}

func cancelTwice(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	w.cancel(task.ID)
	before := w.get(task.ID)
	w.cancel(task.ID)
	w.same(before)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.cancel(task.ID)
	w.reason(task.ID, store.Cancelled, store.ReasonCancelled)
	if got := w.list(store.Filter{Kinds: []string{"after"}}); len(got) != 1 {
		w.t.Errorf("OnEnd came %d times, want once", len(got))
	}
}
