package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func pauseTests() []test {
	tests := []test{
		{"what runs goes on", pauseRunning},
		{"a pause for a while ends by itself", pauseWhile},
		{"a pause of the same scope replaces the one before", pauseReplaces},
		{"Resume ends the pause of exactly its scope", pauseExact},
		{"Resume without a pause is no error", pauseResumeNone},
		{"pauses are listed while they stand", pauseList},
		{"Beat tells of no work in a paused scope", pauseBeat},
		{"work goes on after Resume where it stood", pauseGoesOn},
		{"a queue says that it is paused", pauseQueues},
	}
	for name, c := range map[string]struct {
		scope store.Scope
		want  int // of eight tasks: two queues, two kinds, two lanes
	}{
		"everything":                    {store.Scope{}, 0},
		"a queue":                       {store.Scope{Queue: "q1"}, 4},
		"a kind":                        {store.Scope{Kind: "k1"}, 4},
		"a lane":                        {store.Scope{Lane: "l1"}, 4},
		"a kind in a queue":             {store.Scope{Queue: "q1", Kind: "k1"}, 6},
		"a lane in a queue":             {store.Scope{Queue: "q1", Lane: "l1"}, 6},
		"a lane of a kind in one queue": {store.Scope{Queue: "q1", Kind: "k1", Lane: "l1"}, 7},
		"what matches nothing":          {store.Scope{Queue: "q3"}, 8},
	} {
		tests = append(tests, test{"a pause of " + name + " keeps claims away from it alone", func(t *testing.T, w *world) {
			pauseScope(t, w, c.scope, c.want)
		}})
	}
	return tests
}

// eight asks for all of two queues and two kinds.
func eight(k *worker) store.ClaimRequest {
	req := k.request(0, "k1", "k2")
	req.Queues = []store.QueueSlots{{Queue: "q1", Slots: 9}, {Queue: "q2", Slots: 9}}
	return req
}

func pauseScope(t *testing.T, w *world, scope store.Scope, want int) {
	k := w.join()
	for _, q := range []string{"q1", "q2"} {
		for _, kind := range []string{"k1", "k2"} {
			for _, key := range []string{"l1", "l2"} {
				w.put(lane(key), func(s *store.Spec) { s.Queue, s.Kind = q, kind })
			}
		}
	}
	w.ok("Pause", w.st.Pause(w.ctx(), scope, 0, "test"))
	tasks := k.ask(eight(k)).Tasks
	if len(tasks) != want {
		t.Errorf("Claim took %d tasks, want %d", len(tasks), want)
	}
	for _, task := range tasks {
		if scope.Matches(task.Queue, task.Kind, task.Lane) {
			t.Errorf("Claim took %s %s %s, which is paused", task.Queue, task.Kind, task.Lane)
		}
	}
	w.ok("Resume", w.st.Resume(w.ctx(), scope))
	if got := len(k.ask(eight(k)).Tasks); got != 8-want {
		t.Errorf("Claim after Resume took %d tasks, want %d", got, 8-want)
	}
}

func pauseRunning(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{}, 0, "test"))
	k.save(task, map[string][]byte{"e": []byte("1")})
	k.done(task)
	w.in(task.ID, store.Done)
}

func pauseWhile(_ *testing.T, w *world) {
	k := w.join()
	w.put()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: queue}, w.units(10), "test"))
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{})
	w.pass(8)
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{})
	w.pass(3)
	k.take()
}

func pauseReplaces(t *testing.T, w *world) {
	k := w.join()
	w.put()
	scope := store.Scope{Queue: queue}
	w.ok("Pause", w.st.Pause(w.ctx(), scope, 0, "first"))
	w.ok("Pause", w.st.Pause(w.ctx(), scope, w.units(5), "second"))
	list, err := w.st.PauseList(w.ctx())
	w.ok("PauseList", err)
	if len(list) != 1 || list[0].Reason != "second" {
		t.Errorf("PauseList = %+v, want the second alone", list)
	}
	w.pass(6)
	k.take()
}

func pauseExact(_ *testing.T, w *world) {
	k := w.join()
	w.put()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{}, 0, "all"))
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: queue}, 0, "queue"))
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{}))
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{})
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: queue, Kind: kind}))
	w.sameIDs("Claim", ids(k.claim(1)), []store.ID{})
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: queue}))
	k.take()
}

func pauseResumeNone(_ *testing.T, w *world) {
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: "never"}))
}

func pauseList(t *testing.T, w *world) {
	scope := store.Scope{Queue: "q", Kind: "k", Lane: "odd lane"}
	w.ok("Pause", w.st.Pause(w.ctx(), scope, w.units(5), "why"))
	list, err := w.st.PauseList(w.ctx())
	w.ok("PauseList", err)
	if len(list) != 1 || list[0].Scope != scope || list[0].Reason != "why" || !w.near(list[0].At, w.now()) || !w.near(list[0].Until, w.now().Add(w.units(5))) {
		t.Errorf("PauseList = %+v, want the pause", list)
	}
	w.pass(6)
	if list, err := w.st.PauseList(w.ctx()); err != nil || len(list) != 0 {
		t.Errorf("PauseList after its time = %+v, %v, want none", list, err)
	}
}

func pauseBeat(t *testing.T, w *world) {
	k := w.join()
	w.put()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Kind: kind}, 0, "test"))
	if k.beat().Work {
		t.Errorf("Beat told of work in a paused scope")
	}
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Kind: kind}))
	if !k.beat().Work {
		t.Errorf("Beat told of no work after Resume")
	}
}

func pauseGoesOn(_ *testing.T, w *world) {
	k := w.join()
	specs := w.specs(3)
	w.submit(specs...)
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: queue}, 0, "test"))
	w.pass(5)
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: queue}))
	w.sameIDs("Claim", ids(k.claim(3)), specIDs(specs))
}

func pauseQueues(t *testing.T, w *world) {
	w.put()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: queue}, 0, "test"))
	list, err := w.st.Queues(w.ctx())
	w.ok("Queues", err)
	if len(list) != 1 || !list[0].Paused {
		t.Errorf("Queues = %+v, want it paused", list)
	}
}
