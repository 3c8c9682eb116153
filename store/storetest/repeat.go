package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

// repeatTests repeat calls whose answer was lost. I2
func repeatTests() []test {
	return []test{
		{"Submit", repeatSubmit},
		{"Submit with groups", repeatSubmitGroups},
		{"Submit with Claim", repeatSubmitClaim},
		{"Submit of a lone task with Claim", repeatSubmitLone},
		{"Claim", repeatClaim},
		{"Complete, with every outcome", repeatComplete},
		{"Complete with another kind is fenced", repeatOtherKind},
		{"Complete settled before the last is fenced", repeatOldFence},
		{"Complete after Recover took the task is fenced", repeatAfterRecover},
		{"Complete with Claim", repeatCompleteClaim},
		{"Save", repeatSave},
		{"Stage is refused", repeatStage},
		{"Cancel", repeatCancel},
		{"Retry is refused", repeatRetry},
		{"Leave", repeatLeave},
		{"Recover", repeatRecover},
		{"Send", repeatSend},
		{"Seal", repeatSeal},
		{"Release", repeatRelease},
		{"Abort", repeatAbort},
		{"Tick is a change", repeatTick},
		{"Join is a duplicate", repeatJoin},
		{"PutLimit, Pause, Resume, PutWeight and DeleteSchedule", repeatSettings},
	}
}

func repeatSubmit(t *testing.T, w *world) {
	specs := w.specs(3, func(s *store.Spec) { s.Fingerprint = "f" })
	specs[1].Unique = store.Unique{Key: "key", OnConflict: store.Reject}
	first := w.submit(specs...)
	second := w.submit(specs...)
	for i := range specs {
		want := first[i]
		want.Existed = true
		if second[i] != want {
			t.Errorf("item %d = %+v, want %+v", i, second[i], want)
		}
	}
	if got := w.list(store.Filter{}); len(got) != 3 {
		t.Errorf("List = %d tasks, want 3", len(got))
	}
}

func repeatSubmitGroups(_ *testing.T, w *world) {
	g := store.NewGroup{ID: w.id(), Seal: true, OnClose: &store.Spec{Kind: "close", Queue: queue}}
	members := w.specs(2, func(s *store.Spec) { s.Group = g.ID })
	for range 3 {
		// The group is open when the repeat comes: a member that is known must not be refused.
		w.group(g, members...)
	}
	w.counts(g.ID, 2, 0, 0, 0)
	w.groupIn(g.ID, store.GroupOpen)
}

func repeatSubmitLone(t *testing.T, w *world) {
	k := w.join()
	req := store.SubmitRequest{Specs: w.specs(1), Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}}
	first, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(first.Claimed), specIDs(req.Specs))
	// Late, as it was sent at first: nothing is taken a second time.
	late, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit, late", err)
	w.sameIDs("Claimed, late", ids(late.Claimed), nil)
	req.Claim.Repeat = true
	second, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit again", err)
	w.ok("ClaimErr", second.ClaimErr)
	w.sameIDs("Claimed again", ids(second.Claimed), specIDs(req.Specs))
	if got := second.Claimed[0].Fence(); got != first.Claimed[0].Fence() || !second.Specs[0].Existed {
		t.Errorf("again: fence %+v, existed %v; want %+v", got, second.Specs[0].Existed, first.Claimed[0].Fence())
	}
	k.done(second.Claimed[0])
}

func repeatSubmitClaim(t *testing.T, w *world) {
	k := w.join()
	req := store.SubmitRequest{Specs: w.specs(2), Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}}
	first, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit", err)
	k.done(first.Claimed[0])
	req.Claim.Repeat = true
	second, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit again", err)
	w.ok("ClaimErr", second.ClaimErr)
	w.sameIDs("Claimed", ids(second.Claimed), []store.ID{req.Specs[1].ID})
	if got := second.Claimed[0].Fence(); got != first.Claimed[1].Fence() {
		t.Errorf("fence = %+v, want %+v", got, first.Claimed[1].Fence())
	}
	if !second.Specs[0].Existed || second.Specs[0].State != store.Done {
		t.Errorf("item 0 = %+v, want it told as done", second.Specs[0])
	}
}

func repeatClaim(_ *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(5)...)
	req := k.request(2)
	first := k.ask(req).Tasks
	req.Repeat = true
	for range 2 {
		w.sameIDs("Claim again", ids(k.ask(req).Tasks), ids(first))
	}
	w.sameIDs("Holds", k.holds(), ids(first))
}

func repeatComplete(t *testing.T, w *world) {
	k := w.join()
	for _, kind := range []store.OutcomeKind{
		store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark,
		store.OutcomeRelease, store.OutcomeHold,
	} {
		task := k.start(func(s *store.Spec) { s.Kind = "of." + string(kind); s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
		out := store.Outcome{Kind: kind, Delay: w.units(9), Reason: "look", Follow: []store.Spec{w.spec()}, Result: []byte("r")}
		state := k.end(task, out)
		before, count := w.get(task.ID), len(w.list(store.Filter{}))
		w.pass(1)
		for range 2 {
			if res := k.try(task.Fence(), out); res.Err != nil || !res.Repeated || res.State != state {
				t.Errorf("Complete with %s again = %+v, want it told as repeated, %q", kind, res, state)
			}
		}
		w.same(before)
		if got := len(w.list(store.Filter{})); got != count {
			t.Errorf("Complete with %s again made %d tasks of %d", kind, got, count)
		}
	}
}

func repeatOtherKind(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(5)})
	before := w.get(task.ID)
	w.refused("Complete", k.try(task.Fence(), store.Outcome{Kind: store.OutcomeDone}).Err, store.ErrFenced)
	w.same(before)
}

func repeatOldFence(_ *testing.T, w *world) {
	k := w.join()
	first := k.start()
	out := store.Outcome{Kind: store.OutcomeRetry}
	k.end(first, out)
	second := k.take()
	// Settled once and claimed again: the repeat is still known for what it is.
	if res := k.try(first.Fence(), out); res.Err != nil || !res.Repeated {
		w.t.Errorf("Complete again = %+v, want it told as repeated", res)
	}
	w.in(first.ID, store.Running)
	k.end(second, out)
	before := w.get(first.ID)
	w.refused("Complete under the fence before the last", k.try(first.Fence(), out).Err, store.ErrFenced)
	w.same(before)
}

func repeatAfterRecover(_ *testing.T, w *world) {
	k, by, held := w.zombie(1)
	by.recoverAll()
	before := w.get(held[0].ID)
	for _, kind := range []store.OutcomeKind{store.OutcomeRelease, store.OutcomeDone, store.OutcomeRetry} {
		w.refused("Complete", k.try(held[0].Fence(), store.Outcome{Kind: kind}).Err, store.ErrFenced)
	}
	w.same(before)
}

func repeatCompleteClaim(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.submit(w.specs(2)...)
	claim := k.request(1)
	req := store.CompleteRequest{Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}}, Claim: &claim}
	first, err := k.st.Complete(w.ctx(), req)
	w.ok("Complete", err)
	claim.Repeat = true
	second, err := k.st.Complete(w.ctx(), req)
	w.ok("Complete again", err)
	if item := second.Items[0]; item.Err != nil || !item.Repeated || item.State != store.Done {
		t.Errorf("item = %+v, want it told as repeated", item)
	}
	w.sameIDs("Claim again", ids(second.Claim.Tasks), ids(first.Claim.Tasks))
	w.sameIDs("Holds", k.holds(), ids(first.Claim.Tasks))
}

func repeatSave(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	m := w.send(task.ID, "m")
	for range 2 {
		_, err := k.st.Save(w.ctx(), store.SaveRequest{
			Fence: task.Fence(), Entries: map[string][]byte{"a": []byte("1"), "b": nil}, Consume: []store.ID{m},
		})
		w.ok("Save", err)
	}
	if got := w.load(task.ID); len(got) != 1 || string(got["a"]) != "1" {
		t.Errorf("Load = %q, want a alone", got)
	}
	w.sameIDs("Messages", w.messages(task.ID), []store.ID{})
}

func repeatStage(_ *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	w.refused("Stage again", w.stager().Stage(w.ctx(), store.Completion{Fence: task.Fence(), Outcome: out}), store.ErrState)
	k.end(task, out)
	if res := k.try(task.Fence(), out); res.Err != nil || !res.Repeated {
		w.t.Errorf("Complete again = %+v, want it told as repeated", res)
	}
	w.settled(task.ID, out)
}

func repeatCancel(t *testing.T, w *world) {
	id := w.put(func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	w.cancel(id)
	before := w.get(id)
	if got := w.cancel(id); got != store.Cancelled {
		t.Errorf("Cancel again = %q, want cancelled", got)
	}
	w.same(before)
}

func repeatRetry(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.fail(task)
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	before := w.get(task.ID)
	w.refused("Retry again", w.st.Retry(w.ctx(), task.ID), store.ErrState)
	w.same(before)
}

func repeatLeave(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.leave()
	before := w.get(task.ID)
	k.leave()
	w.same(before)
}

func repeatRecover(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.die(by)
	before := w.get(task.ID)
	for range 3 {
		if res := by.recover(); len(res.Tasks) != 0 || len(res.Dead) != 0 {
			t.Errorf("Recover again = %+v, want nothing", res)
		}
	}
	w.same(before)
}

func repeatSend(t *testing.T, w *world) {
	id := w.put()
	m := store.Message{ID: w.id(), Task: id, Name: "n"}
	for range 3 {
		w.ok("Send", w.st.Send(w.ctx(), m))
	}
	w.sameIDs("Messages", w.messages(id), []store.ID{m.ID})
	if got := w.get(id).Wakes; got != 1 {
		t.Errorf("wakes = %d, want 1", got)
	}
}

func repeatSeal(t *testing.T, w *world) {
	g := w.group(store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}}, w.spec())
	first := w.seal(g)
	if again := w.seal(g); again.Version != first.Version || again.State != first.State {
		t.Errorf("Seal again = %+v, want %+v", again, first)
	}
}

func repeatRelease(t *testing.T, w *world) {
	g := w.group(store.NewGroup{Hold: true, Seal: true}, w.spec())
	first := w.release(g)
	if again := w.release(g); again.Version != first.Version || again.State != store.GroupOpen {
		t.Errorf("Release again = %+v, want %+v", again, first)
	}
}

func repeatAbort(t *testing.T, w *world) {
	g, _ := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	first := w.abort(g)
	if again := w.abort(g); again.Version != first.Version || again.Aborting != first.Aborting {
		t.Errorf("Abort again = %+v, want %+v", again, first)
	}
	w.promote()
	w.abort(g)
	w.counts(g, 2, 0, 0, 2)
	if got := w.list(store.Filter{Kinds: []string{"close"}}); len(got) != 1 {
		t.Errorf("the closing task came %d times, want once", len(got))
	}
}

func repeatTick(t *testing.T, w *world) {
	s := w.schedule("s")
	tick := w.tickTime(0)
	first := w.tick(s, tick)
	_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: tick, Next: tick})
	w.refused("Tick again", err, store.ErrChanged)
	// The driver reads, and finds that it was its own.
	if got := w.readSchedule("s"); !got.LastTick.Equal(tick) || got.LastTask != first.Task {
		t.Errorf("schedule = last tick %v by %v, want %v by %v", got.LastTick, got.LastTask, tick, first.Task)
	}
}

func repeatJoin(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	err := k.st.Join(w.ctx(), store.JoinRequest{ID: k.id, Beat: w.u, DeadAfter: w.units(deadAfter)})
	w.refused("Join again", err, store.ErrDuplicate)
	k.beat()
	if got := k.holds(); len(got) != 1 || got[0] != task.ID {
		t.Errorf("Holds = %v, want %v", got, task.ID)
	}
}

func repeatSettings(t *testing.T, w *world) {
	w.schedule("s")
	for range 2 {
		w.limit(store.Limit{Key: "l", Running: 1})
		w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "l", 3))
		w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: "p"}, 0, "r"))
		w.ok("DeleteSchedule", w.st.DeleteSchedule(w.ctx(), "s"))
	}
	pauses, err := w.st.PauseList(w.ctx())
	w.ok("PauseList", err)
	limits, err := w.st.LimitList(w.ctx())
	w.ok("LimitList", err)
	if len(pauses) != 1 || len(limits) != 1 {
		t.Errorf("%d pauses, %d limits, want 1 and 1", len(pauses), len(limits))
	}
	for range 2 {
		w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: "p"}))
	}
}
