package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func stageTests() []test {
	return []test{
		{"a staged task reads as ending, and keeps slot and key", stageReads},
		{"nothing of it is applied before it is settled", stageNothingYet},
		{"Complete applies the staged outcome, whatever it says itself", stageComplete},
		{"Save settles it, and is fenced", stageSave},
		{"Leave settles it", stageLeave},
		{"Recover settles it without a crash", stageRecover},
		{"an outcome that does not end is settled as it says", stagePark},
		{"a request does not override a staged done", stageCancel},
		{"a second one is refused", stageTwice},
		{"a wrong fence is refused", stageFenced},
		{"a bad outcome is refused", stageInvalid},
	}
}

// stager is the store's Stager; the case is skipped where there is none.
func (w *world) stager() store.Stager {
	w.t.Helper()
	s, ok := w.st.(store.Stager)
	if !ok {
		w.t.Skip("the engine cannot stage")
	}
	return s
}

func (w *world) stage(task store.Task, out store.Outcome) {
	w.t.Helper()
	w.ok("Stage", w.stager().Stage(w.ctx(), store.Completion{Fence: task.Fence(), Outcome: out}))
}

// staged starts a task and stages done with a result, an entry and a follow-up.
func (w *world) staged(k *worker, edits ...edit) (store.Task, store.Outcome) {
	w.t.Helper()
	task := k.start(edits...)
	out := store.Outcome{
		Kind: store.OutcomeDone, Result: []byte("staged"), Entries: map[string][]byte{"e": []byte("1")},
		Follow: []store.Spec{w.spec(func(s *store.Spec) { s.Kind = "follow" })},
	}
	w.stage(task, out)
	return task, out
}

// settled checks that the staged outcome of staged was applied.
func (w *world) settled(id store.ID, out store.Outcome) {
	w.t.Helper()
	if got := w.in(id, store.Done); string(got.Result) != "staged" || got.Staged != nil || got.Crashes != 0 {
		w.t.Errorf("Get = result %q, staged %v, %d crashes, want the staged result applied", got.Result, got.Staged, got.Crashes)
	}
	w.in(out.Follow[0].ID, store.Ready)
	if got := w.load(id); string(got["e"]) != "1" {
		w.t.Errorf("Load = %q, want the entry of the outcome", got)
	}
}

func stageReads(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "one", Running: 1})
	task, _ := w.staged(k, unique(store.Keep, 0), limited("one"))
	got := w.in(task.ID, store.Ending)
	if got.State != store.Running || got.Worker != k.id || got.Fence() != task.Fence() || got.Staged == nil {
		t.Errorf("Get = %+v, want it running under its fence", got)
	}
	w.taken(task.ID)
	if got := w.inUse("one"); got != 1 {
		t.Errorf("InUse = %d, want 1", got)
	}
	w.sameIDs("List of ending", ids(w.list(store.Filter{States: []store.State{store.Ending}})), []store.ID{task.ID})
	w.sameIDs("Holds", k.holds(), []store.ID{task.ID})
}

func stageNothingYet(t *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	w.promote()
	if w.exists(out.Follow[0].ID) || len(w.load(task.ID)) != 0 || len(w.get(task.ID).Result) != 0 {
		t.Errorf("a part of the staged outcome was applied")
	}
}

func stageComplete(t *testing.T, w *world) {
	k := w.join()
	for _, kind := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeFail, store.OutcomeRelease, store.OutcomeRetry} {
		task, out := w.staged(k)
		if got := k.end(task, store.Outcome{Kind: kind, Result: []byte("other")}); got != store.Done {
			t.Errorf("Complete with %s = %q, want done", kind, got)
		}
		w.settled(task.ID, out)
	}
}

func stageSave(_ *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"late": []byte("1")}})
	w.refused("Save", err, store.ErrFenced)
	w.settled(task.ID, out)
	if got := w.load(task.ID); len(got) != 1 {
		w.t.Errorf("Load = %q, want the entry of the outcome alone", got)
	}
}

func stageLeave(_ *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	k.leave()
	w.settled(task.ID, out)
}

// FT-04
func stageRecover(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task, out := w.staged(k)
	tasks := k.die(by)
	if len(tasks) != 1 || !tasks[0].Settled || tasks[0].Crash || tasks[0].State != store.Done {
		t.Errorf("Recover = %+v, want it settled as done, no crash", tasks)
	}
	w.settled(task.ID, out)
}

func stagePark(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.stage(task, store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes})
	w.in(task.ID, store.Ending)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.in(task.ID, store.Parked)
	task = k.start()
	w.stage(task, store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes})
	w.send(task.ID, "m")
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.in(task.ID, store.Ready)
}

func stageCancel(_ *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	w.cancel(task.ID)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.settled(task.ID, out)
}

func stageTwice(_ *testing.T, w *world) {
	k := w.join()
	task, out := w.staged(k)
	err := w.stager().Stage(w.ctx(), store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeFail}})
	w.refused("Stage again", err, store.ErrState)
	k.done(task)
	w.settled(task.ID, out)
	err = w.stager().Stage(w.ctx(), store.Completion{Fence: task.Fence(), Outcome: out})
	w.refused("Stage after the end", err, store.ErrFenced)
}

func stageFenced(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	bad := task.Fence()
	bad.Epoch++
	err := w.stager().Stage(w.ctx(), store.Completion{Fence: bad, Outcome: store.Outcome{Kind: store.OutcomeDone}})
	w.refused("Stage", err, store.ErrFenced)
	w.in(task.ID, store.Running)
}

func stageInvalid(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for _, out := range []store.Outcome{{}, {Kind: store.OutcomeDone, Follow: w.specs(store.FollowLimit + 1)}, {Kind: store.OutcomeDone, Follow: make([]store.Spec, 1)}} {
		w.refused("Stage", w.stager().Stage(w.ctx(), store.Completion{Fence: task.Fence(), Outcome: out}), store.ErrInvalid)
	}
	w.in(task.ID, store.Running)
}
