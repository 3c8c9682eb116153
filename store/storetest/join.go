package storetest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func joinTests() []test {
	return []test{
		{"a worker is on record as it joined", joinRecord},
		{"no id joins twice, alive or dead", joinTwice},
		{"workers are listed by id", joinList},
		{"nothing but Join creates a worker", joinAlone},
		{"Info tells what the store is", joinInfo},
		{"a closed handle says so", joinClosed},
		{"the workers of a closed handle are as good as dead", joinCloseKills},
		{"Holds lists what a worker holds, by id", joinHolds},
	}
}

func joinRecord(t *testing.T, w *world) {
	st := w.Open(t)
	info := store.WorkerInfo{Host: "h", PID: 7, Version: "v1", Slots: map[string]int{"q": 3}, Kinds: []string{"a", "b"}}
	w.ok("Join", st.Join(w.ctx(), store.JoinRequest{ID: "h:7:aa", Beat: w.u, DeadAfter: w.units(20), Info: info}))
	all, err := w.st.Workers(w.ctx())
	w.ok("Workers", err)
	if len(all) != 1 {
		t.Fatalf("Workers = %d, want 1", len(all))
	}
	got := all[0]
	if got.ID != "h:7:aa" || got.Beat != w.u || got.DeadAfter != w.units(20) || !reflect.DeepEqual(got.Info, info) {
		t.Errorf("Workers = %+v, want it as it joined", got)
	}
	if !w.near(got.JoinedAt, w.now()) || !w.near(got.BeatAt, w.now()) || !got.DeadAt.IsZero() || got.Death != "" || got.Evidence != w.evidence {
		t.Errorf("Workers = %+v, want alive since now, evidence %s", got, w.evidence)
	}
}

func joinTwice(_ *testing.T, w *world) {
	alive := w.join()
	dead, _, _ := w.zombie(1)
	for _, k := range []*worker{alive, dead} {
		req := store.JoinRequest{ID: k.id, Beat: w.u, DeadAfter: w.units(deadAfter)}
		w.refused("Join of the same id", w.Open(w.t).Join(w.ctx(), req), store.ErrDuplicate)
	}
}

func joinList(t *testing.T, w *world) {
	for _, id := range []string{"c", "a", "b"} {
		w.ok("Join", w.Open(t).Join(w.ctx(), store.JoinRequest{ID: id, Beat: w.u, DeadAfter: w.units(deadAfter)}))
	}
	all, err := w.st.Workers(w.ctx())
	w.ok("Workers", err)
	var got []string
	for _, k := range all {
		got = append(got, k.ID)
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("Workers = %v, want a b c", got)
	}
}

func joinAlone(t *testing.T, w *world) {
	k := &worker{w: w, st: w.Open(t), id: "ghost"}
	_, err := k.tryBeat()
	w.refused("Beat", err, store.ErrDead)
	_, err = k.st.Claim(w.ctx(), k.request(1))
	w.refused("Claim", err, store.ErrDead)
	if all, err := w.st.Workers(w.ctx()); err != nil || len(all) != 0 {
		t.Errorf("Workers = %v, %v, want none", all, err)
	}
}

func joinInfo(t *testing.T, w *world) {
	info := w.st.Info()
	if info.Engine == "" || info.Survives == "" || info.Timing != w.timing {
		t.Errorf("Info = %+v, want an engine, what survives, and the timing it was given", info)
	}
	switch info.Evidence {
	case store.EvidenceNone, store.EvidenceSession, store.EvidenceProof:
	default:
		t.Errorf("evidence = %q, want none, session or proof", info.Evidence)
	}
	if other := w.Open(t).Info(); other != info {
		t.Errorf("Info of another handle = %+v, want %+v", other, info)
	}
	if another := w.e.New(t, w.timing).Open(t).Info(); info.ID != "" && another.ID == info.ID {
		t.Errorf("two namespaces have the ID %q", info.ID)
	}
	before := w.now()
	w.pass(5)
	if passed := w.now().Sub(before); passed < w.units(5) {
		t.Errorf("the clock moved by %v, want %v", passed, w.units(5))
	}
}

func joinClosed(_ *testing.T, w *world) {
	st := w.Open(w.t)
	w.ok("Close", st.Close())
	_, err := st.Get(w.ctx(), w.id())
	w.refused("Get", err, store.ErrClosed)
	_, err = st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{w.spec()}})
	w.refused("Submit", err, store.ErrClosed)
	w.ok("Now on another handle", func() error { _, err := w.st.Now(w.ctx()); return err }())
}

func joinCloseKills(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	w.ok("Close", k.st.Close())
	k.silent = true
	k.buryBy(by)
	w.in(task.ID, store.Ready)
}

func joinHolds(_ *testing.T, w *world) {
	k := w.join()
	specs := w.specs(3)
	w.submit(specs...)
	k.claim(3)
	w.sameIDs("Holds", k.holds(), specIDs(specs))
	got, err := w.st.Holds(w.ctx(), "nobody")
	w.ok("Holds of nobody", err)
	if len(got) != 0 {
		w.t.Errorf("Holds of nobody = %v, want nothing", got)
	}
}
