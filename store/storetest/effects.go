package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

// effects are in an order in which the later may change what the earlier have read.
func effects() []effect {
	return []effect{
		{"state, reason and time", effectState},
		{"OnEnd comes exactly once", effectOnEnd},
		{"follow-ups come with the road that carries them", effectFollow},
		{"the group counts it and closes", effectGroup},
		{"the parents are woken once", effectParents},
		{"the slot is free", effectSlot},
		{"a notice comes", effectNotice},
		{"the ending is final", effectFinal},
		{"the key is free", effectKey},
		{"it expires when its keepers have ended", effectExpiry},
	}
}

func effectState(t *testing.T, s *scene, r road) {
	got := s.w.get(s.id)
	if got.State != r.state || got.Reason != r.reason {
		t.Errorf("state = %q, reason %q, want %q, %q", got.State, got.Reason, r.state, r.reason)
	}
	if got.EndedAt.IsZero() || got.EndedAt.After(s.w.now()) || got.Worker != "" || !got.Nonce.IsZero() || got.Staged != nil {
		t.Errorf("Get = ended %v, worker %q, nonce %v, want ended and nobody's", got.EndedAt, got.Worker, got.Nonce)
	}
	if last := got.History[len(got.History)-1]; last.Kind != store.EventEnded {
		t.Errorf("last event = %q, want ended", last.Kind)
	}
	for _, k := range s.w.workers {
		s.w.sameIDs("Holds of "+k.id, k.holds(), []store.ID{})
	}
}

func effectOnEnd(t *testing.T, s *scene, _ road) {
	got := s.w.list(store.Filter{Kinds: []string{after}})
	if len(got) != 1 || got[0].ID != store.OnEndID(s.id, s.w.get(s.id).Round) || got[0].Parent != s.id || got[0].State != store.Ready {
		t.Errorf("OnEnd = %+v, want one ready task of the round", got)
	}
}

func effectFollow(t *testing.T, s *scene, r road) {
	for i, f := range s.follow {
		if got := s.w.exists(f.ID); got != r.carries {
			t.Errorf("follow-up %d stored = %v, want %v", i, got, r.carries)
		}
	}
	if _, err := s.w.st.Group(s.w.ctx(), s.newGroup.ID); (err == nil) != r.carries {
		t.Errorf("Group of the outcome = %v, want stored: %v", err, r.carries)
	}
}

func effectGroup(t *testing.T, s *scene, r road) {
	g := s.w.groupIn(s.group, store.GroupClosed)
	want := map[store.State]int64{r.state: 1}
	s.w.counts(s.group, 1, want[store.Done], want[store.Failed], want[store.Cancelled])
	if g.Generation != 1 || g.ClosedAt.IsZero() {
		t.Errorf("Group = generation %d, closed at %v, want 1, a time", g.Generation, g.ClosedAt)
	}
	if got := s.w.list(store.Filter{Kinds: []string{closing}}); len(got) != 1 || got[0].ID != store.CloseID(s.group, 1) {
		t.Errorf("closing tasks = %v, want one", ids(got))
	}
}

func effectParents(t *testing.T, s *scene, _ road) {
	for _, parent := range []store.Task{s.parent, s.groupParent} {
		if got := s.w.in(parent.ID, store.Ready); got.Wakes != parent.Wakes+1 {
			t.Errorf("%s = %d wakes, want %d", parent.Kind, got.Wakes, parent.Wakes+1)
		}
	}
}

func effectSlot(t *testing.T, s *scene, _ road) {
	if got := s.w.inUse("slot"); got != 0 {
		t.Errorf("InUse = %d, want 0", got)
	}
}

func effectNotice(_ *testing.T, s *scene, _ road) {
	s.watcher.want(store.NoticeTask, "", s.id)
}

// effectFinal tries all that could move an ended task.
func effectFinal(_ *testing.T, s *scene, _ road) {
	before := s.w.get(s.id)
	s.w.cancel(s.id)
	s.w.refused("Free", s.w.st.Free(s.w.ctx(), s.id), store.ErrState)
	s.w.refused("Send", s.w.st.Send(s.w.ctx(), store.Message{ID: s.w.id(), Task: s.id, Name: "n"}), store.ErrState)
	s.w.promote()
	s.by.recoverAll()
	s.w.prune()
	s.w.sameIDs("Claim", ids(func() []store.Task {
		var again []store.Task
		for _, task := range s.by.claim(9, subject) {
			if task.ID == s.id {
				again = append(again, task)
			}
			s.by.end(task, store.Outcome{Kind: store.OutcomeRelease})
		}
		return again
	}()), []store.ID{})
	s.w.same(before)
}

func effectKey(t *testing.T, s *scene, _ road) {
	n := s.w.spec(unique(store.Keep, 0), func(n *store.Spec) { n.Kind = subject })
	res := s.w.try(n)
	want := n.ID
	if !s.newcomer.IsZero() {
		want = s.newcomer
	}
	if res.Err != nil || res.ID != want {
		t.Errorf("Submit of the same key = %+v, want %v to stand", res, want)
	}
}

// effectExpiry ends the OnEnd and the closing task: both keep the record.
func effectExpiry(t *testing.T, s *scene, r road) {
	w := s.w
	if got := w.get(s.id).ExpireAt; !got.IsZero() {
		t.Errorf("ExpireAt = %v, want none before its keepers have ended", got)
	}
	for _, kind := range []string{closing, after} {
		s.by.done(s.by.take(kind))
	}
	w.promote()
	if got := w.get(s.id).ExpireAt; got.IsZero() != (r.state == store.Failed) {
		t.Errorf("ExpireAt of a %s task = %v", r.state, got)
	}
	w.pass(100)
	w.promote()
	w.prune()
	if got, want := w.exists(s.id), r.state == store.Failed; got != want {
		t.Errorf("the %s task is there: %v, want %v", r.state, got, want)
	}
}
