package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func resealRunning(t *testing.T, w *world) {
	k := w.join()
	task := w.full(k)
	w.reseal(store.ResealRequest{Task: task.ID, Version: w.get(task.ID).Version, Args: []byte("new")})
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"c": []byte("c")}})
	w.ok("Save of the owner", err)
	if got := k.end(task, store.Outcome{Kind: store.OutcomeDone, Result: []byte("r")}); got != store.Done {
		t.Errorf("Complete = %s, want done", got)
	}
	if got := w.in(task.ID, store.Done); string(got.Args) != "new" || string(got.Result) != "r" {
		t.Errorf("args %q, result %q, want both as they were written last", got.Args, got.Result)
	}
}

func resealOnEnd(t *testing.T, w *world) {
	k := w.join()
	task := w.full(k)
	w.reseal(store.ResealRequest{Task: task.ID, Version: w.get(task.ID).Version, OnEnd: []byte("new end")})
	k.done(task)
	if got := w.get(store.OnEndID(task.ID, 0)); string(got.Args) != "new end" {
		t.Errorf("args of what follows = %q, want those that were resealed", got.Args)
	}
}

func resealStaged(_ *testing.T, w *world) {
	r := w.resealer()
	k := w.join()
	task, out := w.staged(k)
	before := w.get(task.ID)
	w.refused("Reseal of a staged task", r.Reseal(w.ctx(), store.ResealRequest{Task: task.ID, Version: before.Version, Args: []byte("new")}), store.ErrState)
	w.same(before)
	k.done(task)
	w.settled(task.ID, out)
	w.reseal(store.ResealRequest{Task: task.ID, Version: w.get(task.ID).Version, Result: []byte("new")})
}

func resealGroup(t *testing.T, w *world) {
	w.resealer()
	k := w.join()
	id := w.group(store.NewGroup{OnClose: &store.Spec{
		Kind: "close", Queue: queue, Args: []byte("old"), OnEnd: &store.Spec{Kind: "after", Queue: queue, Args: []byte("old end")},
	}}, w.spec())
	before := w.readGroup(id)
	w.reseal(store.ResealRequest{Group: id, Version: before.Version, Args: []byte("new"), OnEnd: []byte("new end")})
	after := w.readGroup(id)
	if after.Version != before.Version+1 || after.State != before.State || !after.UpdatedAt.Equal(before.UpdatedAt) || after.Total != 1 || after.OnClose.Kind != "close" {
		t.Errorf("the group is %+v, want it as it was but for what was resealed: %+v", after, before)
	}
	_, err := w.st.Seal(w.ctx(), id)
	w.ok("Seal", err)
	w.promote()
	k.done(k.take())
	if got := w.get(store.CloseID(id, 1)); !bytes.Equal(got.Args, []byte("new")) || !bytes.Equal(got.OnEnd.Args, []byte("new end")) {
		t.Errorf("the closing task has args %q and %q, want those that were resealed", got.Args, got.OnEnd.Args)
	}
}

func resealGroupMoved(t *testing.T, w *world) {
	r := w.resealer()
	plain, id := w.group(store.NewGroup{}), w.group(store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue, Args: []byte("old")}})
	before := w.readGroup(id)
	for name, req := range map[string]store.ResealRequest{
		"another version": {Group: id, Version: before.Version - 1, Args: []byte("new")},
		"no such args":    {Group: id, Version: before.Version, OnEnd: []byte("new")},
		"no OnClose":      {Group: plain, Version: w.readGroup(plain).Version, Args: []byte("new")},
	} {
		w.refused("Reseal of a group: "+name, r.Reseal(w.ctx(), req), store.ErrChanged)
	}
	if got := w.readGroup(id); got.Version != before.Version || string(got.OnClose.Args) != "old" {
		t.Errorf("the group is at version %d with args %q, want it as it was", got.Version, got.OnClose.Args)
	}
	w.refused("Reseal of no group", r.Reseal(w.ctx(), store.ResealRequest{Group: w.id(), Version: 1}), store.ErrNotFound)
}

func resealSchedule(t *testing.T, w *world) {
	r := w.resealer()
	sc, err := w.st.PutSchedule(w.ctx(), store.Schedule{
		Name: "s", Rule: "r", NextAt: w.now(), Overlap: store.OverlapAllow,
		Task: store.Spec{Kind: kind, Queue: queue, Args: []byte("old"), OnEnd: &store.Spec{Kind: "after", Queue: queue, Args: []byte("old end")}},
	})
	w.ok("PutSchedule", err)
	w.pass(5)
	first := w.now().Add(-w.u)
	_, err = w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: sc.Version, Tick: first, Next: w.now().Add(w.units(10))})
	w.ok("Tick", err)
	req := store.ResealRequest{Schedule: "s", Version: sc.Version, Args: []byte("new"), OnEnd: []byte("new end")} // a tick does not move the version
	before, err := w.st.Schedule(w.ctx(), "s")
	w.ok("Schedule", err)
	w.reseal(req)
	w.refused("Reseal again", r.Reseal(w.ctx(), req), store.ErrChanged)
	w.refused("Reseal of no schedule", r.Reseal(w.ctx(), store.ResealRequest{Schedule: "none", Version: 1}), store.ErrNotFound)
	after, err := w.st.Schedule(w.ctx(), "s")
	w.ok("Schedule", err)
	if after.Version != before.Version+1 || !after.LastTick.Equal(before.LastTick) || !after.NextAt.Equal(before.NextAt) || after.LastTask != before.LastTask || !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("the schedule is %+v, want it as it was but for what was resealed: %+v", after, before)
	}
	w.pass(1)
	res, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: after.Version, Last: after.LastTick, Tick: w.now(), Next: w.now().Add(w.units(10))})
	w.ok("Tick after it", err)
	if got := w.get(res.Task); string(got.Args) != "new" || string(got.OnEnd.Args) != "new end" {
		t.Errorf("the tick's task has args %q and %q, want those that were resealed", got.Args, got.OnEnd.Args)
	}
}

func resealInvalid(_ *testing.T, w *world) {
	r := w.resealer()
	id := w.put(oldArgs)
	for i, req := range []store.ResealRequest{
		{Version: 1},
		{Task: id, Group: id, Version: 1},
		{Task: id, Schedule: "s", Version: 1},
		{Group: id, Version: 1, Result: []byte("x")},
		{Schedule: "s", Version: 1, Note: "x"},
		{Task: id, Version: 1, Entries: map[string][]byte{"e": nil}},
	} {
		w.refused(fmt.Sprintf("Reseal %d", i), r.Reseal(w.ctx(), req), store.ErrInvalid)
	}
}

func resealRace(t *testing.T, w *world) {
	r := w.resealer()
	id := w.put(oldArgs)
	version := w.get(id).Version
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			errs[i] = r.Reseal(w.ctx(), store.ResealRequest{Task: id, Version: version, Args: fmt.Appendf(nil, "by %d", i)})
		})
	}
	group.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err != nil:
			w.refused("Reseal of one who lost", err, store.ErrChanged)
		case won >= 0:
			t.Errorf("%d and %d have both won", won, i)
		default:
			won = i
		}
	}
	if got := w.get(id); won < 0 || string(got.Args) != fmt.Sprintf("by %d", won) || got.Version != version+1 {
		t.Errorf("args %q at version %d, want those of %d at %d", got.Args, got.Version, won, version+1)
	}
}

// A rotation that walks over a million tasks must not wake whoever follows them.
func resealQuiet(t *testing.T, w *world) {
	id := w.put(oldArgs)
	before := w.get(id)
	w.pass(3)
	w.reseal(store.ResealRequest{Task: id, Version: before.Version, Args: []byte("new")})
	if after := w.get(id); !after.UpdatedAt.Equal(before.UpdatedAt) || len(after.History) != len(before.History) || after.Wakes != before.Wakes {
		t.Errorf("the record is %+v, want no trace but the version", after)
	}
}
