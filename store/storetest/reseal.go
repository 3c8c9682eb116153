package storetest

import (
	"fmt"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func resealTests() []test {
	return []test{
		{"it replaces what it names, and nothing else", resealReplaces},
		{"what is not named stays", resealPart},
		{"every state can be resealed", resealStates},
		{"a record that moved on is left as it is", resealMoved},
		{"saves, messages and outcomes move the version", resealVersions},
		{"a repeat has no effect, and is told so", resealRepeat},
		{"what is not there is not made", resealAbsent},
		{"a stripped task is left as it is", resealStripped},
		{"the owner goes on under its fence", resealRunning},
		{"what follows an ending is made of what was resealed", resealOnEnd},
		{"a staged outcome is settled first", resealStaged},
		{"a group is resealed where its closing task is kept", resealGroup},
		{"a group that moved on is left as it is", resealGroupMoved},
		{"a schedule is resealed, and its ticks go on", resealSchedule},
		{"what can never be done is refused", resealInvalid},
		{"of many at once one wins", resealRace},
		{"it leaves no trace but the version", resealQuiet},
	}
}

// resealer is the store's Resealer; the case is skipped where there is none.
func (w *world) resealer() store.Resealer {
	w.t.Helper()
	r, ok := w.st.(store.Resealer)
	if !ok {
		w.t.Skip("the engine cannot reseal")
	}
	return r
}

func oldArgs(s *store.Spec) { s.Args = []byte("old") }

func (w *world) reseal(req store.ResealRequest) {
	w.t.Helper()
	w.ok("Reseal", w.resealer().Reseal(w.ctx(), req))
}

// full makes a task that has everything that can be resealed, and returns it as a worker holds it.
func (w *world) full(k *worker) store.Task {
	w.t.Helper()
	task := k.start(func(s *store.Spec) {
		s.Args, s.Retry.Max = []byte("old args"), 9
		s.OnEnd = &store.Spec{Kind: "after", Queue: queue, Args: []byte("old end"), Retention: -1}
		s.Retention = -1
	})
	_, err := k.st.Save(w.ctx(), store.SaveRequest{
		Fence: task.Fence(), Entries: map[string][]byte{"a": []byte("old a"), "b": []byte("old b")}, Progress: &store.Progress{Done: 1, Note: "old note"},
	})
	w.ok("Save", err)
	w.send(task.ID, "m")
	k.end(task, store.Outcome{Kind: store.OutcomeRetry, Error: &store.Error{Message: "m", Type: "t", Detail: []byte("old detail")}})
	return k.take()
}

func resealReplaces(t *testing.T, w *world) {
	w.resealer()
	k := w.join()
	task := w.full(k)
	list, err := w.st.Messages(w.ctx(), task.ID)
	w.ok("Messages", err)
	before := w.get(task.ID)
	w.reseal(store.ResealRequest{
		Task: task.ID, Version: before.Version, Args: []byte("new args"), OnEnd: []byte("new end"), Detail: []byte("new detail"), Note: "new note",
		Entries: map[string][]byte{"a": []byte("new a")}, Messages: map[store.ID][]byte{list[0].ID: []byte("new body")},
	})
	after := w.get(task.ID)
	want := before.Clone()
	end := *before.OnEnd
	end.Args = []byte("new end")
	want.Args, want.OnEnd, want.Error.Detail, want.Progress.Note, want.Version = []byte("new args"), &end, []byte("new detail"), "new note", before.Version+1
	if !sameTask(&want, &after) {
		t.Errorf("the record is\n     %+v\nwant %+v", after, want)
	}
	if got := w.load(task.ID); string(got["a"]) != "new a" || string(got["b"]) != "old b" || len(got) != 2 {
		t.Errorf("Load = %q, want a replaced and b as it was", got)
	}
	again, err := w.st.Messages(w.ctx(), task.ID)
	w.ok("Messages", err)
	if len(again) != 1 || string(again[0].Body) != "new body" || again[0].Name != list[0].Name || !again[0].SentAt.Equal(list[0].SentAt) {
		t.Errorf("Messages = %+v, want the body replaced alone", again)
	}
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Result: []byte("old result")})
	done := w.in(task.ID, store.Done)
	w.reseal(store.ResealRequest{Task: task.ID, Version: done.Version, Result: []byte("new result")})
	if got := w.in(task.ID, store.Done); string(got.Result) != "new result" || string(got.Args) != "new args" {
		t.Errorf("result %q, args %q, want the result replaced", got.Result, got.Args)
	}
}

func resealPart(_ *testing.T, w *world) {
	k := w.join()
	task := w.full(k)
	before := w.get(task.ID)
	w.reseal(store.ResealRequest{Task: task.ID, Version: before.Version})
	before.Version++
	w.same(before)
}

func resealStates(t *testing.T, w *world) {
	w.resealer()
	k := w.join()
	group := w.group(store.NewGroup{})
	held := w.put(oldArgs, func(s *store.Spec) { s.Group = group })
	parked := k.start(oldArgs)
	k.park(parked)
	failed := k.start(oldArgs)
	k.end(failed, store.Outcome{Kind: store.OutcomeFail})
	cancelled := w.put(oldArgs, retain(-1))
	_, err := w.st.Cancel(w.ctx(), cancelled, "")
	w.ok("Cancel", err)
	for state, id := range map[store.State]store.ID{
		store.Held: held, store.Parked: parked.ID, store.Failed: failed.ID, store.Cancelled: cancelled, store.Running: k.start(oldArgs).ID,
		store.Ready: w.put(oldArgs), store.Scheduled: w.put(oldArgs, func(s *store.Spec) { s.Delay = w.units(1000) }),
	} {
		before := w.in(id, state)
		w.reseal(store.ResealRequest{Task: id, Version: before.Version, Args: []byte("new")})
		if after := w.in(id, state); string(after.Args) != "new" || after.Version != before.Version+1 {
			t.Errorf("%s: args %q at version %d, want new at %d", state, after.Args, after.Version, before.Version+1)
		}
	}
}

func resealMoved(_ *testing.T, w *world) {
	r := w.resealer()
	k := w.join()
	task := w.full(k)
	before := w.get(task.ID)
	for _, version := range []int64{before.Version - 1, before.Version + 1, 0} {
		w.refused("Reseal of another version", r.Reseal(w.ctx(), store.ResealRequest{Task: task.ID, Version: version, Args: []byte("new"), Entries: map[string][]byte{"a": []byte("new")}}), store.ErrChanged)
	}
	w.same(before)
	if got := w.load(task.ID); string(got["a"]) != "old a" {
		w.t.Errorf("Load = %q, want nothing of what was refused", got)
	}
}

// What was read before any of these is out of date after it.
func resealVersions(t *testing.T, w *world) {
	r := w.resealer()
	k := w.join()
	task := k.start(oldArgs)
	for name, change := range map[string]func() error{
		"Save": func() error {
			_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"e": []byte("newer")}})
			return err
		},
		"Send": func() error {
			return w.st.Send(w.ctx(), store.Message{ID: w.id(), Task: task.ID, Name: "n", Body: []byte("newer")})
		},
	} {
		read := w.get(task.ID)
		w.ok(name, change())
		w.refused("Reseal after "+name, r.Reseal(w.ctx(), store.ResealRequest{Task: task.ID, Version: read.Version, Args: []byte("late")}), store.ErrChanged)
	}
	read := w.get(task.ID)
	k.done(task)
	w.refused("Reseal after Complete", r.Reseal(w.ctx(), store.ResealRequest{Task: task.ID, Version: read.Version, Args: []byte("late")}), store.ErrChanged)
	if got := w.get(task.ID); string(got.Args) == "late" {
		t.Error("a late Reseal was applied")
	}
}

func resealRepeat(_ *testing.T, w *world) {
	r := w.resealer()
	id := w.put(oldArgs)
	req := store.ResealRequest{Task: id, Version: w.get(id).Version, Args: []byte("new")}
	w.ok("Reseal", r.Reseal(w.ctx(), req))
	after := w.get(id)
	w.refused("Reseal again", r.Reseal(w.ctx(), req), store.ErrChanged)
	w.same(after)
}

func resealAbsent(_ *testing.T, w *world) {
	r := w.resealer()
	id := w.put(func(s *store.Spec) { s.Args = nil })
	before := w.get(id)
	for i, req := range []store.ResealRequest{
		{Args: []byte("x")},
		{OnEnd: []byte("x")},
		{Result: []byte("x")},
		{Detail: []byte("x")},
		{Note: "x"},
		{Entries: map[string][]byte{"e": []byte("x")}},
		{Messages: map[store.ID][]byte{w.id(): []byte("x")}},
	} {
		req.Task, req.Version = id, before.Version
		w.refused(fmt.Sprintf("Reseal %d of what is not there", i), r.Reseal(w.ctx(), req), store.ErrChanged)
	}
	w.same(before)
	if got := w.load(id); len(got) != 0 {
		w.t.Errorf("Load = %q, want no entry", got)
	}
	w.refused("Reseal of no task", r.Reseal(w.ctx(), store.ResealRequest{Task: w.id(), Version: 1}), store.ErrNotFound)
}

func resealStripped(_ *testing.T, w *world) {
	r := w.resealer()
	k := w.join()
	task := k.start(oldArgs, retain(0))
	k.done(task)
	before := w.in(task.ID, store.Done)
	w.refused("Reseal of a stripped task", r.Reseal(w.ctx(), store.ResealRequest{Task: task.ID, Version: before.Version, Args: []byte("new")}), store.ErrChanged)
	w.same(before)
}
