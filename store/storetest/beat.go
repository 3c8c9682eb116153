package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func beatTests() []test {
	return []test{
		{"it keeps the load and the time", beatRecord},
		{"it tells whether there is work", beatWork},
		{"it does not tell of work that cannot be claimed", beatNoWork},
		{"it tells the evidence that the store sees", beatEvidence},
		{"it advises the worker's own beat in a small fleet", beatEvery},
		{"it never advises over a fifth of the shortest dead-after", beatEveryBound},
		{"suspects are told to one worker per dead-after", beatSuspects},
		{"it touches no other worker", beatOthers},
	}
}

func beatRecord(t *testing.T, w *world) {
	k := w.join()
	w.pass(3)
	load := store.Load{State: "draining", Running: 4, Stuck: 1}
	_, err := k.st.Beat(w.ctx(), store.BeatRequest{Worker: k.id, Load: load})
	w.ok("Beat", err)
	if got, _ := k.record(); got.Load != load || !w.near(got.BeatAt, w.now()) {
		t.Errorf("record = %+v, want the load, beaten now", got)
	}
}

func beatWork(t *testing.T, w *world) {
	k := w.join()
	if k.beat().Work {
		t.Errorf("Beat told of work in an empty store")
	}
	w.put()
	if !k.beat().Work {
		t.Errorf("Beat told of no work, want some")
	}
	k.take()
	if k.beat().Work {
		t.Errorf("Beat told of work that was taken")
	}
}

func beatNoWork(t *testing.T, w *world) {
	k := w.join()
	w.put(func(s *store.Spec) { s.Kind = "unserved" })
	w.put(func(s *store.Spec) { s.Queue = "unserved" })
	w.put(lane("paused"))
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Lane: "paused"}, 0, "test"))
	w.limit(store.Limit{Key: "full", Running: 1})
	w.submit(w.specs(2, func(s *store.Spec) { s.Limit = "full" })...)
	w.put(ordered(store.OrderSkip), lane("waits"), w.delay(50))
	w.put(ordered(store.OrderSkip), lane("waits"))
	k.take()
	if k.beat().Work {
		t.Errorf("Beat told of work, and none can be claimed")
	}
	if got := k.claim(9); len(got) != 0 {
		t.Errorf("Claim took %d tasks, want 0", len(got))
	}
}

func beatEvidence(t *testing.T, w *world) {
	if got := w.join().beat().Evidence; got != w.evidence {
		t.Errorf("Beat = evidence %q, want %q", got, w.evidence)
	}
}

func beatEvery(t *testing.T, w *world) {
	if got := w.join().beat().Every; got != w.u {
		t.Errorf("Beat = every %v, want %v", got, w.u)
	}
}

func beatEveryBound(t *testing.T, w *world) {
	k := w.join()
	w.joinOn(w.Open(t), 6)
	// So many that a beat advised by their number alone would be too rare for the hastiest of them.
	for range w.scaled(600) {
		w.joinOn(k.st, deadAfter)
	}
	if got := k.beat().Every; got < w.u || got > w.units(6)/5 {
		t.Errorf("Beat = every %v, want %v to %v", got, w.u, w.units(6)/5)
	}
}

func beatSuspects(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	if a.beat().Suspects || b.beat().Suspects {
		t.Errorf("Beat told of suspects, and there are none")
	}
	w.suspect(a)
	w.pass(deadAfter)
	first, second := a.beat().Suspects, b.beat().Suspects
	if first == second {
		t.Errorf("Beat told of suspects to a %v and b %v, want exactly one", first, second)
	}
	w.pass(1)
	if a.beat().Suspects || b.beat().Suspects {
		t.Errorf("Beat told of suspects again within one dead-after")
	}
	told := 0
	for range deadAfter + 1 {
		for _, k := range []*worker{a, b} {
			if k.beat().Suspects {
				told++
			}
		}
		w.pass(1)
	}
	if told == 0 {
		t.Errorf("Beat told nobody of suspects for a whole dead-after")
	}
}

func beatOthers(_ *testing.T, w *world) {
	a, b := w.join(), w.join()
	before, _ := b.record()
	w.pass(2)
	a.beat()
	if after, _ := b.record(); !after.BeatAt.Equal(before.BeatAt) {
		w.t.Errorf("BeatAt of another = %v, want %v", after.BeatAt, before.BeatAt)
	}
}
