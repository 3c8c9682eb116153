package storetest

import (
	"strings"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func orderTests() []test {
	return []test{
		{"in a lane: priority, high first", orderPriority},
		{"in a lane: the older id first", orderID},
		{"in a lane: due before id", orderDue},
		{"lanes go by the priority of their heads", orderHeads},
		{"rank is taken anew after each turn", orderRankAnew},
		{"an aged head is as high as any", orderAged},
		{"a lane that has come later takes its turn among aged ones", orderAgedTurns},
		{"lanes take turns in one claim", orderTurns},
		{"lanes take turns across claims by the cursor", orderCursor},
		{"the cursor of a lane that was alone hides no other", orderLoneCursor},
		{"a turn takes as many as the weight", orderWeight},
		{"a turn that the end of a claim cut short goes on with the next", orderWeightCut},
		{"a turn goes on past a task of lower rank", orderWeightRank},
		{"a turn goes on only as far as there are tasks", orderWeightGone},
		{"a weight below one is one", orderWeightLow},
		{"very many lanes take turns in the order of their names", orderManyLanes},
		{"among very many lanes the most urgent goes first", orderUrgent},
		{"a lane with many delays one with few by its share alone", orderShare},
		{"an ordered lane runs one at a time, oldest first", orderOneByOne},
		{"an ordered lane goes by id, not by priority", orderNoPriority},
		{"ordered lanes of other keys do not wait", orderOtherLanes},
		{"a scheduled head lets its ordered lane wait", orderScheduledHead},
		{"a parked head lets its ordered lane wait", orderParkedHead},
		{"a held head lets its ordered lane wait", orderHeldHead},
		{"a head that comes late stands in front", orderLateHead},
		{"a head that comes late waits for the one that runs", orderLateHeadWaits},
		{"a recovered head is the head again", orderRecoveredHead},
		{"with skip a failed head lets the next one run", orderSkip},
		{"with block a failed head blocks until it is retried", orderBlockRetry},
		{"with block a failed head blocks until it is deleted", orderBlockDelete},
		{"with block a cancelled head does not block", orderBlockCancelled},
		{"with fail a failed head fails the rest", orderFail},
		{"with fail what is submitted after the failure runs", orderFailLater},
		{"with fail a retried head lets the rest run", orderFailRetry},
		{"with fail a deleted head lets the rest run", orderFailDelete},
		{"with fail the ends of many come in chunks", orderFailMany},
		{"with fail an owned task is asked", orderFailOwned},
		{"with fail other lanes go on", orderFailOthers},
		{"a suspect head lets its ordered lane wait with it", orderSuspectHead},
		{"unordered tasks of the same key do not wait", orderUnordered},
	}
}

func lane(key string) edit        { return func(s *store.Spec) { s.Lane = key } }
func priority(p int) edit         { return func(s *store.Spec) { s.Priority = p } }
func ordered(o store.Order) edit  { return func(s *store.Spec) { s.Order = o } }
func (w *world) delay(n int) edit { return func(s *store.Spec) { s.Delay = w.units(n) } }

// lanes claims n tasks and tells their lane keys.
func (k *worker) lanes(n int) string {
	k.w.t.Helper()
	var keys []string
	for _, task := range k.claim(n) {
		keys = append(keys, task.Lane)
	}
	return strings.Join(keys, " ")
}

func orderPriority(_ *testing.T, w *world) {
	low, high, mid := w.put(priority(-1)), w.put(priority(7)), w.put()
	w.sameIDs("Claim", ids(w.join().claim(3)), []store.ID{high, mid, low})
}

func orderID(_ *testing.T, w *world) {
	a, b, c := w.spec(), w.spec(), w.spec()
	// One call, so that they became ready at the same moment.
	w.submit(c, a, b)
	w.sameIDs("Claim", ids(w.join().claim(3)), []store.ID{a.ID, b.ID, c.ID})
}

func orderDue(_ *testing.T, w *world) {
	late, soon := w.put(w.delay(5)), w.put(w.delay(3))
	w.pass(6)
	w.promote()
	w.pass(1)
	last := w.put()
	w.sameIDs("Claim", ids(w.join().claim(3)), []store.ID{soon, late, last})
}

func orderHeads(t *testing.T, w *world) {
	w.put(lane("a"))
	w.put(lane("b"), priority(1))
	w.put(lane("c"), priority(2))
	if got := w.join().lanes(3); got != "c b a" {
		t.Errorf("lanes = %q, want c b a", got)
	}
}

func orderRankAnew(t *testing.T, w *world) {
	w.put(lane("b"), priority(2))
	w.put(lane("b"))
	w.put(lane("a"), priority(1))
	// After its first task the head of b ranks below that of a.
	if got := w.join().lanes(3); got != "b a b" {
		t.Errorf("lanes = %q, want b a b", got)
	}
}

func orderAged(t *testing.T, w *world) {
	w.submit(w.specs(2, lane("old"))...)
	w.Pass(w.timing.Aged)
	w.pass(1)
	w.submit(w.specs(3, lane("new"), priority(100))...)
	w.put(lane("mid"), priority(50))
	// The old ones take turns with the highest, and go before all others.
	if got := w.join().lanes(6); got != "new old new old new mid" {
		t.Errorf("lanes = %q, want new old new old new mid", got)
	}
}

func threeLanes(w *world, n int) {
	for _, key := range []string{"c", "a", "b"} {
		w.submit(w.specs(n, lane(key))...)
	}
}

func orderTurns(t *testing.T, w *world) {
	threeLanes(w, 2)
	if got := w.join().lanes(6); got != "a b c a b c" {
		t.Errorf("lanes = %q, want a b c a b c", got)
	}
}

func orderCursor(t *testing.T, w *world) {
	threeLanes(w, 3)
	k := w.join()
	var got []string
	cursor := ""
	for range 9 {
		req := k.request(1)
		req.Queues[0].Cursor = cursor
		res := k.ask(req)
		if len(res.Tasks) != 1 {
			t.Fatalf("Claim took %d tasks, want 1", len(res.Tasks))
		}
		cursor = res.Cursors[queue]
		got = append(got, res.Tasks[0].Lane)
	}
	if got := strings.Join(got, " "); got != "a b c a b c a b c" {
		t.Errorf("lanes = %q, want a b c a b c a b c", got)
	}
}

func orderLoneCursor(t *testing.T, w *world) {
	w.limit(store.Limit{Key: "some", Running: 5})
	of := func(k string) edit { return func(s *store.Spec) { s.Kind = k } }
	k := w.join()
	cursor := ""
	for i, step := range []struct {
		put  []store.Spec
		want string
		more bool
	}{
		{w.specs(5, of("k2"), lane("b")), "k2 b", true},
		{nil, "k2 b", true},
		{w.specs(1, of("k2"), lane("a")), "k2 a", true},
		{nil, "k2 b", true},
		{w.specs(1, of("k2"), lane("c")), "k2 c", true},
		{nil, "k2 b", true},
		{w.specs(1, of("k2"), lane("b"), limited("some")), "k2 b some", true},
		{w.specs(1, of("k1"), lane("z")), "k1 z", true},
		{nil, "k2 b", false},
		{nil, "", false},
		{nil, "", false},
		{w.specs(1, of("k3"), lane("b")), "k3 b", false},
		{w.specs(1, of("k2"), lane("b"), ordered(store.OrderSkip)), "k2 b", false},
		{w.specs(2, of("k2"), lane("b")), "k2 b", true},
		{nil, "k2 b", false},
		{nil, "", false},
	} {
		if step.put != nil {
			w.submit(step.put...)
		}
		req := k.request(1, "k1", "k2", "k3")
		req.Queues[0].Cursor = cursor
		res := k.ask(req)
		got := ""
		for _, task := range res.Tasks {
			got = strings.TrimSpace(task.Kind + " " + task.Lane + " " + task.Limit)
			cursor = res.Cursors[queue]
		}
		if got != step.want || res.Again != step.more {
			t.Fatalf("claim %d took %q, and more %v; want %q, %v", i, got, res.Again, step.want, step.more)
		}
	}
}

func orderWeight(t *testing.T, w *world) {
	threeLanes(w, 4)
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", 2))
	if got := w.join().lanes(8); got != "a b b c a b b c" {
		t.Errorf("lanes = %q, want a b b c a b b c", got)
	}
}

func orderWeightLow(t *testing.T, w *world) {
	threeLanes(w, 2)
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", 5))
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", -5))
	if got := w.join().lanes(4); got != "a b c a" {
		t.Errorf("lanes = %q, want a b c a", got)
	}
}

// chain submits n tasks into one ordered lane.
func (w *world) chain(n int, o store.Order, edits ...edit) []store.ID {
	w.t.Helper()
	specs := w.specs(n, append([]edit{lane("chain"), ordered(o)}, edits...)...)
	w.submit(specs...)
	return specIDs(specs)
}

// I24
func orderOneByOne(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(3, store.OrderSkip)
	for _, id := range chain {
		tasks := k.claim(9)
		w.sameIDs("Claim", ids(tasks), []store.ID{id})
		w.sameIDs("Claim beside it", ids(k.claim(9)), []store.ID{})
		k.done(tasks[0])
	}
}

func orderNoPriority(_ *testing.T, w *world) {
	k := w.join()
	first := w.put(lane("chain"), ordered(store.OrderSkip))
	w.put(lane("chain"), ordered(store.OrderSkip), priority(9))
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{first})
}

func orderOtherLanes(t *testing.T, w *world) {
	k := w.join()
	for _, key := range []string{"a", "b", "a", "b"} {
		w.put(lane(key), ordered(store.OrderSkip))
	}
	w.put(lane("a"), ordered(store.OrderSkip), func(s *store.Spec) { s.Limit = "l" })
	if got := len(k.claim(9)); got != 3 {
		t.Errorf("Claim took %d tasks, want the heads of 3 lanes", got)
	}
}

func orderScheduledHead(_ *testing.T, w *world) {
	k := w.join()
	head := w.put(lane("chain"), ordered(store.OrderSkip), w.delay(10))
	w.chain(2, store.OrderSkip)
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	w.pass(11)
	w.sameIDs("Claim once due", ids(k.claim(9)), []store.ID{head})
}

func orderParkedHead(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderSkip)
	k.park(k.take())
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	w.send(chain[0], "go.on")
	w.sameIDs("Claim once woken", ids(k.claim(9)), chain[:1])
}

func orderHeldHead(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderBlock)
	k.end(k.take(), store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	w.cancel(chain[0])
	w.sameIDs("Claim after it ended", ids(k.claim(9)), chain[1:])
}

func orderLateHead(_ *testing.T, w *world) {
	k := w.join()
	old := w.spec(lane("chain"), ordered(store.OrderSkip))
	w.chain(1, store.OrderSkip)
	w.submit(old)
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{old.ID})
}

func orderLateHeadWaits(_ *testing.T, w *world) {
	k := w.join()
	old := w.spec(lane("chain"), ordered(store.OrderSkip))
	w.chain(1, store.OrderSkip)
	runs := k.take()
	w.submit(old)
	w.sameIDs("Claim beside the one that runs", ids(k.claim(9)), []store.ID{})
	k.done(runs)
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{old.ID})
}

func orderRecoveredHead(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	chain := w.chain(2, store.OrderSkip)
	k.take()
	k.die(by)
	w.sameIDs("Claim", ids(by.claim(9)), chain[:1])
}

func (k *worker) fail(task store.Task) store.State {
	k.w.t.Helper()
	return k.end(task, store.Outcome{Kind: store.OutcomeFail, Error: &store.Error{Message: "broken", Type: "test"}})
}

func orderSkip(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderSkip)
	k.fail(k.take())
	w.sameIDs("Claim", ids(k.claim(9)), chain[1:])
}

func orderBlockRetry(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderBlock)
	k.fail(k.take())
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	w.ok("Retry", w.st.Retry(w.ctx(), chain[0]))
	again := k.claim(9)
	w.sameIDs("Claim after Retry", ids(again), chain[:1])
	k.done(again[0])
	w.sameIDs("Claim after its end", ids(k.claim(9)), chain[1:])
}

func orderBlockDelete(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderBlock)
	k.fail(k.take())
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	w.ok("Delete", w.st.Delete(w.ctx(), chain[0]))
	w.sameIDs("Claim after Delete", ids(k.claim(9)), chain[1:])
}

func orderBlockCancelled(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderBlock)
	w.cancel(chain[0])
	w.sameIDs("Claim", ids(k.claim(9)), chain[1:])
}

func orderFail(t *testing.T, w *world) {
	k := w.join()
	chain := w.chain(3, store.OrderFail, func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: "elsewhere"} })
	k.fail(k.take())
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{})
	for _, id := range chain[1:] {
		got := w.reason(id, store.Failed, store.ReasonOrder)
		if got.Error == nil || got.Error.Type != store.ReasonOrder || got.Attempts != 0 || got.Epoch != 0 {
			t.Errorf("task = %+v, want it failed without a run, and to say why", got)
		}
	}
	if got := w.list(store.Filter{Kinds: []string{"after"}}); len(got) != 3 {
		t.Errorf("%d OnEnd tasks, want 3: they follow this ending, too", len(got))
	}
}

func orderFailLater(_ *testing.T, w *world) {
	k := w.join()
	w.chain(2, store.OrderFail)
	k.fail(k.take())
	w.pass(1)
	later := w.chain(2, store.OrderFail)
	w.sameIDs("Claim", ids(k.claim(9)), later[:1])
	w.sameIDs("Claim beside it", ids(k.claim(9)), []store.ID{})
}

func orderFailRetry(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderFail)
	k.fail(k.take())
	w.ok("Retry", w.st.Retry(w.ctx(), chain[0]))
	again := k.claim(9)
	w.sameIDs("Claim after Retry", ids(again), chain[:1])
	k.done(again[0])
	w.sameIDs("Claim after its end", ids(k.claim(9)), chain[1:])
}

func orderFailDelete(_ *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderFail)
	k.fail(k.take())
	w.ok("Delete", w.st.Delete(w.ctx(), chain[0]))
	w.sameIDs("Claim after Delete", ids(k.claim(9)), chain[1:])
}

func orderFailMany(t *testing.T, w *world) {
	k := w.join()
	chain := w.chain(250, store.OrderFail)
	k.fail(k.take())
	other := w.put()
	for range 9 {
		res := k.ask(k.request(9))
		for _, task := range res.Tasks {
			if task.ID != other {
				t.Fatalf("Claim gave %v of a lane that has failed", task.ID)
			}
		}
		if !res.Again {
			break
		}
	}
	if got := len(w.list(store.Filter{States: []store.State{store.Failed}})); got != len(chain) {
		t.Errorf("%d tasks failed, want %d", got, len(chain))
	}
}

func orderFailOwned(t *testing.T, w *world) {
	k := w.join()
	chain := w.chain(2, store.OrderFail, func(s *store.Spec) { s.Owned = true })
	k.fail(k.take())
	got := append(k.claim(9), k.claim(9)...) // a claim that asks it may leave it to the next
	w.sameIDs("Claim", ids(got), chain[1:])
	if got[0].Asked != store.ReasonOrder {
		t.Errorf("Asked = %q, want order", got[0].Asked)
	}
}

func orderFailOthers(_ *testing.T, w *world) {
	k := w.join()
	w.chain(2, store.OrderFail)
	k.fail(k.take())
	other := w.put(lane("other"), ordered(store.OrderFail))
	skip := w.put(lane("chain"), ordered(store.OrderFail), func(s *store.Spec) { s.Limit = "l" })
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{skip, other})
}

func orderSuspectHead(_ *testing.T, w *world) {
	by := w.join()
	chain := w.chain(2, store.OrderSkip)
	for range store.Suspicion {
		k := w.join()
		k.take()
		k.die(by)
	}
	w.sameIDs("Claim", ids(by.claim(9)), []store.ID{})
	suspect := by.takeSuspect()
	w.sameIDs("Claim of suspects", []store.ID{suspect.ID}, chain[:1])
	by.done(suspect)
	w.sameIDs("Claim after its end", ids(by.claim(9)), chain[1:])
}

func orderUnordered(t *testing.T, w *world) {
	k := w.join()
	w.chain(2, store.OrderSkip)
	w.submit(w.specs(2, lane("chain"))...)
	if got := len(k.claim(9)); got != 3 {
		t.Errorf("Claim took %d tasks, want 1 of the ordered and 2 of the unordered lane", got)
	}
}
