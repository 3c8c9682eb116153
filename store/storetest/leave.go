package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func leaveTests() []test {
	return []test{
		{"its tasks go back without attempt or crash", leavePutsBack},
		{"many tasks go back in chunks", leaveChunks},
		{"it is dead from then on", leaveDead},
		{"it may be repeated", leaveTwice},
		{"Recover finishes what it could not", leaveUnfinished},
		{"a request ends the task that is put back", leaveAsked},
		{"a crash-spending task pays nothing", leaveSpends},
	}
}

// FT-17
func leavePutsBack(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	if k.leave() {
		t.Errorf("Leave says more, want all put back")
	}
	got := w.in(task.ID, store.Ready)
	if got.Attempts != 0 || got.Crashes != 0 || got.CrashRun != 0 || got.Worker != "" {
		t.Errorf("Get = %d attempts, %d crashes, want none", got.Attempts, got.Crashes)
	}
	if last := got.History[len(got.History)-1]; last.Kind != store.EventRecovered {
		t.Errorf("last event = %q, want recovered", last.Kind)
	}
	by.done(by.take())
}

func leaveChunks(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	n := 350
	w.submit(w.specs(n)...)
	k.claim(n)
	passes := 0
	for k.leave() {
		if passes++; passes > n {
			t.Fatalf("Leave still says more after %d passes", passes)
		}
	}
	if got := len(by.claim(n)); got != n {
		t.Errorf("Claim took %d tasks, want all %d", got, n)
	}
	for _, task := range w.list(store.Filter{}) {
		if task.Crashes != 0 || task.Epoch != 2 {
			t.Fatalf("task = %d crashes, epoch %d, want 0, 2", task.Crashes, task.Epoch)
		}
	}
}

func leaveDead(_ *testing.T, w *world) {
	k := w.join()
	k.leave()
	_, err := k.tryBeat()
	w.refused("Beat", err, store.ErrDead)
	_, err = k.st.Claim(w.ctx(), k.request(1))
	w.refused("Claim", err, store.ErrDead)
	// The process may join anew, under another id.
	again := w.joinOn(k.st, deadAfter)
	again.beat()
}

func leaveTwice(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.leave()
	if k.leave() {
		t.Errorf("Leave again says more")
	}
	again := by.take()
	by.recoverAll()
	k.leave()
	if got := w.in(task.ID, store.Running); got.Fence() != again.Fence() {
		t.Errorf("fence = %+v, want %+v: a repeated Leave must not touch what others hold", got.Fence(), again.Fence())
	}
	if _, found := k.record(); found {
		t.Errorf("the record of a worker that left and holds nothing is still there")
	}
}

func leaveUnfinished(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	n := 350
	w.submit(w.specs(n)...)
	k.claim(n)
	k.leave()
	for _, r := range by.recoverAll() {
		if r.Crash || r.Death != store.DeathLeft || r.Worker != k.id {
			t.Fatalf("Recover = %+v, want left and no crash", r)
		}
	}
	if got := len(by.claim(n)); got != n {
		t.Errorf("Claim took %d tasks, want all %d", got, n)
	}
}

func leaveAsked(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.cancel(task.ID)
	k.leave()
	w.reason(task.ID, store.Cancelled, store.ReasonCancelled)
}

func leaveSpends(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Retry = store.Retry{Max: 1, CrashSpends: true} })
	k.leave()
	if got := w.in(task.ID, store.Ready); got.Attempts != 0 {
		t.Errorf("attempts = %d, want 0", got.Attempts)
	}
}
