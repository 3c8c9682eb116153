package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func followTests() []test {
	return []test{
		{"follow-ups are stored with the outcome", followStored},
		{"every outcome carries follow-ups", followEvery},
		{"groups come before the follow-ups that join them", followGroups},
		{"a known id among them has no effect", followKnown},
		{"a known member among them has no effect, though its group takes no more", followKnownMember},
		{"a taken key never fails the outcome", followTaken},
		{"more than the limit are refused, and nothing is written", followLimit},
		{"a follow-up into a group that takes no more is refused, and nothing is written", followShut},
		{"OnEnd inherits nothing", followOnEnd},
		{"OnEnd comes once per round", followRounds},
		{"the ended task does not wake for its OnEnd task", followNoWake},
	}
}

func followStored(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	specs := []store.Spec{w.spec(), w.spec(w.delay(5)), w.spec(func(s *store.Spec) { s.Parent = task.ID })}
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Follow: specs})
	w.in(specs[0].ID, store.Ready)
	w.in(specs[1].ID, store.Scheduled)
	if got := w.in(specs[2].ID, store.Ready); got.Parent != task.ID {
		t.Errorf("parent = %v, want %v", got.Parent, task.ID)
	}
}

func followEvery(_ *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{
		store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark, store.OutcomeRelease, store.OutcomeHold,
	} {
		task := k.start(func(s *store.Spec) { s.Kind = "of." + string(out) })
		s := w.spec()
		k.end(task, store.Outcome{Kind: out, Reason: "look", Follow: []store.Spec{s}, Entries: map[string][]byte{"e": []byte("1")}})
		w.in(s.ID, store.Ready)
		if got := w.load(task.ID, "e"); string(got["e"]) != "1" {
			w.t.Errorf("Load after %s = %q, want the entry of the outcome", out, got)
		}
	}
}

func followGroups(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	g := store.NewGroup{ID: w.id(), Seal: true, Parent: task.ID}
	members := w.specs(2, func(s *store.Spec) { s.Group = g.ID })
	k.end(task, store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes, Groups: []store.NewGroup{g}, Follow: members})
	if got := w.readGroup(g.ID); got.Total != 2 || got.State != store.GroupOpen {
		t.Errorf("Group = %+v, want 2 members, open", got)
	}
	w.promote()
	for _, member := range k.claim(9) {
		w.in(task.ID, store.Parked)
		k.done(member)
	}
	w.in(task.ID, store.Ready)
}

func followKnown(_ *testing.T, w *world) {
	k := w.join()
	known := k.start()
	k.done(known)
	before := w.get(known.ID)
	k.end(k.start(), store.Outcome{Kind: store.OutcomeDone, Follow: []store.Spec{w.spec(func(s *store.Spec) { s.ID = known.ID })}})
	w.same(before)
}

func followTaken(t *testing.T, w *world) {
	k := w.join()
	holder := w.put(func(s *store.Spec) { s.Unique.Key, s.Kind = "key", "other" })
	task := k.start()
	s := w.spec(func(s *store.Spec) { s.Unique, s.Kind = store.Unique{Key: "key", OnConflict: store.Reject}, "other" })
	if state := k.end(task, store.Outcome{Kind: store.OutcomeDone, Follow: []store.Spec{s}}); state != store.Done {
		t.Errorf("Complete = %q, want done", state)
	}
	w.in(holder, store.Ready)
	if w.exists(s.ID) {
		t.Errorf("the newcomer was stored beside the holder of its key")
	}
}

func followLimit(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	before := w.get(task.ID)
	specs := w.specs(store.FollowLimit + 1)
	w.refused("Complete", k.try(task.Fence(), store.Outcome{Kind: store.OutcomeDone, Follow: specs}).Err, store.ErrInvalid)
	w.same(before)
	if w.exists(specs[0].ID) {
		w.t.Errorf("a follow-up of a refused outcome was stored")
	}
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Follow: specs[:store.FollowLimit]})
	w.in(specs[store.FollowLimit-1].ID, store.Ready)
}

func followShut(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	g := w.group(store.NewGroup{Seal: true})
	before := w.get(task.ID)
	out := store.Outcome{
		Kind: store.OutcomeDone, Result: []byte("r"), Entries: map[string][]byte{"e": []byte("1")},
		Follow: []store.Spec{w.spec(), w.spec(func(s *store.Spec) { s.Group = g })},
	}
	w.refused("Complete", k.try(task.Fence(), out).Err, store.ErrState)
	w.same(before)
	if w.exists(out.Follow[0].ID) || len(w.load(task.ID)) != 0 {
		w.t.Errorf("a part of a refused outcome was written")
	}
}

func followOnEnd(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) {
		s.Lane, s.Limit, s.Labels, s.Correlation, s.Trace = "l", "l", map[string]string{"a": "b"}, "c", "t"
		s.OnEnd = &store.Spec{Kind: "after", Queue: "ends", Args: []byte("x"), Priority: 3, Delay: w.units(2)}
	})
	w.in(task.ID, store.Running)
	if w.exists(store.OnEndID(task.ID, 0)) {
		t.Errorf("the OnEnd task came before the end")
	}
	k.done(task)
	got := w.in(store.OnEndID(task.ID, w.get(task.ID).Round), store.Scheduled)
	if got.Kind != "after" || got.Queue != "ends" || string(got.Args) != "x" || got.Priority != 3 || got.Parent != task.ID {
		t.Errorf("OnEnd task = %+v, want it as declared, its parent the ended task", got.Spec)
	}
	if got.Lane != "" || got.Limit != "" || len(got.Labels) != 0 || got.Correlation != "" || got.Trace != "" || !got.Group.IsZero() {
		t.Errorf("OnEnd task = %+v, want nothing inherited", got.Spec)
	}
}

func followRounds(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	first := w.get(task.ID).Round
	k.fail(task)
	w.in(store.OnEndID(task.ID, first), store.Ready)
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	if got := w.get(task.ID).Round; got != first+1 {
		w.t.Errorf("round = %d, want %d", got, first+1)
	}
	k.done(k.take())
	w.in(store.OnEndID(task.ID, first+1), store.Ready)
	if got := w.list(store.Filter{Kinds: []string{"after"}}); len(got) != 2 {
		w.t.Errorf("OnEnd came %d times, want once per round", len(got))
	}
}

func followNoWake(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	k.done(task)
	before := w.get(task.ID)
	k.done(k.take("after"))
	if got := w.get(task.ID); got.Wakes != before.Wakes || got.State != store.Done {
		t.Errorf("the ended task = %q, %d wakes, want %q, %d", got.State, got.Wakes, before.State, before.Wakes)
	}
}

func followKnownMember(_ *testing.T, w *world) {
	k := w.join()
	member := w.spec()
	g := w.group(store.NewGroup{Seal: true}, member)
	member.Group = g
	k.end(k.start(), store.Outcome{Kind: store.OutcomeDone, Follow: []store.Spec{member}})
	w.counts(g, 1, 0, 0, 0)
}
