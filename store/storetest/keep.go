package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func keepTests() []test {
	return []test{
		{"members stay until the closing task has ended", keepClosing},
		{"members stay until the closing task was deleted", keepClosingDeleted},
		{"without a closing task they stay until the parent has ended", keepParent},
		{"without either they stay until the closing", keepNothing},
		{"where the closing task's key is held they stay until the closing", keepKeyHeld},
		{"a Retry of the keeper does not take expiries back", keepRetry},
		{"expiries are set in chunks", keepChunks},
		{"the group goes after its last member", keepGroup},
		{"the group stays for its own retention", keepGroupRetention},
		{"a deleted member keeps its count", keepCount},
		{"a failed member is kept", keepFailed},
	}
}

// later lets more than every retention pass, and prunes.
func (w *world) later() {
	w.t.Helper()
	w.promote()
	w.pass(100)
	w.promote()
	w.prune()
}

func keepClosing(t *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue, Retention: -1}})
	for _, task := range k.claim(2) {
		k.done(task)
	}
	w.later()
	for _, id := range members {
		if got := w.in(id, store.Done); !got.ExpireAt.IsZero() {
			t.Errorf("ExpireAt = %v, want none before the closing task ended", got.ExpireAt)
		}
	}
	if got := w.readGroup(g).Keeper; got != store.CloseID(g, 1) {
		t.Errorf("keeper = %v, want the closing task", got)
	}
	k.done(k.take("close"))
	if res := w.promote(); res.Marked != 2 {
		t.Errorf("Promote = %d marked, want 2", res.Marked)
	}
	for _, id := range members {
		if got := w.in(id, store.Done); got.ExpireAt.IsZero() {
			t.Errorf("ExpireAt is not set after the closing task ended")
		}
	}
	w.later()
	if w.exists(members[0]) || w.exists(members[1]) {
		t.Errorf("a member is still there long after the closing task ended")
	}
}

func keepClosingDeleted(t *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(1, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue, Retention: -1}})
	k.done(k.take())
	closing := k.take("close")
	k.done(closing)
	w.ok("Delete", w.st.Delete(w.ctx(), closing.ID))
	w.later()
	if w.exists(members[0]) {
		t.Errorf("the member is still there long after the closing task was deleted")
	}
}

func keepParent(t *testing.T, w *world) {
	k := w.join()
	parent := k.start(func(s *store.Spec) { s.Kind, s.Retention = "parent", -1 })
	k.park(parent)
	g, members := w.opened(1, store.NewGroup{Parent: parent.ID})
	k.done(k.take())
	w.later()
	w.in(members[0], store.Done)
	if got := w.readGroup(g).Keeper; got != parent.ID {
		t.Errorf("keeper = %v, want the parent", got)
	}
	k.done(k.take("parent"))
	w.later()
	if w.exists(members[0]) {
		t.Errorf("the member is still there long after the parent ended")
	}
}

func keepNothing(t *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(2, store.NewGroup{})
	tasks := k.claim(2)
	k.done(tasks[0])
	w.later()
	w.in(tasks[0].ID, store.Done)
	k.done(tasks[1])
	w.later()
	if w.exists(members[0]) || w.exists(members[1]) {
		t.Errorf("a member is still there long after the closing")
	}
}

func keepChunks(t *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(10, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue, Retention: -1}})
	for _, task := range k.claim(10) {
		k.done(task)
	}
	k.done(k.take("close"))
	marked := 0
	for range len(members) {
		res, err := w.st.Promote(w.ctx(), 4)
		w.ok("Promote", err)
		if res.Marked > 4 {
			t.Errorf("Promote = %d marked, want at most 4", res.Marked)
		}
		if marked += res.Marked; !res.More {
			break
		}
	}
	if marked != 10 {
		t.Errorf("Promote marked %d in all, want 10", marked)
	}
}

func keepGroup(_ *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(2, store.NewGroup{})
	tasks := k.claim(2)
	k.done(tasks[0])
	k.fail(tasks[1])
	w.later()
	w.readGroup(g)
	w.in(members[1], store.Failed)
	w.ok("Delete", w.st.Delete(w.ctx(), members[1]))
	w.later()
	_, err := w.st.Group(w.ctx(), g)
	w.refused("Group after its last member went", err, store.ErrNotFound)
}

func keepGroupRetention(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(1, store.NewGroup{Retention: w.units(1000)})
	k.done(k.take())
	w.later()
	w.groupIn(g, store.GroupClosed)
	w.pass(1001)
	w.promote()
	w.prune()
	_, err := w.st.Group(w.ctx(), g)
	w.refused("Group after its retention", err, store.ErrNotFound)
}

func keepCount(_ *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(2, store.NewGroup{})
	k.done(k.take())
	w.ok("Delete", w.st.Delete(w.ctx(), members[0]))
	w.counts(g, 2, 1, 0, 0)
	w.groupIn(g, store.GroupOpen)
	k.done(k.take())
	w.groupIn(g, store.GroupClosed)
	w.counts(g, 2, 2, 0, 0)
}

func keepFailed(_ *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(1, store.NewGroup{})
	k.fail(k.take())
	w.later()
	w.in(members[0], store.Failed)
}

func keepKeyHeld(t *testing.T, w *world) {
	k := w.join()
	holder := w.put(func(s *store.Spec) { s.Kind, s.Unique.Key = "close", "key" })
	g, members := w.opened(1, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue, Unique: store.Unique{Key: "key"}}})
	k.done(k.take())
	w.groupIn(g, store.GroupClosed)
	if w.exists(store.CloseID(g, 1)) {
		t.Errorf("the closing task was stored beside the holder of its key")
	}
	w.later()
	w.in(holder, store.Ready)
	if w.exists(members[0]) {
		t.Errorf("the member is still there long after the closing")
	}
}

func keepRetry(t *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(1, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	k.done(k.take())
	keeper := k.take("close")
	k.fail(keeper)
	w.promote()
	before := w.get(members[0]).ExpireAt
	w.ok("Retry", w.st.Retry(w.ctx(), keeper.ID))
	if got := w.get(members[0]).ExpireAt; before.IsZero() || !got.Equal(before) {
		t.Errorf("ExpireAt = %v, want %v", got, before)
	}
}
