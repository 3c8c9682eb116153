package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// Runs that end in one call. What hangs on each of them happens as if it had ended alone, and once.
func togetherTests() []test {
	return []test{
		{"limits, followers and parents are each served once", togetherLinked},
		{"a parent that lives is woken, one that ends with its child is not lost", togetherParents},
		{"a follower with a key that is taken does not come", togetherKeyed},
		{"a follower whose id is known, and has run, keeps nothing", togetherKnown},
		{"members with followers count in their group", togetherMembers},
		{"tasks that differ by ids alone keep those that are their own", togetherAlike},
		{"a follower comes though its child has ended before it", togetherForeseen},
	}
}

// together completes runs as done, in one call. Stands are how far they say to be, if not nil.
func (k *worker) together(tasks []store.Task, stands *store.Progress) []store.Completed {
	k.w.t.Helper()
	var req store.CompleteRequest
	for i := range tasks {
		out := store.Outcome{Kind: store.OutcomeDone, Result: fmt.Append(nil, "result ", i), Progress: stands}
		req.Items = append(req.Items, store.Completion{Fence: tasks[i].Fence(), Outcome: out})
	}
	res, err := k.st.Complete(k.w.ctx(), req)
	k.w.ok("Complete", err)
	return res.Items
}

// ended completes them, and none may be refused.
func (k *worker) ended(tasks []store.Task, stands *store.Progress) {
	k.w.t.Helper()
	for i, got := range k.together(tasks, stands) {
		if got.Err != nil || got.State != store.Done || got.Repeated {
			k.w.t.Fatalf("Complete of %v = %+v, want done", tasks[i].ID, got)
		}
	}
}

func togetherLinked(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "slot", Running: 9})
	for _, stands := range []*store.Progress{nil, {Done: 3, Total: 4}} {
		w.togetherLinked(t, k, stands)
	}
}

func (w *world) togetherLinked(t *testing.T, k *worker, stands *store.Progress) {
	t.Helper()
	var tasks []store.Task
	for i := range 9 {
		tasks = append(tasks, k.start(func(s *store.Spec) {
			s.Args, s.Retention = []byte("args"), w.units([]int{0, 30, -1}[i%3])
			if s.Retention < 0 {
				s.Retention = -1
			}
			if i > 0 { // one hangs on nothing
				s.Limit = []string{"slot", "other"}[i%2]
				s.OnEnd = &store.Spec{Kind: after, Queue: queue, Args: fmt.Append(nil, i), Retention: w.units(500)}
			}
		}))
	}
	if got := w.inUse("slot"); got != 4 {
		t.Fatalf("%d slots are taken, want 4", got)
	}
	k.ended(tasks, stands)
	if got := w.inUse("slot"); got != 0 {
		t.Errorf("%d slots are taken after the end, want none", got)
	}
	for i, task := range tasks {
		got := w.in(task.ID, store.Done)
		if stands != nil && (got.Progress.Done != 3 || got.Progress.Total != 4) {
			t.Errorf("Progress = %+v, want what it said last", got.Progress)
		}
		if kept := i > 0; kept != (got.ExpireAt.IsZero() && !got.Stripped && string(got.Args) == "args" && string(got.Result) == fmt.Sprint("result ", i)) {
			t.Errorf("the task with retention %v is %+v, want it whole, with no end, as long as what follows lives", task.Retention, got)
		}
	}
	followers := k.claim(20, after)
	if len(followers) != 8 {
		t.Fatalf("%d tasks follow, want 8", len(followers))
	}
	for _, f := range followers {
		if f.ID != store.OnEndID(f.Parent, 0) || w.get(f.Parent).State != store.Done {
			t.Errorf("%v follows %v, want it derived of who has ended", f.ID, f.Parent)
		}
	}
	for i, got := range k.together(tasks, stands) { // the answer was lost
		if got.Err != nil || !got.Repeated {
			t.Errorf("again: task %d = %+v, want a repeat", i, got)
		}
	}
	k.ended(followers, stands)
	for _, task := range tasks[1:] {
		got := w.in(task.ID, store.Done)
		switch {
		case task.Retention == 0:
			w.stripped(task.ID, true)
		case task.Retention > 0 && !w.near(got.ExpireAt, got.EndedAt.Add(max(task.Retention, w.timing.Horizon))):
			t.Errorf("ExpireAt = %v, ended at %v, want it %v later", got.ExpireAt, got.EndedAt, max(task.Retention, w.timing.Horizon))
		case task.Retention < 0 && !got.ExpireAt.IsZero():
			t.Errorf("ExpireAt = %v of one that is kept", got.ExpireAt)
		}
	}
	w.sameIDs("what is left", ids(k.claim(20)), nil)
}

func togetherParents(t *testing.T, w *world) {
	k := w.join()
	parked, running := k.start(), k.start()
	k.park(parked)
	var children []store.Task
	for i := range 4 {
		children = append(children, k.start(func(s *store.Spec) {
			s.Parent = []store.ID{parked.ID, running.ID}[i%2]
			s.OnEnd = &store.Spec{Kind: after, Queue: queue}
		}))
	}
	last := k.start()
	child := k.start(func(s *store.Spec) { s.Parent = last.ID })
	all := append([]store.Task{running}, children...) // it is told first, and so ends before it could be woken
	k.ended(append(all, child, last), nil)
	if got := w.in(last.ID, store.Done); got.Wakes != 1 {
		t.Errorf("the parent that was told after its child was woken %d times, want once", got.Wakes)
	}
	if got := w.in(parked.ID, store.Ready); got.Wakes != 2 {
		t.Errorf("the parent was woken %d times, want 2", got.Wakes)
	}
	w.in(running.ID, store.Done)
	if got := k.claim(20, after); len(got) != 4 {
		t.Errorf("%d tasks follow, want 4", len(got))
	}
}

func togetherKeyed(t *testing.T, w *world) {
	k := w.join()
	var tasks []store.Task
	for range 3 {
		tasks = append(tasks, k.start(retain(w.units(30)), func(s *store.Spec) {
			s.OnEnd = &store.Spec{Kind: after, Queue: queue, Unique: store.Unique{Key: "one", OnConflict: store.Reject}}
		}))
	}
	k.ended(tasks, nil)
	if got := k.claim(20, after); len(got) != 1 {
		t.Errorf("%d tasks follow, want the one that has the key", len(got))
	}
	waits := 0
	for _, task := range tasks {
		if w.in(task.ID, store.Done).ExpireAt.IsZero() {
			waits++
		}
	}
	if waits != 1 {
		t.Errorf("%d tasks wait for what follows them, want 1", waits)
	}
}

func togetherKnown(t *testing.T, w *world) {
	k := w.join()
	onEnd := func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: after, Queue: queue} }
	tasks := []store.Task{k.start(retain(w.units(30)), onEnd), k.start(retain(w.units(30)), onEnd)}
	k.done(k.start(func(s *store.Spec) { s.ID, s.Kind = store.OnEndID(tasks[0].ID, 0), after }))
	k.ended(tasks, nil)
	if got := w.get(tasks[0].ID).ExpireAt; got.IsZero() {
		t.Errorf("ExpireAt is not set though what follows has run")
	}
	if got := w.get(tasks[1].ID).ExpireAt; !got.IsZero() {
		t.Errorf("ExpireAt = %v, want none before what follows has run", got)
	}
}

func togetherMembers(t *testing.T, w *world) {
	k := w.join()
	specs := w.specs(4, retain(w.units(30)), limited("slot"), func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: after, Queue: queue} })
	id := w.group(store.NewGroup{Seal: true, OnClose: &store.Spec{Kind: closing, Queue: queue}}, specs...)
	w.promote()
	k.ended(k.claim(4, kind), nil)
	w.promote()
	g, err := w.st.Group(w.ctx(), id)
	w.ok("Group", err)
	if g.Done != 4 || g.State != store.GroupClosed {
		t.Errorf("Group = %+v, want 4 done, closed", g)
	}
	k.ended(k.claim(20, after), nil)
	if got := w.get(specs[0].ID); !got.ExpireAt.IsZero() {
		t.Errorf("ExpireAt = %v, want none before the closing task has ended", got.ExpireAt)
	}
	k.done(k.take(closing))
	w.promote()
	for _, s := range specs {
		if w.get(s.ID).ExpireAt.IsZero() {
			t.Errorf("ExpireAt is not set though nothing keeps the task")
		}
	}
}

// togetherAlike runs tasks that are the same but for their ids, those of their parents and those of the tasks that follow them, all in the same
// calls. What they were given looks here and there like names and ids of a record.
func togetherAlike(_ *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "slot", Running: 100})
	for _, args := range []string{"args", "\xa5onend\xa4next\xb0ABCDEFGHIJKLMNOP\xa6parent\xb0ABCDEFGHIJKLMNOP"} {
		specs := w.specs(6, retain(w.units(30)), limited("slot"), func(s *store.Spec) {
			s.Args, s.OnEnd = []byte(args), &store.Spec{Kind: after, Queue: queue, Args: []byte(args), Retention: w.units(30)}
		})
		for i := range specs {
			parent := k.start(retain(-1))
			k.park(parent)
			specs[i].Parent = parent.ID
		}
		w.submit(specs...)
		k.alikeEnd(specs)
		nexts := k.alikeFollow(specs)
		k.ended(k.claim(len(specs), kind), nil) // the parents
		w.queued(0, 0)
		w.live(61) // also those that have ended last
		w.prune()
		for i := range specs {
			if w.exists(specs[i].ID) || w.exists(nexts[i].ID) {
				w.t.Errorf("task %d or what followed it was not removed in its time", i)
			}
		}
	}
}

// alikeEnd claims and ends such tasks, one of them not before the second call.
func (k *worker) alikeEnd(specs []store.Spec) {
	k.w.t.Helper()
	w, n := k.w, len(specs)
	tasks := k.claim(n, kind)
	w.alike(tasks, specs, store.Running, 1)
	if got := w.inUse("slot"); got != n {
		w.t.Errorf("%d slots are taken, want %d", got, n)
	}
	late := slices.Clone(tasks)
	late[2].Nonce = w.id() // of an owner that was paused
	for i, got := range k.together(late, nil) {
		if fenced := errors.Is(got.Err, store.ErrFenced); fenced != (i == 2) || !fenced && got.State != store.Done {
			w.t.Errorf("task %d of those alike = %+v, want that one alone refused", i, got)
		}
	}
	for i, got := range k.together(tasks, nil) { // the answer was lost
		if got.Err != nil || got.State != store.Done || got.Repeated != (i != 2) {
			w.t.Errorf("again: task %d of those alike = %+v, want done, and a repeat of the others", i, got)
		}
	}
	w.alike(tasks, specs, store.Done, 2)
	if got := w.inUse("slot"); got != 0 {
		w.t.Errorf("%d slots are taken after the end, want none", got)
	}
	for _, s := range specs {
		if got := w.in(s.Parent, store.Ready); got.Wakes != 1 {
			w.t.Errorf("a parent was woken %d times, want once", got.Wakes)
		}
	}
	w.queued(2*int64(n), 0)
}

// alikeFollow claims and ends what follows them, and returns it. A child of the last one ends with the followers of the others: it is no follower.
func (k *worker) alikeFollow(specs []store.Spec) []store.Spec {
	k.w.t.Helper()
	w, n := k.w, len(specs)
	nexts := make([]store.Spec, n)
	for i := range specs {
		nexts[i] = *specs[i].OnEnd
		nexts[i].ID, nexts[i].Parent = store.OnEndID(specs[i].ID, 0), specs[i].ID
	}
	followers := k.claim(n, after)
	w.queued(int64(n), int64(n))
	w.alike(followers, nexts, store.Running, 1)
	other := k.start(func(s *store.Spec) { s.Kind, s.Parent = closing, specs[n-1].ID })
	last := slices.IndexFunc(followers, func(t store.Task) bool { return t.ID == nexts[n-1].ID })
	k.ended(append(slices.Delete(slices.Clone(followers), last, last+1), other), nil)
	if got := w.in(specs[n-1].ID, store.Done); !got.ExpireAt.IsZero() {
		w.t.Errorf("ExpireAt = %v, want none before what follows has ended", got.ExpireAt)
	}
	k.ended(followers[last:last+1], nil)
	w.alike(followers, nexts, store.Done, 2)
	for _, s := range specs {
		if got := w.in(s.ID, store.Done); !w.near(got.ExpireAt, got.EndedAt.Add(max(s.Retention, w.timing.Horizon))) {
			w.t.Errorf("ExpireAt = %v, ended at %v, want it %v later", got.ExpireAt, got.EndedAt, max(s.Retention, w.timing.Horizon))
		}
	}
	return nexts
}

// togetherForeseen ends tasks with children of those that follow them, in one call that claims the followers.
func togetherForeseen(t *testing.T, w *world) {
	k := w.join()
	for _, first := range []bool{true, false} {
		var tasks, children []store.Task
		for range 4 {
			tasks = append(tasks, k.start(func(s *store.Spec) { s.OnEnd = &store.Spec{Kind: after, Queue: queue} }))
			children = append(children, k.start(func(s *store.Spec) { s.Parent = store.OnEndID(tasks[len(tasks)-1].ID, 0) }))
		}
		all := append(slices.Clone(tasks), children...)
		if first {
			all = append(slices.Clone(children), tasks...)
		}
		claim := k.request(20, after)
		req := store.CompleteRequest{Claim: &claim}
		for i := range all {
			req.Items = append(req.Items, store.Completion{Fence: all[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
		}
		res, err := k.st.Complete(w.ctx(), req)
		w.ok("Complete", err)
		w.ok("its claim", res.ClaimErr)
		followers := append(res.Claim.Tasks, k.claim(20, after)...)
		if len(followers) != len(tasks) {
			t.Fatalf("%d tasks follow, want %d", len(followers), len(tasks))
		}
		k.ended(followers, nil)
	}
}

// alike compares tasks, as they were claimed and as they are stored, with what was submitted of them.
func (w *world) alike(tasks []store.Task, specs []store.Spec, state store.State, events int) {
	w.t.Helper()
	if len(tasks) != len(specs) {
		w.t.Fatalf("%d tasks were claimed, want %d", len(tasks), len(specs))
	}
	for i, s := range specs {
		at := slices.IndexFunc(tasks, func(t store.Task) bool { return t.ID == s.ID })
		if at < 0 {
			w.t.Fatalf("task %d was not claimed", i)
		}
		stored := w.in(s.ID, state)
		if len(stored.History) != events {
			w.t.Errorf("task %d, %s, has %d lines of history, want %d", i, state, len(stored.History), events)
		}
		for _, got := range []store.Task{tasks[at], stored} {
			want := plainSpec(s)
			want.DueAt = plainTime(got.DueAt) // the record tells when it was due, also if that was at once
			if got := plainSpec(got.Spec); !reflect.DeepEqual(got, want) {
				w.t.Errorf("task %d, %s, is %+v; want what was submitted, %+v", i, state, got, want)
			}
		}
	}
}

// queued checks how many tasks are ready and how many run.
func (w *world) queued(ready, running int64) {
	w.t.Helper()
	list, err := w.st.Queues(w.ctx())
	w.ok("Queues", err)
	if len(list) != 1 || list[0].Ready != ready || list[0].Running != running {
		w.t.Errorf("Queues = %+v, want %d ready and %d running", list, ready, running)
	}
}
