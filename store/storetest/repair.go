package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

func repairTests() []test {
	return []test{
		{"a sound store is left as it is", repairSound},
		{"slots that nobody holds are freed, and work goes on", repairSlotsFreed},
		{"slots that are held are counted", repairSlotsCounted},
		{"a key of nobody is taken away", repairKeyFree},
		{"a key goes back to the task that must hold it", repairKeyBack},
		{"the members of a group are counted, and it closes once", repairGroupCounts},
		{"a group whose last member has ended is closed", repairGroupCloses},
		{"counts of members that were removed are kept", repairGroupRemoved},
		{"what is not there is not made", repairAbsent},
		{"what can never be done is refused", repairInvalid},
	}
}

// repairer is the store's Repairer; the case is skipped where there is none.
func (w *world) repairer() store.Repairer {
	w.t.Helper()
	r, ok := w.st.(store.Repairer)
	if !ok || w.e.Damage == nil {
		w.t.Skip("the engine cannot repair")
	}
	return r
}

func (w *world) repair(r store.Repair, want bool) {
	w.t.Helper()
	got, err := w.repairer().Repair(w.ctx(), r)
	w.ok("Repair", err)
	if got != want {
		w.t.Errorf("Repair(%+v) = %v, want %v", r, got, want)
	}
}

// damage spoils something; found: fsck finds it, and what it says repairs it.
func (w *world) damage(r store.Repair, n int, found bool) {
	w.t.Helper()
	w.repairer()
	w.e.Damage(w.World, r, n)
	findings, err := fsck.Check(w.ctx(), w.st)
	w.ok("fsck", err)
	if found != (len(findings) > 0) {
		w.t.Fatalf("fsck found %v, want findings: %v", findings, found)
	}
	for _, f := range findings {
		if f.Repair == (store.Repair{}) {
			w.t.Errorf("fsck has no repair for %v", f)
		}
	}
	if !found {
		return
	}
	if n, err := fsck.Repair(w.ctx(), w.st, findings); err != nil || n != 1 {
		w.t.Errorf("fsck.Repair = %d, %v, want one thing mended", n, err)
	}
	w.check()
}

func repairSound(_ *testing.T, w *world) {
	w.repairer()
	k := w.join()
	w.limit(store.Limit{Key: "l", Running: 2})
	limited := w.put(func(s *store.Spec) { s.Limit = "l" })
	keyed := w.put(func(s *store.Spec) { s.Unique.Key = "u" })
	g, _ := w.opened(2, store.NewGroup{})
	k.take()
	before := []store.Task{w.get(limited), w.get(keyed)}
	group := w.readGroup(g)
	for _, r := range []store.Repair{{Limit: "l"}, {Kind: kind, Key: "u"}, {Kind: kind, Key: "u", Task: keyed}, {Group: g}} {
		w.repair(r, false)
	}
	for _, t := range before {
		w.same(t)
	}
	if after := w.readGroup(g); after.Version != group.Version {
		w.t.Errorf("the group has changed: %+v", after)
	}
}

func repairSlotsFreed(_ *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "l", Running: 2})
	w.submit(w.specs(3, func(s *store.Spec) { s.Limit = "l" })...)
	task := k.take()
	w.damage(store.Repair{Limit: "l"}, 5, true)
	if n := w.inUse("l"); n != 1 {
		w.t.Errorf("%d slots are taken, want 1", n)
	}
	if got := k.claim(3); len(got) != 1 {
		w.t.Errorf("Claim = %d tasks, want the one that there is a slot for", len(got))
	}
	k.done(task)
}

func repairSlotsCounted(_ *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "l", Running: 1})
	w.submit(w.specs(2, func(s *store.Spec) { s.Limit = "l" })...)
	task := k.take()
	w.damage(store.Repair{Limit: "l"}, -1, true)
	if got := k.claim(1); len(got) != 0 {
		w.t.Errorf("Claim = %d tasks, want none: the slot is taken", len(got))
	}
	k.done(task)
	k.take()
}

func repairKeyFree(_ *testing.T, w *world) {
	w.repairer()
	w.e.Damage(w.World, store.Repair{Kind: kind, Key: "u"}, 0)
	w.repair(store.Repair{Kind: kind, Key: "u"}, true)
	w.repair(store.Repair{Kind: kind, Key: "u"}, false)
	id := w.put(func(s *store.Spec) { s.Unique.Key = "u" })
	w.in(id, store.Ready)
}

func repairKeyBack(_ *testing.T, w *world) {
	w.repairer()
	id := w.put(func(s *store.Spec) { s.Unique.Key = "u" })
	w.e.Damage(w.World, store.Repair{Kind: kind, Key: "u"}, 0)
	w.repair(store.Repair{Kind: kind, Key: "u", Task: w.put()}, true) // of another key: it is only taken away
	findings, err := fsck.Check(w.ctx(), w.st)
	w.ok("fsck", err)
	if len(findings) != 1 || findings[0].Repair != (store.Repair{Kind: kind, Key: "u", Task: id}) {
		w.t.Fatalf("fsck found %v, want that the task does not hold its key", findings)
	}
	if n, err := fsck.Repair(w.ctx(), w.st, findings); err != nil || n != 1 {
		w.t.Errorf("fsck.Repair = %d, %v, want one thing mended", n, err)
	}
	if got := w.try(w.spec(func(s *store.Spec) { s.Unique.Key = "u" })); got.ID != id || !got.Existed {
		w.t.Errorf("the next one under the key = %+v, want the task that stands", got)
	}
}

func repairGroupCounts(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(3, store.NewGroup{OnClose: &store.Spec{Kind: "closing", Queue: queue, Retention: -1}})
	k.done(k.take())
	w.damage(store.Repair{Group: g}, -1, true)
	w.counts(g, 3, 1, 0, 0)
	k.done(k.take())
	w.groupIn(g, store.GroupOpen)
	k.done(k.take())
	w.groupIn(g, store.GroupClosed)
	w.in(store.CloseID(g, 1), store.Ready)
}

func repairGroupCloses(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "closing", Queue: queue, Retention: -1}})
	k.done(k.take())
	w.repairer()
	w.e.Damage(w.World, store.Repair{Group: g}, -1)
	k.done(k.take())
	w.groupIn(g, store.GroupOpen) // by its counts a member lives
	w.damage(store.Repair{Group: g}, 0, true)
	w.counts(g, 2, 2, 0, 0)
	w.groupIn(g, store.GroupClosed)
	w.in(store.CloseID(g, 1), store.Ready)
	w.repair(store.Repair{Group: g}, false)
}

func repairGroupRemoved(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(3, store.NewGroup{})
	task := k.take()
	k.fail(task)
	w.ok("Delete", w.st.Delete(w.ctx(), task.ID))
	w.counts(g, 3, 0, 1, 0)
	k.done(k.take())
	w.damage(store.Repair{Group: g}, -1, true)
	w.counts(g, 3, 1, 1, 0)
}

func repairAbsent(_ *testing.T, w *world) {
	for _, r := range []store.Repair{{Limit: "none"}, {Kind: kind, Key: "none"}, {Kind: kind, Key: "none", Task: w.id()}, {Group: w.id()}} {
		w.repair(r, false)
	}
	if list, err := w.st.LimitList(w.ctx()); err != nil || len(list) > 0 {
		w.t.Errorf("LimitList = %v, %v, want that none was made", list, err)
	}
}

func repairInvalid(_ *testing.T, w *world) {
	for _, r := range []store.Repair{{}, {Kind: kind}, {Key: "k"}, {Limit: "l", Group: w.id()}} {
		_, err := w.repairer().Repair(w.ctx(), r)
		w.refused("Repair", err, store.ErrInvalid)
	}
}
