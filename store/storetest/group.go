package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func groupTests() []test {
	return []test{
		{"a group is stored as it was said", groupStored},
		{"members are held while it fills", groupFilling},
		{"sealing opens it, and Promote frees the members", groupSeal},
		{"members with a due time are freed to scheduled", groupSealScheduled},
		{"members are freed in chunks", groupChunks},
		{"a held group waits for Release", groupHold},
		{"Release may come before Seal", groupReleaseFirst},
		{"members may join while it is filling or held", groupAppend},
		{"an open group takes no more", groupOpenShut},
		{"a closed group takes no more", groupClosedShut},
		{"a member of an unknown group is not found", groupUnknown},
		{"an empty group closes when it is sealed", groupEmpty},
		{"an empty held group closes when it is released", groupEmptyHeld},
		{"it closes with its last member and counts all", groupCloses},
		{"it does not close before it is sealed", groupUnsealed},
		{"closing submits OnClose once", groupOnClose},
		{"closing wakes the parent", groupParent},
		{"closing does both", groupBoth},
		{"a known id has no effect, save that Seal is obeyed", groupKnown},
		{"Seal, Release and Abort of an unknown group are not found", groupNotFound},
		{"Retry in an open group takes back the count", groupRetryOpen},
		{"Retry in a closed group opens the next generation", groupRetryClosed},
		{"Retry in a filling group holds the member again", groupRetryFilling},
		{"Retry in a held group holds the member again", groupRetryHeld},
		{"a closing task is a member of none", groupOnCloseMember},
		{"groups are listed newest first", groupList},
	}
}

// groupIn checks where a group stands.
func (w *world) groupIn(id store.ID, want store.GroupState) store.Group {
	w.t.Helper()
	g := w.readGroup(id)
	if g.State != want {
		w.t.Fatalf("group = %q, want %q", g.State, want)
	}
	return g
}

// counts checks the sums of a group: total, done, failed, cancelled.
func (w *world) counts(id store.ID, total, done, failed, cancelled int64) {
	w.t.Helper()
	g := w.readGroup(id)
	if g.Total != total || g.Done != done || g.Failed != failed || g.Cancelled != cancelled {
		w.t.Errorf("counts = %d: %d %d %d, want %d: %d %d %d", g.Total, g.Done, g.Failed, g.Cancelled, total, done, failed, cancelled)
	}
}

// opened makes a sealed group of n members that are ready.
func (w *world) opened(n int, g store.NewGroup, edits ...edit) (store.ID, []store.ID) {
	w.t.Helper()
	g.Seal = true
	members := w.specs(n, edits...)
	id := w.group(g, members...)
	w.promote()
	return id, specIDs(members)
}

func (w *world) seal(id store.ID) store.Group {
	w.t.Helper()
	g, err := w.st.Seal(w.ctx(), id)
	w.ok("Seal", err)
	return g
}

func (w *world) release(id store.ID) store.Group {
	w.t.Helper()
	g, err := w.st.Release(w.ctx(), id)
	w.ok("Release", err)
	return g
}

func groupStored(t *testing.T, w *world) {
	parent := w.put()
	want := store.NewGroup{
		ID: w.id(), Name: "a batch", Hold: true, Parent: parent, Retention: w.units(70), Labels: map[string]string{"a": "b"},
		OnClose: &store.Spec{Kind: "close", Queue: queue, Args: []byte("x"), Labels: map[string]string{"c": "d"}},
	}
	w.group(want)
	got := w.groupIn(want.ID, store.GroupFilling)
	if got.Name != want.Name || !got.Hold || got.Parent != parent || got.Retention != want.Retention || got.Labels["a"] != "b" {
		t.Errorf("Group = %+v, want it as it was said", got)
	}
	if got.OnClose == nil || got.OnClose.Kind != "close" || string(got.OnClose.Args) != "x" || got.OnClose.Labels["c"] != "d" {
		t.Errorf("OnClose = %+v, want it as it was said", got.OnClose)
	}
	if got.Generation != 1 || got.Total != 0 || got.Sealed || !w.near(got.CreatedAt, w.now()) {
		t.Errorf("Group = %+v, want an unsealed first generation", got)
	}
}

func groupFilling(t *testing.T, w *world) {
	member := w.spec()
	w.group(store.NewGroup{}, member)
	w.promote()
	w.reason(member.ID, store.Held, store.ReasonGroup)
	if got := w.join().claim(1); len(got) != 0 {
		t.Errorf("Claim took %d tasks, want 0", len(got))
	}
}

func groupSeal(t *testing.T, w *world) {
	members := w.specs(3)
	g := w.group(store.NewGroup{}, members...)
	if got := w.seal(g); got.State != store.GroupOpen || !got.Sealed || got.Total != 3 {
		t.Errorf("Seal = %+v, want open with 3 members", got)
	}
	version := w.readGroup(g).Version
	w.seal(g)
	if got := w.readGroup(g).Version; got != version {
		t.Errorf("version after Seal again = %d, want %d", got, version)
	}
	if res := w.promote(); res.Freed != 3 {
		t.Errorf("Promote = %d freed, want 3", res.Freed)
	}
	for _, m := range members {
		w.reason(m.ID, store.Ready, "")
	}
}

func groupSealScheduled(_ *testing.T, w *world) {
	member := w.spec(w.delay(20))
	w.group(store.NewGroup{Seal: true}, member)
	w.promote()
	w.in(member.ID, store.Scheduled)
	w.pass(21)
	w.promote()
	w.in(member.ID, store.Ready)
}

func groupChunks(t *testing.T, w *world) {
	w.group(store.NewGroup{Seal: true}, w.specs(10)...)
	for i, want := range []int{4, 4, 2} {
		res, err := w.st.Promote(w.ctx(), 4)
		w.ok("Promote", err)
		if res.Freed != want || res.More != (i < 2) {
			t.Errorf("Promote %d = %d freed, more %v, want %d, %v", i, res.Freed, res.More, want, i < 2)
		}
	}
}

func groupHold(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{Hold: true, Seal: true}, member)
	w.groupIn(g, store.GroupHeld)
	w.promote()
	w.reason(member.ID, store.Held, store.ReasonGroup)
	w.release(g)
	w.groupIn(g, store.GroupOpen)
	w.release(g)
	w.promote()
	w.in(member.ID, store.Ready)
}

func groupReleaseFirst(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{Hold: true}, member)
	w.release(g)
	w.groupIn(g, store.GroupFilling)
	w.promote()
	w.in(member.ID, store.Held)
	w.seal(g)
	w.groupIn(g, store.GroupOpen)
	w.promote()
	w.in(member.ID, store.Ready)
}

func groupAppend(_ *testing.T, w *world) {
	g := w.group(store.NewGroup{Hold: true}, w.spec())
	w.put(func(s *store.Spec) { s.Group = g })
	w.seal(g)
	late := w.put(func(s *store.Spec) { s.Group = g })
	w.reason(late, store.Held, store.ReasonGroup)
	w.counts(g, 3, 0, 0, 0)
}

func (w *world) shut(g store.ID) {
	w.t.Helper()
	before := w.readGroup(g)
	s := w.spec(func(s *store.Spec) { s.Group = g })
	w.refused("Submit", w.try(s).Err, store.ErrState)
	if w.exists(s.ID) || w.readGroup(g).Total != before.Total {
		w.t.Errorf("a refused member was stored or counted")
	}
}

func groupOpenShut(_ *testing.T, w *world) {
	g, _ := w.opened(1, store.NewGroup{})
	w.shut(g)
}

func groupClosedShut(_ *testing.T, w *world) {
	g := w.group(store.NewGroup{Seal: true})
	w.groupIn(g, store.GroupClosed)
	w.shut(g)
}

func groupUnknown(_ *testing.T, w *world) {
	s := w.spec(func(s *store.Spec) { s.Group = w.id() })
	w.refused("Submit", w.try(s).Err, store.ErrNotFound)
	if w.exists(s.ID) {
		w.t.Errorf("a refused member was stored")
	}
}

func groupEmpty(t *testing.T, w *world) {
	g := w.group(store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	if got := w.seal(g); got.State != store.GroupClosed || !w.near(got.ClosedAt, w.now()) {
		t.Errorf("Seal = %+v, want closed now", got)
	}
	w.in(store.CloseID(g, 1), store.Ready)
}

func groupEmptyHeld(_ *testing.T, w *world) {
	g := w.group(store.NewGroup{Hold: true, Seal: true, OnClose: &store.Spec{Kind: "close", Queue: queue}})
	w.groupIn(g, store.GroupHeld)
	w.release(g)
	w.groupIn(g, store.GroupClosed)
	w.in(store.CloseID(g, 1), store.Ready)
}

// I17
func groupCloses(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(4, store.NewGroup{})
	tasks := k.claim(4)
	k.done(tasks[0])
	w.counts(g, 4, 1, 0, 0)
	k.fail(tasks[1])
	k.end(tasks[2], store.Outcome{Kind: store.OutcomeRetry})
	w.cancel(tasks[2].ID)
	w.counts(g, 4, 1, 1, 1)
	w.groupIn(g, store.GroupOpen)
	k.done(tasks[3])
	w.counts(g, 4, 2, 1, 1)
	w.groupIn(g, store.GroupClosed)
}

func groupUnsealed(_ *testing.T, w *world) {
	members := w.specs(2)
	g := w.group(store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}}, members...)
	w.cancel(members[0].ID)
	w.cancel(members[1].ID)
	w.groupIn(g, store.GroupFilling)
	w.counts(g, 2, 0, 0, 2)
	if w.exists(store.CloseID(g, 1)) {
		w.t.Errorf("the closing task came before the closing")
	}
	w.seal(g)
	w.groupIn(g, store.GroupClosed)
	w.in(store.CloseID(g, 1), store.Ready)
}

func groupOnClose(t *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: "ends", Args: []byte("x")}})
	for i, task := range k.claim(2) {
		if w.exists(store.CloseID(g, 1)) {
			t.Errorf("the closing task came with %d of 2 ended", i)
		}
		k.done(task)
	}
	if got := w.in(store.CloseID(g, 1), store.Ready); got.Queue != "ends" || string(got.Args) != "x" {
		t.Errorf("closing task = %+v, want it as declared", got.Spec)
	}
	w.seal(g)
	w.release(g)
	w.promote()
	if got := w.list(store.Filter{Kinds: []string{"close"}}); len(got) != 1 {
		t.Errorf("the closing task came %d times, want once", len(got))
	}
}

func groupParent(t *testing.T, w *world) {
	k := w.join()
	parent := k.start(func(s *store.Spec) { s.Kind = "parent" })
	k.park(parent)
	w.opened(2, store.NewGroup{Parent: parent.ID})
	tasks := k.claim(2)
	k.done(tasks[0])
	w.in(parent.ID, store.Parked)
	k.done(tasks[1])
	if got := w.in(parent.ID, store.Ready); got.Wakes != parent.Wakes+1 {
		t.Errorf("wakes = %d, want %d", got.Wakes, parent.Wakes+1)
	}
}

func groupBoth(_ *testing.T, w *world) {
	k := w.join()
	parent := k.start(func(s *store.Spec) { s.Kind = "parent" })
	k.park(parent)
	g, _ := w.opened(1, store.NewGroup{Parent: parent.ID, OnClose: &store.Spec{Kind: "close", Queue: queue}})
	k.done(k.take())
	w.in(parent.ID, store.Ready)
	w.in(store.CloseID(g, 1), store.Ready)
}

func groupKnown(t *testing.T, w *world) {
	g := w.group(store.NewGroup{Name: "first"}, w.spec())
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{{ID: g, Name: "second", Hold: true}}})
	w.ok("Submit", err)
	w.ok("Submit of a known group", res.Groups[0])
	if got := w.groupIn(g, store.GroupFilling); got.Name != "first" || got.Hold || got.Total != 1 {
		t.Errorf("Group = %+v, want it as it stood", got)
	}
	res, err = w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{{ID: g, Seal: true}}})
	w.ok("Submit", err)
	w.ok("Submit of a known group", res.Groups[0])
	w.groupIn(g, store.GroupOpen)
}

func groupNotFound(_ *testing.T, w *world) {
	_, err := w.st.Seal(w.ctx(), w.id())
	w.refused("Seal", err, store.ErrNotFound)
	_, err = w.st.Release(w.ctx(), w.id())
	w.refused("Release", err, store.ErrNotFound)
	_, err = w.st.Abort(w.ctx(), w.id(), "")
	w.refused("Abort", err, store.ErrNotFound)
	_, err = w.st.Group(w.ctx(), w.id())
	w.refused("Group", err, store.ErrNotFound)
}

func groupRetryOpen(_ *testing.T, w *world) {
	k := w.join()
	g, _ := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	tasks := k.claim(2)
	k.fail(tasks[0])
	w.counts(g, 2, 0, 1, 0)
	w.ok("Retry", w.st.Retry(w.ctx(), tasks[0].ID))
	w.counts(g, 2, 0, 0, 0)
	k.done(tasks[1])
	w.groupIn(g, store.GroupOpen)
	k.done(k.take())
	w.groupIn(g, store.GroupClosed)
	w.counts(g, 2, 2, 0, 0)
	w.in(store.CloseID(g, 1), store.Ready)
}

func groupRetryClosed(t *testing.T, w *world) {
	k := w.join()
	g, members := w.opened(1, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
	k.fail(k.take())
	w.groupIn(g, store.GroupClosed)
	w.ok("Retry", w.st.Retry(w.ctx(), members[0]))
	if got := w.groupIn(g, store.GroupOpen); got.Generation != 2 || got.Failed != 0 {
		t.Errorf("Group = generation %d, %d failed, want 2, 0", got.Generation, got.Failed)
	}
	w.promote()
	k.done(k.take())
	w.groupIn(g, store.GroupClosed)
	w.in(store.CloseID(g, 1), store.Ready)
	w.in(store.CloseID(g, 2), store.Ready)
}

func groupList(t *testing.T, w *world) {
	var want []store.ID
	for range 7 {
		want = append([]store.ID{w.group(store.NewGroup{})}, want...)
		w.pass(1)
	}
	var got []store.ID
	page := store.PageRequest{Limit: 3}
	for {
		p, err := w.st.GroupList(w.ctx(), page)
		w.ok("GroupList", err)
		if len(p.Items) > 3 {
			t.Errorf("GroupList = %d groups, want at most 3", len(p.Items))
		}
		for _, g := range p.Items {
			got = append(got, g.ID)
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	w.sameIDs("GroupList", got, want)
}

func groupRetryFilling(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{}, member)
	w.cancel(member.ID)
	w.counts(g, 1, 0, 0, 1)
	w.ok("Retry", w.st.Retry(w.ctx(), member.ID))
	w.reason(member.ID, store.Held, store.ReasonGroup)
	w.counts(g, 1, 0, 0, 0)
	w.seal(g)
	w.promote()
	w.in(member.ID, store.Ready)
}

func groupRetryHeld(_ *testing.T, w *world) {
	member := w.spec()
	g := w.group(store.NewGroup{Hold: true, Seal: true}, member)
	w.cancel(member.ID)
	w.groupIn(g, store.GroupHeld)
	w.ok("Retry", w.st.Retry(w.ctx(), member.ID))
	w.reason(member.ID, store.Held, store.ReasonGroup)
	w.release(g)
	w.promote()
	w.in(member.ID, store.Ready)
}

func groupOnCloseMember(_ *testing.T, w *world) {
	g := store.NewGroup{ID: w.id(), OnClose: &store.Spec{Kind: "close", Queue: queue, Group: w.id()}}
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{g}})
	w.ok("Submit", err)
	w.refused("Submit of the group", res.Groups[0], store.ErrInvalid)
}
