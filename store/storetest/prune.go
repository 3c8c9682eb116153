package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func pruneTests() []test {
	return []test{
		{"done and cancelled stay for their retention", pruneRetention},
		{"without retention they stay for the horizon", pruneHorizon},
		{"a retention below the horizon is the horizon", pruneShort},
		{"a negative retention is for ever", pruneForEver},
		{"failed is kept until Retry or Delete", pruneFailed},
		{"what has not ended is never removed", pruneLiving},
		{"it works in chunks", pruneChunks},
		{"a task does not expire before its OnEnd task ended", pruneOnEnd},
		{"a task does not expire before its OnEnd task was deleted", pruneOnEndDeleted},
		{"a task does not expire while its OnEnd task has failed and may be retried", pruneOnEndFailed},
		{"a task does not expire while its OnEnd task was cancelled and may be retried", pruneOnEndCancelled},
		{"without retention the payload stays until the OnEnd task has ended", pruneStripOnEnd},
		{"without retention a member's payload stays until the keeper has ended", pruneStripMember},
		{"what belongs to a removed task goes with it", pruneAll},
		{"a removed task frees the key that it kept", pruneKey},
		{"statistics stay for as long as the contract says", pruneStats},
	}
}

func retain(d time.Duration) edit { return func(s *store.Spec) { s.Retention = d } }

func pruneRetention(t *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeCancel} {
		task := k.start(retain(w.units(50)))
		k.end(task, store.Outcome{Kind: out})
		if got, want := w.get(task.ID).ExpireAt, w.now().Add(w.units(50)); !w.near(got, want) {
			t.Errorf("ExpireAt = %v, want %v", got, want)
		}
		w.pass(48)
		if n := w.prune(); n != 0 {
			t.Errorf("Prune removed %d before the retention was over, want 0", n)
		}
		w.pass(3)
		if n := w.prune(); n != 1 || w.exists(task.ID) {
			t.Errorf("Prune removed %d, want the task", n)
		}
	}
}

func pruneHorizon(t *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(0))
	k.done(task)
	w.Pass(w.timing.Horizon - 2*w.u)
	w.prune()
	w.in(task.ID, store.Done)
	w.pass(3)
	if n := w.prune(); n != 1 || w.exists(task.ID) {
		t.Errorf("Prune removed %d, want the task", n)
	}
}

func pruneShort(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(w.u))
	k.done(task)
	w.pass(5)
	w.prune()
	w.in(task.ID, store.Done)
}

func pruneForEver(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(-1))
	k.done(task)
	w.pass(2000)
	w.prune()
	w.in(task.ID, store.Done)
}

func pruneFailed(_ *testing.T, w *world) {
	k := w.join()
	for _, d := range []time.Duration{0, w.u, -1} {
		task := k.start(retain(d))
		k.fail(task)
		w.pass(500)
		w.promote()
		w.prune()
		w.in(task.ID, store.Failed)
	}
}

// I12, X-11
func pruneLiving(_ *testing.T, w *world) {
	k := w.join()
	all := waiting(w, k, retain(0))
	all["running"] = k.start(retain(0), func(s *store.Spec) { s.Kind = "runs" }).ID
	before := map[store.ID]store.State{}
	for _, id := range all {
		before[id] = w.get(id).State
	}
	w.pass(2000)
	w.prune()
	for id, state := range before {
		w.in(id, state)
	}
}

func pruneChunks(t *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(7, retain(0))...)
	for _, task := range k.claim(7) {
		k.done(task)
	}
	w.Pass(w.timing.Horizon + w.u)
	for _, want := range []int{3, 3, 1, 0} {
		n, err := w.st.Prune(w.ctx(), 3)
		w.ok("Prune", err)
		if n != want {
			t.Errorf("Prune = %d, want %d", n, want)
		}
	}
}

func pruneOnEnd(t *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(w.units(30)), func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue, Retention: -1} })
	k.done(task)
	if got := w.get(task.ID).ExpireAt; !got.IsZero() {
		t.Errorf("ExpireAt = %v, want none before the OnEnd task ended", got)
	}
	w.pass(200)
	w.promote()
	w.prune()
	w.in(task.ID, store.Done)
	k.done(k.take("after"))
	w.promote()
	w.in(task.ID, store.Done)
	w.pass(31)
	w.promote()
	if w.prune(); w.exists(task.ID) {
		t.Errorf("the task is still there long after its OnEnd task ended")
	}
}

func pruneOnEndDeleted(t *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(w.units(30)), func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	k.done(task)
	after := k.take("after")
	k.fail(after)
	w.ok("Delete", w.st.Delete(w.ctx(), after.ID))
	w.promote()
	w.pass(200)
	w.promote()
	if w.prune(); w.exists(task.ID) {
		t.Errorf("the task is still there long after its OnEnd task was deleted")
	}
}

func pruneOnEndFailed(t *testing.T, w *world) {
	k := w.join()
	for _, retention := range []time.Duration{0, w.units(30)} {
		task := k.start(retain(retention), func(s *store.Spec) {
			s.Args, s.OnEnd = []byte("args"), &store.Spec{Kind: "after", Queue: queue, Retention: -1}
		})
		k.end(task, store.Outcome{Kind: store.OutcomeDone, Result: []byte("result")})
		after := k.take("after")
		k.fail(after)
		for range 2 {
			w.Pass(w.timing.Horizon + w.units(100))
			w.promote()
			w.prune()
			if got := w.in(task.ID, store.Done); got.Stripped || string(got.Args) != "args" || string(got.Result) != "result" || !got.ExpireAt.IsZero() {
				t.Errorf("the task is %+v, want it whole while its OnEnd task may be retried", got)
			}
			if w.get(after.ID).State == store.Failed {
				w.ok("Retry", w.st.Retry(w.ctx(), after.ID))
			}
		}
		k.done(k.take("after"))
		w.promote()
		if w.prune(); w.exists(task.ID) {
			t.Errorf("the task is still there after its OnEnd task was retried and done")
		}
	}
}

func pruneOnEndCancelled(t *testing.T, w *world) {
	k := w.join()
	for _, c := range []struct{ keep, horizons time.Duration }{{0, 1}, {3 * w.timing.Horizon, 3}} {
		task := k.start(retain(0), func(s *store.Spec) {
			s.Args, s.OnEnd = []byte("args"), &store.Spec{Kind: "after", Queue: queue, Retention: c.keep}
		})
		k.done(task)
		after := k.take("after")
		k.end(after, store.Outcome{Kind: store.OutcomeCancel})
		if got := w.get(task.ID); got.Stripped != (c.keep == 0) {
			t.Errorf("after an OnEnd task that is kept for %v was cancelled, Stripped = %v, want %v", c.keep, got.Stripped, c.keep == 0)
		}
		w.Pass(c.horizons*w.timing.Horizon - 2*w.u)
		w.prune()
		w.in(task.ID, store.Done)
		w.pass(3)
		w.prune() // what it follows may go with it, or in the next pass
		if w.prune(); w.exists(task.ID) || w.exists(after.ID) {
			t.Errorf("the task or its OnEnd task is still there long after the retention of both")
		}
	}
}

func pruneAll(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(retain(w.units(30)))
	w.send(task.ID, "m")
	k.save(task, map[string][]byte{"e": []byte("1")})
	k.done(task)
	w.pass(31)
	w.prune()
	_, err := w.st.Get(w.ctx(), task.ID)
	w.refused("Get", err, store.ErrNotFound)
	_, err = w.st.Load(w.ctx(), task.ID)
	w.refused("Load", err, store.ErrNotFound)
	err = w.st.Send(w.ctx(), store.Message{ID: w.id(), Task: task.ID, Name: "n"})
	w.refused("Send", err, store.ErrNotFound)
	w.ok("Export", w.st.Export(w.ctx(), func(e store.Entry) error {
		if e.Task != nil || e.Message != nil {
			w.t.Errorf("Export = %+v, want nothing of the removed task", e)
		}
		return nil
	}))
}

func pruneKey(t *testing.T, w *world) {
	k := w.join()
	unique := func(s *store.Spec) { s.Unique = store.Unique{Key: "key", For: -1} }
	task := k.start(retain(w.units(30)), unique)
	k.done(task)
	if res := w.try(w.spec(unique)); !res.Existed || res.ID != task.ID {
		t.Errorf("Submit = %+v, want the key held by the record", res)
	}
	w.pass(31)
	w.prune()
	if res := w.try(w.spec(unique)); res.Existed || res.Err != nil {
		t.Errorf("Submit after Prune = %+v, want a new task", res)
	}
}

// stripped checks whether the payload of a task is gone.
func (w *world) stripped(id store.ID, want bool) {
	w.t.Helper()
	if got := w.get(id); got.Stripped != want || (len(got.Args) == 0) != want {
		w.t.Errorf("stripped = %v with args %q, want %v", got.Stripped, got.Args, want)
	}
}

func secret(s *store.Spec) { s.Retention, s.Args = 0, []byte("secret") }

// The OnEnd task may read what its parent left.
func pruneStripOnEnd(_ *testing.T, w *world) {
	k := w.join()
	task := k.start(secret, func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	k.save(task, map[string][]byte{"e": []byte("1")})
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Result: []byte("r")})
	w.stripped(task.ID, false)
	if got := w.load(task.ID); string(got["e"]) != "1" {
		w.t.Errorf("Load = %q, want what was saved", got)
	}
	k.done(k.take("after"))
	w.promote()
	w.stripped(task.ID, true)
}

// The closing task may read what the members left.
func pruneStripMember(_ *testing.T, w *world) {
	k := w.join()
	_, members := w.opened(2, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}}, secret)
	for _, task := range k.claim(2) {
		k.done(task)
	}
	w.promote()
	w.stripped(members[0], false)
	k.done(k.take("close"))
	w.promote()
	w.stripped(members[0], true)
	w.stripped(members[1], true)
}

func pruneStats(t *testing.T, w *world) {
	if !w.e.Virtual {
		return // 31 days do not pass on another clock
	}
	w.Pass(time.Minute - w.now().Sub(w.now().Truncate(time.Minute))) // a minute begins
	first := w.now()
	for range 3 {
		w.put(func(s *store.Spec) { s.Kind = "a" })
		w.put(func(s *store.Spec) { s.Kind = "b" })
		w.Pass(time.Minute)
	}
	left := func() (begins []time.Time) {
		all, err := w.st.Stats(w.ctx(), first, w.now().Add(time.Minute))
		w.ok("Stats", err)
		for _, m := range all {
			begins = append(begins, m.At)
		}
		return slices.Compact(begins)
	}
	w.Pass(first.Add(store.StatsKept).Sub(w.now()))
	w.prune()
	if got := left(); len(got) != 3 {
		t.Errorf("Stats = minutes %v after 31 days, want 3", got)
	}
	w.put() // counting goes on, and removes nothing by itself
	w.Pass(time.Minute)
	w.prune()
	if got := left(); len(got) != 3 || !got[0].Equal(first.Add(time.Minute)) {
		t.Errorf("Stats = minutes %v a minute later, want the first one gone", got)
	}
	w.Pass(time.Hour)
	for range 10 {
		n, err := w.st.Prune(w.ctx(), 1)
		w.ok("Prune", err)
		if n > 1 {
			t.Errorf("Prune removed %d, want 1 at most", n)
		}
	}
	if got := left(); len(got) != 1 {
		t.Errorf("Stats = minutes %v in the end, want that of the last submit alone", got)
	}
}
