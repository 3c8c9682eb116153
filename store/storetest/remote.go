package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func remoteTests() []test {
	return []test{
		{"it has no evidence, whatever the store has", remoteEvidence},
		{"any handle may speak for it", remoteSpeakers},
		{"it outlives the handle it joined on", remoteHandleDies},
		{"it dies by silence, and the crash is counted", remoteSilence},
		{"while the pulse has gaps it does not die", remoteOutage},
		{"its outcome is refused once its task was put back", remoteLate},
		{"no id joins twice, remote or not", remoteTwice},
		{"when it leaves its tasks go back without a crash", remoteLeaves},
		{"it bears no witness", remoteNoWitness},
	}
}

// remote lets a worker join whose process is elsewhere.
func (w *world) remote(st store.Store) *worker {
	w.t.Helper()
	k := &worker{w: w, st: st, id: "elsewhere:" + w.id().String()}
	w.ok("Join", st.Join(w.ctx(), store.JoinRequest{ID: k.id, Beat: w.u, DeadAfter: w.units(deadAfter), Remote: true}))
	w.workers = append(w.workers, k)
	return k
}

func remoteEvidence(t *testing.T, w *world) {
	k := w.remote(w.Open(t))
	if got := k.beat().Evidence; got != store.EvidenceNone {
		t.Errorf("Beat = evidence %q, want none", got)
	}
	if got, found := k.record(); !found || got.Evidence != store.EvidenceNone {
		t.Errorf("record = %+v, want one with no evidence", got)
	}
}

func remoteSpeakers(t *testing.T, w *world) {
	k := w.remote(w.Open(t))
	by := w.join()
	for range 2 * deadAfter {
		k.st = w.Open(t) // another one each time
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead", res.Dead)
		}
	}
	task := k.start()
	k.st = w.Open(t)
	k.save(task, map[string][]byte{"a": []byte("1")})
	k.st = w.Open(t)
	if got := k.done(task); got != store.Done {
		t.Errorf("Complete by another handle = %s, want done", got)
	}
}

func remoteHandleDies(t *testing.T, w *world) {
	first := w.Open(t)
	k, by := w.remote(first), w.join()
	task := k.start()
	w.live(1)
	k.st = w.Open(t)
	w.Crash(first)
	for range 3 * deadAfter {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 || len(res.Tasks) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: another handle speaks for it", res)
		}
	}
	if got := k.done(task); got != store.Done {
		t.Errorf("Complete = %s, want done", got)
	}
}

func remoteSilence(t *testing.T, w *world) {
	k, by := w.remote(w.Open(t)), w.join()
	task := k.start()
	w.live(2 * deadAfter)
	k.silent = true
	w.Crash(k.st)
	w.live(deadAfter - pulseGap)
	if res := by.recover(); len(res.Dead) != 0 {
		t.Fatalf("Recover = %+v, want nobody dead before its time: only silence decides", res.Dead)
	}
	tasks := k.buryBy(by)
	want := store.Recovered{ID: task.ID, Kind: kind, Queue: queue, Worker: k.id, Death: store.DeathSilence, Crash: true, State: store.Ready}
	if len(tasks) != 1 || tasks[0] != want {
		t.Errorf("Recover = %+v, want %+v", tasks, want)
	}
	if got := w.in(task.ID, store.Ready); got.Crashes != 1 || got.Attempts != 0 {
		t.Errorf("crashes, attempts = %d, %d, want 1, 0", got.Crashes, got.Attempts)
	}
}

func remoteOutage(t *testing.T, w *world) {
	k, by := w.remote(w.Open(t)), w.join()
	w.live(2 * deadAfter)
	w.pass(5 * deadAfter)
	by.beat()
	if res := by.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover after an outage = %+v, want nobody dead", res.Dead)
	}
	k.beat()
}

// FT-08
func remoteLate(t *testing.T, w *world) {
	k, by := w.remote(w.Open(t)), w.join()
	task := k.start()
	w.live(deadAfter)
	k.silent = true
	k.buryBy(by)
	_, err := k.tryBeat()
	w.refused("Beat", err, store.ErrDead)
	again := by.take()
	if got := k.try(task.Fence(), store.Outcome{Kind: store.OutcomeDone}); got.Err == nil {
		t.Errorf("Complete by the one that was taken for dead = %+v, want ErrFenced", got)
	} else {
		w.refused("Complete", got.Err, store.ErrFenced)
	}
	by.done(again)
}

func remoteTwice(t *testing.T, w *world) {
	remote, local := w.remote(w.Open(t)), w.join()
	for _, k := range []*worker{remote, local} {
		for _, elsewhere := range []bool{true, false} {
			req := store.JoinRequest{ID: k.id, Beat: w.u, DeadAfter: w.units(deadAfter), Remote: elsewhere}
			w.refused("Join of the same id", w.Open(t).Join(w.ctx(), req), store.ErrDuplicate)
		}
	}
	w.live(2)
}

func remoteLeaves(t *testing.T, w *world) {
	k, by := w.remote(w.Open(t)), w.join()
	task := k.start()
	k.st = w.Open(t)
	k.leave()
	if got := w.in(task.ID, store.Ready); got.Crashes != 0 {
		t.Errorf("crashes = %d, want 0", got.Crashes)
	}
	by.done(by.take())
	by.recover()
	if _, found := k.record(); found {
		t.Errorf("the record of one that left is still there")
	}
}

// A remote worker has joined first, and so has everybody's oldest life; a pass in its name still lets no better witness be kept out.
func remoteNoWitness(t *testing.T, w *world) {
	k := w.remote(w.Open(t))
	w.pass(1)
	by := w.join()
	w.live(2)
	req := store.RecoverRequest{Worker: by.id}
	if res, err := by.st.Recover(w.ctx(), req); err != nil || res.Gated {
		t.Fatalf("Recover = %+v, %v, want a pass", res, err)
	}
	res, err := k.st.Recover(w.ctx(), store.RecoverRequest{Worker: k.id})
	w.ok("Recover", err)
	if w.e.Virtual && !res.Gated {
		t.Errorf("Recover in the name of a remote worker passed the gate, want it kept out")
	}
}
