package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func abortTests() []test {
	return []test{
		{"Promote ends the members that wait, in every state", abortWaiting},
		{"a claim ends the members that it meets", abortClaim},
		{"a running member is asked, and its outcome turned", abortRunning},
		{"done of a running member wins", abortDone},
		{"an unsealed group is sealed and closes", abortFilling},
		{"a held group is released and closes", abortHeld},
		{"an empty group closes at once", abortEmpty},
		{"an aborted group takes no more", abortShut},
		{"a closed group is left as it is", abortClosed},
		{"Retry of a member is refused", abortRetry},
		{"the members of a large group end in chunks", abortChunks},
		{"the claim of a worker is not lost among aborted members", abortClaimOthers},
		{"a repeated abort keeps the first reason", abortTwice},
		{"the members tell the reason", abortReason},
	}
}

func (w *world) abort(id store.ID) store.Group {
	w.t.Helper()
	g, err := w.st.Abort(w.ctx(), id, "")
	w.ok("Abort", err)
	return g
}

func abortWaiting(t *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(4, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	tasks := k.claim(3)
	k.park(tasks[0])
	k.end(tasks[1], store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	k.end(tasks[2], store.Outcome{Kind: store.OutcomeSnooze, Delay: w.units(50)})
	if got := w.abort(g); got.Aborting != store.ReasonAborted || got.State == store.GroupClosed {
		t.Errorf("Abort = %+v, want aborting, not closed yet", got)
	}
	if res := w.promote(); res.Aborted != 4 {
		t.Errorf("Promote = %d aborted, want 4", res.Aborted)
	}
	for _, id := range members {
		w.reason(id, store.Cancelled, store.ReasonAborted)
	}
	w.groupIn(g, store.GroupClosed)
	w.counts(g, 4, 0, 0, 4)
	w.in(store.CloseID(g, 1), store.Ready)
}

func abortClaim(t *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(3, store.NewGroup{})
	w.abort(g)
	if got := k.claim(9); len(got) != 0 {
		t.Errorf("Claim took %d members of an aborted group, want 0", len(got))
	}
	for _, id := range members {
		w.reason(id, store.Cancelled, store.ReasonAborted)
	}
	w.groupIn(g, store.GroupClosed)
}

func abortRunning(t *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(1, store.NewGroup{})
	task := k.take()
	w.abort(g)
	w.promote()
	if got := w.in(task.ID, store.Running); got.Asked == "" {
		t.Errorf("the running member was not asked")
	}
	if got := k.beat().Asked; len(got) != 1 || got[0].Fence != task.Fence() {
		t.Errorf("Beat = %v asked, want the member", got)
	}
	if got := k.end(task, store.Outcome{Kind: store.OutcomeRetry}); got != store.Cancelled {
		t.Errorf("Complete = %q, want cancelled", got)
	}
	w.reason(task.ID, store.Cancelled, store.ReasonAborted)
	w.groupIn(g, store.GroupClosed)
}

// FT-19
func abortDone(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(1, store.NewGroup{})
	task := k.take()
	w.abort(g)
	w.promote()
	k.done(task)
	w.in(task.ID, store.Done)
	w.counts(g, 1, 1, 0, 0)
	w.groupIn(g, store.GroupClosed)
}

func abortFilling(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{}, member)
	w.abort(g)
	w.promote()
	w.reason(member.ID, store.Cancelled, store.ReasonAborted)
	w.groupIn(g, store.GroupClosed)
}

func abortHeld(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{Hold: true, Seal: true}, member)
	w.abort(g)
	w.promote()
	w.reason(member.ID, store.Cancelled, store.ReasonAborted)
	w.groupIn(g, store.GroupClosed)
}

func abortEmpty(t *testing.T, w *world) {
	g := w.group(store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	if got := w.abort(g); got.State != store.GroupClosed {
		t.Errorf("Abort = %q, want closed", got.State)
	}
	w.in(store.CloseID(g, 1), store.Ready)
}

func abortShut(_ *testing.T, w *world) {
	g := w.group(store.NewGroup{Hold: true}, w.spec())
	w.abort(g)
	w.shut(g)
}

func abortClosed(t *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(1, store.NewGroup{})
	k.done(k.take())
	before := w.groupIn(g, store.GroupClosed)
	if got := w.abort(g); got.Aborting != "" || got.Version != before.Version {
		t.Errorf("Abort of a closed group = %+v, want it left as it is", got)
	}
}

func abortRetry(_ *testing.T, w *world) {
	g, members := w.opened(1, store.NewGroup{})
	w.abort(g)
	w.promote()
	before := w.get(members[0])
	w.refused("Retry", w.st.Retry(w.ctx(), members[0]), store.ErrState)
	w.same(before)
	w.counts(g, 1, 0, 0, 1)
}

func abortChunks(t *testing.T, w *world) {
	n := w.scaled(1000)
	g, _ := w.opened(n, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	w.abort(g)
	res, err := w.st.Promote(w.ctx(), 10)
	w.ok("Promote", err)
	if res.Aborted != 10 || !res.More {
		t.Errorf("Promote = %d aborted, more %v, want 10, true", res.Aborted, res.More)
	}
	w.promote()
	w.counts(g, int64(n), 0, 0, int64(n))
	w.groupIn(g, store.GroupClosed)
	if got := w.list(store.Filter{Kinds: []string{"close"}}); len(got) != 1 {
		t.Errorf("the closing task came %d times, want once", len(got))
	}
}

func abortClaimOthers(t *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(500, store.NewGroup{}, priority(5))
	other := w.put()
	w.abort(g)
	for range 100 {
		res := k.ask(k.request(1))
		if len(res.Tasks) == 1 {
			w.sameIDs("Claim", ids(res.Tasks), []store.ID{other})
			return
		}
		if !res.Again {
			t.Fatalf("Claim took nothing and said not Again, and %v is ready", other)
		}
	}
	t.Errorf("100 claims did not reach the task behind the aborted members")
}

func abortTwice(t *testing.T, w *world) {
	g, _ := w.opened(1, store.NewGroup{})
	w.abort(g)
	got, err := w.st.Abort(w.ctx(), g, "another reason")
	w.ok("Abort", err)
	if got.Aborting != store.ReasonAborted {
		t.Errorf("Abort again = %q, want the first reason", got.Aborting)
	}
}

func abortReason(_ *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(2, store.NewGroup{})
	task := k.take()
	_, err := w.st.Abort(w.ctx(), g, "stop")
	w.ok("Abort", err)
	w.promote()
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	for _, id := range members {
		w.reason(id, store.Cancelled, "stop")
	}
}
