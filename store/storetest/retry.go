package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func retryTests() []test {
	return []test{
		{"Retry makes a failed task ready in its next round", retryFailed},
		{"Retry makes a cancelled task ready", retryCancelled},
		{"Retry in any other state is refused", retryRefused},
		{"Retry of an unknown task is not found", retryUnknown},
		{"Retry whose key is taken by now is a duplicate", retryTaken},
		{"Retry takes its key again", retryTakesKey},
		{"Free in any other state is refused", freeRefused},
		{"Free of one that waits for its group is refused", freeGroup},
		{"Free forgets crashes", freeForgets},
		{"Delete removes a terminal task and all of it", deleteAll},
		{"Delete in any other state is refused", deleteRefused},
		{"Delete lets the id be submitted anew", deleteAnew},
	}
}

func retryFailed(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeRetry})
	task = k.take()
	k.save(task, map[string][]byte{"e": []byte("kept")})
	before := w.get(task.ID)
	k.fail(task)
	w.pass(3)
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	got := w.in(task.ID, store.Ready)
	if got.Round != before.Round+1 || got.Attempts != 0 || got.Crashes != 0 || !got.EndedAt.IsZero() || !got.ExpireAt.IsZero() || got.Reason != "" {
		t.Errorf("Get = %+v, want the next round, nothing spent, no end", got)
	}
	if got.Epoch != before.Epoch || !w.near(got.ReadyAt, w.now()) {
		t.Errorf("epoch = %d, ready at %v, want %d, now", got.Epoch, got.ReadyAt, before.Epoch)
	}
	if got := w.load(task.ID); string(got["e"]) != "kept" {
		t.Errorf("Load = %q, want the checkpoint kept", got)
	}
	if again := k.take(); again.Epoch != before.Epoch+1 {
		t.Errorf("epoch = %d, want %d: a fence of an earlier round must not fit", again.Epoch, before.Epoch+1)
	}
}

func retryCancelled(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.cancel(task.ID)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	again := k.take()
	if again.Asked != "" {
		t.Errorf("Claim told %q, want the old request forgotten", again.Asked)
	}
	k.end(again, store.Outcome{Kind: store.OutcomeRelease})
	w.in(task.ID, store.Ready)
}

func retryRefused(_ *testing.T, w *world) {
	k := w.join()
	ids := waiting(w, k)
	ids["running"] = k.take().ID
	task := k.start()
	k.done(task)
	ids["done"] = task.ID
	for state, id := range ids {
		before := w.get(id)
		w.refused("Retry of a "+state+" task", w.st.Retry(w.ctx(), id), store.ErrState)
		w.same(before)
	}
}

func retryUnknown(_ *testing.T, w *world) {
	w.refused("Retry", w.st.Retry(w.ctx(), w.id()), store.ErrNotFound)
	w.refused("Free", w.st.Free(w.ctx(), w.id()), store.ErrNotFound)
	w.refused("Delete", w.st.Delete(w.ctx(), w.id()), store.ErrNotFound)
}

func retryTaken(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Unique.Key = "key" })
	k.fail(task)
	w.put(func(s *store.Spec) { s.Unique.Key = "key" })
	before := w.get(task.ID)
	w.refused("Retry", w.st.Retry(w.ctx(), task.ID), store.ErrDuplicate)
	w.same(before)
}

func retryTakesKey(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Unique.Key = "key" })
	k.fail(task)
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	res := w.try(w.spec(func(s *store.Spec) { s.Unique.Key = "key" }))
	if !res.Existed || res.ID != task.ID {
		t.Errorf("Submit = %+v, want the retried task to hold its key", res)
	}
}

func freeRefused(_ *testing.T, w *world) {
	k := w.join()
	all := waiting(w, k)
	delete(all, "held")
	task := k.start(func(s *store.Spec) { s.Kind = "done" })
	k.done(task)
	all["done"] = task.ID
	for state, id := range all {
		before := w.get(id)
		w.refused("Free of a "+state+" task", w.st.Free(w.ctx(), id), store.ErrState)
		w.same(before)
	}
}

func freeGroup(_ *testing.T, w *world) {
	member := w.spec()
	w.group(store.NewGroup{Hold: true, Seal: true}, member)
	w.refused("Free", w.st.Free(w.ctx(), member.ID), store.ErrState)
	w.reason(member.ID, store.Held, store.ReasonGroup)
}

func freeForgets(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	task := by.takeSuspect()
	by.end(task, store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	w.ok("Free", w.st.Free(w.ctx(), id))
	if got := w.in(id, store.Ready); got.Suspect || got.CrashRun != 0 || got.Crashes != 0 {
		t.Errorf("freed: suspect %v, %d and %d crashes, want forgotten", got.Suspect, got.CrashRun, got.Crashes)
	}
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{id})
}

func deleteAll(_ *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel} {
		task := k.start(func(s *store.Spec) { s.Unique = store.Unique{Key: "key", For: -1} })
		w.send(task.ID, "m")
		k.save(task, map[string][]byte{"e": []byte("1")})
		k.end(task, store.Outcome{Kind: out})
		w.ok("Delete", w.st.Delete(w.ctx(), task.ID))
		_, err := w.st.Get(w.ctx(), task.ID)
		w.refused("Get", err, store.ErrNotFound)
		_, err = w.st.Load(w.ctx(), task.ID)
		w.refused("Load", err, store.ErrNotFound)
		w.refused("Delete again", w.st.Delete(w.ctx(), task.ID), store.ErrNotFound)
	}
}

// I12
func deleteRefused(_ *testing.T, w *world) {
	k := w.join()
	all := waiting(w, k)
	all["running"] = k.start(func(s *store.Spec) { s.Kind = "runs" }).ID
	for state, id := range all {
		before := w.get(id)
		w.refused("Delete of a "+state+" task", w.st.Delete(w.ctx(), id), store.ErrState)
		w.same(before)
	}
}

func deleteAnew(t *testing.T, w *world) {
	k := w.join()
	s := w.spec()
	w.submit(s)
	k.done(k.take())
	w.ok("Delete", w.st.Delete(w.ctx(), s.ID))
	if res := w.submit(s)[0]; res.Existed || res.State != store.Ready {
		t.Errorf("Submit = %+v, want a new task", res)
	}
}
