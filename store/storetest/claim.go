package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func claimTests() []test {
	return []test{
		{"a claimed task runs under a fence of its own", claimFence},
		{"the epoch grows by one with each claim", claimEpoch},
		{"an attempt's deadline is its timeout after the claim", claimDeadline},
		{"only queues and kinds that are named are taken", claimServed},
		{"a queue gives no more than its slots", claimSlots},
		{"an unserved head does not stand in the way", claimUnservedHead},
		{"a taken task is not taken again", claimOnce},
		{"what is due is promoted and taken", claimDue},
		{"the next due time is told", claimNext},
		{"nothing known means no next time", claimNoNext},
		{"a backlog is drained by claims alone", claimDrain},
		{"a repeat answers what still runs under its nonce", claimRepeat},
		{"a repeat takes nothing", claimRepeatTakesNothing},
		{"a worker that never joined is dead", claimUnknownWorker},
		{"a worker that left is dead", claimLeft},
		{"the claim tells wakes and checkpoint stays readable", claimWakes},
		{"a task is told as the whole claim leaves it", claimTold},
		{"the claim carries no history", claimNoHistory},
		{"start-by no longer counts once started", claimStartBy},
		{"a corrupt record ends and stops nobody", claimCorrupt},
		{"statistics count what was claimed", claimStats},
	}
}

func claimFence(t *testing.T, w *world) {
	k := w.join()
	id := w.put(func(s *store.Spec) { s.Args = []byte("args") })
	w.pass(3)
	req := k.request(1)
	tasks := k.ask(req).Tasks
	w.sameIDs("Claim", ids(tasks), []store.ID{id})
	got := tasks[0]
	if got.Fence() != (store.Fence{ID: id, Epoch: 1, Nonce: req.Nonce}) || got.Worker != k.id || string(got.Args) != "args" {
		t.Errorf("Claim = %+v, want epoch 1 under the nonce of the request, for %s", got, k.id)
	}
	stored := w.in(id, store.Running)
	if stored.Fence() != got.Fence() || stored.Worker != k.id || !w.near(stored.StartedAt, w.now()) || !stored.DeadlineAt.IsZero() {
		t.Errorf("Get = %+v, want what Claim told", stored)
	}
	w.sameIDs("Holds", k.holds(), []store.ID{id})
}

func claimEpoch(t *testing.T, w *world) {
	k := w.join()
	w.put()
	for epoch := int64(1); epoch <= 4; epoch++ {
		task := k.take()
		if task.Epoch != epoch {
			t.Errorf("epoch = %d, want %d", task.Epoch, epoch)
		}
		k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	}
}

func claimDeadline(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Timeout = w.units(7) })
	if want := task.StartedAt.Add(w.units(7)); !w.near(task.DeadlineAt, want) {
		t.Errorf("DeadlineAt = %v, want %v", task.DeadlineAt, want)
	}
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	if got := w.get(task.ID).DeadlineAt; !got.IsZero() {
		t.Errorf("DeadlineAt of a task that waits = %v, want none", got)
	}
}

func claimServed(t *testing.T, w *world) {
	k := w.join()
	mine := w.put()
	w.put(func(s *store.Spec) { s.Kind = "other" })
	w.put(func(s *store.Spec) { s.Queue = "other" })
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{mine})
	if got := k.claim(9, "kk"); len(got) != 0 {
		t.Errorf("Claim of an unknown kind took %d tasks, want 0", len(got))
	}
}

func claimSlots(t *testing.T, w *world) {
	k := w.join()
	for _, q := range []string{"a", "b", "c"} {
		w.submit(w.specs(4, func(s *store.Spec) { s.Queue = q })...)
	}
	req := k.request(0)
	req.Queues = []store.QueueSlots{{Queue: "a", Slots: 1}, {Queue: "b", Slots: 3}, {Queue: "c", Slots: 0}}
	got := map[string]int{}
	res := k.ask(req)
	for _, task := range res.Tasks {
		got[task.Queue]++
	}
	if got["a"] != 1 || got["b"] != 3 || got["c"] != 0 {
		t.Errorf("Claim took %v, want 1 of a and 3 of b", got)
	}
	for q, n := range got {
		if n > 0 && res.Cursors[q] == "" {
			t.Errorf("Cursors = %q, want one for queue %s", res.Cursors, q)
		}
	}
}

// FT-30
func claimUnservedHead(_ *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(50, func(s *store.Spec) { s.Kind, s.Priority = "unserved", 9 })...)
	id := w.put()
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{id})
}

func claimOnce(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	w.submit(w.specs(3)...)
	if got := len(a.claim(2)) + len(b.claim(9)) + len(a.claim(9)); got != 3 {
		t.Errorf("claims took %d tasks, want 3", got)
	}
	if got := len(a.holds()) + len(b.holds()); got != 3 {
		t.Errorf("Holds = %d tasks in all, want 3", got)
	}
}

func claimDue(_ *testing.T, w *world) {
	k := w.join()
	id := w.put(func(s *store.Spec) { s.Delay = w.units(5) })
	w.pass(6)
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{id})
}

func claimNext(t *testing.T, w *world) {
	k := w.join()
	w.put(func(s *store.Spec) { s.Delay = w.units(20) })
	w.put(func(s *store.Spec) { s.Delay = w.units(8) })
	res := k.ask(k.request(1))
	if len(res.Tasks) != 0 || res.Next <= w.units(7) || res.Next > w.units(8) {
		t.Errorf("Claim = %d tasks, next in %v, want none, next in %v", len(res.Tasks), res.Next, w.units(8))
	}
	w.Pass(res.Next)
	w.pass(1)
	if got := k.claim(1); len(got) != 1 {
		t.Errorf("Claim after Next had passed took %d tasks, want 1", len(got))
	}
}

func claimNoNext(t *testing.T, w *world) {
	if res := w.join().ask(w.workers[0].request(1)); res.Next != 0 || res.Again || len(res.Tasks) != 0 {
		t.Errorf("Claim in an empty store = %+v, want nothing", res)
	}
}

// FT-28
func claimDrain(t *testing.T, w *world) {
	k := w.join()
	n := w.scaled(1200)
	w.submit(w.specs(n, func(s *store.Spec) { s.Delay = w.units(2) })...)
	w.pass(3)
	seen := map[store.ID]bool{}
	for calls := 0; len(seen) < n; calls++ {
		res := k.ask(k.request(50))
		for _, task := range res.Tasks {
			if seen[task.ID] {
				t.Fatalf("Claim took %v twice", task.ID)
			}
			seen[task.ID] = true
		}
		if len(res.Tasks) == 0 && !res.Again {
			t.Fatalf("Claim found nothing and said not Again with %d of %d taken", len(seen), n)
		}
		if calls > n {
			t.Fatalf("%d claims took %d of %d", calls, len(seen), n)
		}
	}
}

func claimRepeat(_ *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(3)...)
	req := k.request(3)
	first := k.ask(req).Tasks
	k.done(first[0])
	k.end(first[1], store.Outcome{Kind: store.OutcomeRelease})
	again := k.claim(1)
	w.sameIDs("Claim of the released one", ids(again), []store.ID{first[1].ID})
	req.Repeat = true
	got := k.ask(req).Tasks
	w.sameIDs("Claim repeated", ids(got), []store.ID{first[2].ID})
	if got[0].Fence() != first[2].Fence() {
		w.t.Errorf("fence = %+v, want %+v", got[0].Fence(), first[2].Fence())
	}
}

func claimRepeatTakesNothing(t *testing.T, w *world) {
	k := w.join()
	w.put()
	req := k.request(1)
	req.Repeat = true
	if got := k.ask(req).Tasks; len(got) != 0 {
		t.Errorf("Claim repeated took %d tasks, want 0", len(got))
	}
}

func claimUnknownWorker(_ *testing.T, w *world) {
	id := w.put()
	_, err := w.st.Claim(w.ctx(), (&worker{w: w, id: "nobody"}).request(1))
	w.refused("Claim", err, store.ErrDead)
	w.in(id, store.Ready)
}

func claimLeft(_ *testing.T, w *world) {
	id := w.put()
	k := w.join()
	k.leave()
	for _, repeat := range []bool{false, true} {
		req := k.request(1)
		req.Repeat = repeat
		_, err := k.st.Claim(w.ctx(), req)
		w.refused("Claim", err, store.ErrDead)
	}
	w.in(id, store.Ready)
}

func claimWakes(t *testing.T, w *world) {
	k := w.join()
	id := w.put()
	w.send(id, "one")
	w.send(id, "two")
	if got := k.take().Wakes; got != 2 {
		t.Errorf("Claim told %d wakes, want 2", got)
	}
}

// The claim takes a parent, and then ends a child of its that was not started in time: that wake is told with the claim.
func claimTold(t *testing.T, w *world) {
	parent := w.put(lane("a"))
	child := w.put(lane("b"), func(s *store.Spec) { s.Parent, s.StartBy = parent, w.units(5) })
	w.pass(6)
	tasks := w.join().claim(2)
	w.sameIDs("Claim", ids(tasks), []store.ID{parent})
	w.in(child, store.Cancelled)
	if stored := w.in(parent, store.Running); tasks[0].Wakes != 1 || stored.Wakes != 1 || !tasks[0].Alone {
		t.Errorf("Claim tells %d wakes, alone %v, and Get %d, want 1 of both, alone", tasks[0].Wakes, tasks[0].Alone, stored.Wakes)
	}
	more := w.specs(2)
	w.submit(more...)
	for i, task := range w.join().claim(2) {
		if stored := w.in(task.ID, store.Running); task.Alone || stored.Alone {
			t.Errorf("task %d of two is told as alone %v, and stored as alone %v, want neither", i, task.Alone, stored.Alone)
		}
	}
}

func claimNoHistory(t *testing.T, w *world) {
	k := w.join()
	k.end(k.start(), store.Outcome{Kind: store.OutcomeRelease})
	task := k.take()
	if len(task.History) != 0 {
		t.Errorf("Claim told %d events, want none", len(task.History))
	}
	if got := w.get(task.ID).History; len(got) < 3 {
		t.Errorf("Get told %d events, want claimed, released, claimed", len(got))
	}
}

func claimStartBy(t *testing.T, w *world) {
	k := w.join()
	task := k.start(func(s *store.Spec) { s.StartBy = w.units(5) })
	if !w.get(task.ID).StartByAt.IsZero() {
		t.Errorf("StartByAt of a started task = %v, want none", task.StartByAt)
	}
	w.pass(10)
	w.promote()
	w.in(task.ID, store.Running)
}

// FT-16
func claimCorrupt(_ *testing.T, w *world) {
	k := w.join()
	specs := w.specs(3)
	w.submit(specs...)
	w.e.Corrupt(w.World, specs[1].ID)
	w.sameIDs("Claim", ids(k.claim(9)), []store.ID{specs[0].ID, specs[2].ID})
	w.reason(specs[1].ID, store.Failed, store.ReasonCorrupt)
}

func claimStats(t *testing.T, w *world) {
	k := w.join()
	from := w.now().Add(-w.units(120))
	w.put()
	w.pass(4)
	task := k.take()
	w.pass(2)
	k.done(task)
	minutes, err := w.st.Stats(w.ctx(), from, w.now().Add(w.units(120)))
	w.ok("Stats", err)
	var sum store.Minute
	for _, m := range minutes {
		if m.Queue != queue || m.Kind != kind {
			t.Errorf("Stats = %q %q, want %q %q", m.Queue, m.Kind, queue, kind)
		}
		sum.Submitted += m.Submitted
		sum.Claimed += m.Claimed
		sum.Done += m.Done
		sum.Waited += m.Waited
		sum.Ran += m.Ran
	}
	if sum.Submitted != 1 || sum.Claimed != 1 || sum.Done != 1 {
		t.Errorf("Stats = %+v, want one submitted, claimed and done", sum)
	}
	if sum.Waited < w.units(4) || sum.Waited > w.units(5) || sum.Ran < w.units(2) || sum.Ran > w.units(3) {
		t.Errorf("Waited = %v, Ran = %v, want %v, %v", sum.Waited, sum.Ran, w.units(4), w.units(2))
	}
}
