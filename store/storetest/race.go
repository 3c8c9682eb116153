package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func raceTests() []test {
	return []test{
		{"sixteen claimers take each of 2,000 tasks once", raceClaim},
		{"an outcome races Recover: exactly one wins", raceRecover},
		{"recoverers put each task back once", raceRecoverers},
		{"cancel races done: the counts are right", raceCancelDone},
		{"cancel races the claim: it ends or is asked", raceCancelClaim},
		{"cancel and a message race the submit: not found, or they count", raceFresh},
		{"the last two members end at the same time: one closing", raceLastTwo},
		{"abort races the last outcome: one closing", raceAbort},
		{"members race Seal: each is counted or refused", raceSeal},
		{"members race Release: each is counted or refused", raceRelease},
		{"fifty submitters race for one key", raceUnique},
		{"an ending races a submit of its key: the holder stood, or the newcomer does", raceKey},
		{"repeats of one Submit race: one task", raceSubmit},
		{"a wake races the park: it is never lost", raceWake},
		{"promoters promote each task once", racePromote},
		{"drivers race one tick: one task", raceTick},
		{"workers race for one id", raceJoin},
		{"claimers race for a limit", raceLimit},
		{"claimers race for an ordered lane", raceOrdered},
	}
}

// together runs f so many times at once and waits for all.
func together(n int, f func(i int)) {
	var g sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		g.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	g.Wait()
}

// I3
func raceClaim(t *testing.T, w *world) {
	n := w.scaled(2000)
	for left := n; left > 0; left -= 500 {
		w.submit(w.specs(min(left, 500))...)
	}
	workers := make([]*worker, 16)
	for i := range workers {
		workers[i] = w.join()
	}
	var taken sync.Map
	var count atomic.Int64
	together(len(workers), func(i int) {
		k := workers[i]
		for {
			res, err := k.st.Claim(w.ctx(), k.request(1+i%7))
			if err != nil {
				t.Errorf("Claim = %v, want no error", err)
				return
			}
			for _, task := range res.Tasks {
				if other, twice := taken.LoadOrStore(task.ID, k.id); twice {
					t.Errorf("%v was taken by %v and %s", task.ID, other, k.id)
				}
				count.Add(1)
			}
			if len(res.Tasks) == 0 && !res.Again {
				return
			}
		}
	})
	if got := count.Load(); got != int64(n) {
		t.Errorf("claims took %d tasks, want %d", got, n)
	}
}

// FT-07, I6
func raceRecover(t *testing.T, w *world) {
	n := w.scaled(200)
	k, by, held := w.zombie(n)
	var moved []store.Recovered
	results := make([]store.Completed, len(held))
	together(2, func(i int) {
		if i == 0 {
			for more := true; more; {
				res, err := by.st.Recover(w.ctx(), store.RecoverRequest{Worker: by.id, Force: true, Limit: 5})
				if err != nil {
					t.Errorf("Recover = %v, want no error", err)
					return
				}
				moved = append(moved, res.Tasks...)
				more = res.More
			}
			return
		}
		for j, task := range held {
			res, err := k.st.Complete(w.ctx(), store.CompleteRequest{
				Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
			})
			if err != nil {
				t.Errorf("Complete = %v, want no error", err)
				return
			}
			results[j] = res.Items[0]
		}
	})
	recovered := map[store.ID]bool{}
	for _, m := range moved {
		recovered[m.ID] = true
	}
	for j, task := range held {
		state := w.get(task.ID).State
		switch err := results[j].Err; {
		case err == nil && (state != store.Done || recovered[task.ID]):
			t.Errorf("the outcome was accepted, and the task is %q, recovered %v", state, recovered[task.ID])
		case errors.Is(err, store.ErrFenced) && (state != store.Ready || !recovered[task.ID]):
			t.Errorf("the outcome was refused, and the task is %q, recovered %v", state, recovered[task.ID])
		}
	}
}

func raceRecoverers(t *testing.T, w *world) {
	n := w.scaled(300)
	k := w.join()
	by := make([]*worker, 8)
	for i := range by {
		by[i] = w.join()
	}
	w.submit(w.specs(n)...)
	k.claim(n)
	k.silent = true
	w.live(2*deadAfter + pulseGap)
	var mu sync.Mutex
	times := map[store.ID]int{}
	together(len(by), func(i int) {
		for more := true; more; {
			res, err := by[i].st.Recover(w.ctx(), store.RecoverRequest{Worker: by[i].id, Force: true, Limit: 7})
			if err != nil {
				t.Errorf("Recover = %v, want no error", err)
				return
			}
			mu.Lock()
			for _, r := range res.Tasks {
				times[r.ID]++
			}
			mu.Unlock()
			more = res.More
		}
	})
	for _, r := range by[0].recoverAll() {
		times[r.ID]++
	}
	if len(times) != n {
		t.Errorf("%d tasks were put back, want %d", len(times), n)
	}
	for id, count := range times {
		if count != 1 {
			t.Errorf("%v was put back %d times", id, count)
		}
	}
}

// FT-19
func raceCancelDone(t *testing.T, w *world) {
	n := w.scaled(100)
	k := w.join()
	g, _ := w.opened(n, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}}, func(s *store.Spec) {
		s.OnEnd = &store.Spec{Kind: "after", Queue: queue}
	})
	for _, task := range k.claim(n) {
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, err = w.st.Cancel(w.ctx(), task.ID, "")
			} else {
				_, err = k.st.Complete(w.ctx(), store.CompleteRequest{
					Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
				})
			}
			if err != nil {
				t.Errorf("call %d = %v, want no error", i, err)
			}
		})
		// Done wins over a request, and a cancel after it has no effect.
		w.in(task.ID, store.Done)
	}
	w.counts(g, int64(n), int64(n), 0, 0)
	w.groupIn(g, store.GroupClosed)
	if got := len(w.list(store.Filter{Kinds: []string{"after"}})); got != n {
		t.Errorf("OnEnd came %d times, want %d", got, n)
	}
}

func raceCancelClaim(t *testing.T, w *world) {
	k := w.join()
	for range w.scaled(100) {
		id := w.put()
		var tasks []store.Task
		together(2, func(i int) {
			if i == 0 {
				if _, err := w.st.Cancel(w.ctx(), id, ""); err != nil {
					t.Errorf("Cancel = %v, want no error", err)
				}
				return
			}
			res, err := k.st.Claim(w.ctx(), k.request(1))
			if err != nil {
				t.Errorf("Claim = %v, want no error", err)
			}
			tasks = res.Tasks
		})
		if len(tasks) == 1 {
			if got := w.in(id, store.Running); got.Asked == "" {
				t.Errorf("a running task was cancelled and not asked")
			}
			k.end(tasks[0], store.Outcome{Kind: store.OutcomeRelease})
		}
		w.in(id, store.Cancelled)
	}
}

// Who looks for a task that comes to be finds none, or one that counts. There is nothing between.
func raceFresh(t *testing.T, w *world) {
	for n := range w.scaled(100) {
		spec := w.specs(1)[0]
		message := store.Message{ID: lifeID("early"), Task: spec.ID, Name: "early"}
		var stored atomic.Bool
		together(5, func(i int) {
			if i == 0 {
				defer stored.Store(true)
				if _, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
					t.Errorf("Submit = %v, want no error", err)
				}
				return
			}
			state, err := store.Cancelled, store.ErrNotFound
			for last := false; errors.Is(err, store.ErrNotFound) && !last; {
				last = stored.Load()
				if n%2 == 0 {
					state, err = w.st.Cancel(w.ctx(), spec.ID, "")
				} else {
					err = w.st.Send(w.ctx(), message)
				}
			}
			if err != nil || state != store.Cancelled {
				t.Errorf("the first that found the task was told %q, %v, want that it was cancelled, or the message taken", state, err)
			}
		})
		if _, err := w.st.Cancel(w.ctx(), spec.ID, ""); err != nil {
			t.Errorf("Cancel = %v, want no error", err)
		}
	}
}

// FT-20
func raceLastTwo(t *testing.T, w *world) {
	a, b := w.join(), w.join()
	for range w.scaled(200) {
		parent := a.start(func(s *store.Spec) { s.Kind = "parent" })
		a.park(parent)
		g, _ := w.opened(2, store.NewGroup{Parent: parent.ID, OnClose: &store.Spec{Kind: "close", Queue: queue}})
		last := []store.Task{a.take(), b.take()}
		together(2, func(i int) {
			k := []*worker{a, b}[i]
			_, err := k.st.Complete(w.ctx(), store.CompleteRequest{
				Items: []store.Completion{{Fence: last[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
			})
			if err != nil {
				t.Errorf("Complete = %v, want no error", err)
			}
		})
		w.groupIn(g, store.GroupClosed)
		w.counts(g, 2, 2, 0, 0)
		w.in(store.CloseID(g, 1), store.Ready)
		if got := w.in(parent.ID, store.Ready); got.Wakes != parent.Wakes+1 {
			t.Fatalf("the parent was woken %d times, want once", got.Wakes-parent.Wakes)
		}
		a.done(a.take("parent"))
	}
}

// FT-19
func raceAbort(t *testing.T, w *world) {
	k := w.join()
	for range w.scaled(100) {
		g, _ := w.opened(1, store.NewGroup{OnClose: &store.Spec{Kind: "close", Queue: queue}})
		task := k.take()
		together(2, func(i int) {
			var err error
			if i == 0 {
				_, err = w.st.Abort(w.ctx(), g, "")
			} else {
				_, err = k.st.Complete(w.ctx(), store.CompleteRequest{
					Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
				})
			}
			if err != nil {
				t.Errorf("call %d = %v, want no error", i, err)
			}
		})
		w.promote()
		w.in(task.ID, store.Done)
		w.groupIn(g, store.GroupClosed)
		w.counts(g, 1, 1, 0, 0)
		w.in(store.CloseID(g, 1), store.Ready)
	}
}

// FT-21
func raceSeal(t *testing.T, w *world) {
	raceAppend(t, w, store.NewGroup{}, func(g store.ID) error {
		_, err := w.st.Seal(w.ctx(), g)
		return err
	})
}

// FT-21
func raceRelease(t *testing.T, w *world) {
	raceAppend(t, w, store.NewGroup{Hold: true, Seal: true}, func(g store.ID) error {
		_, err := w.st.Release(w.ctx(), g)
		return err
	})
}

func raceAppend(t *testing.T, w *world, g store.NewGroup, open func(g store.ID) error) {
	k := w.join()
	for range w.scaled(30) {
		g.ID = w.id()
		g.OnClose = &store.Spec{Kind: "close", Queue: queue}
		w.group(g, w.spec())
		var accepted atomic.Int64
		together(8, func(i int) {
			if i == 0 {
				if err := open(g.ID); err != nil {
					t.Errorf("opening = %v, want no error", err)
				}
				return
			}
			s := w.spec(func(s *store.Spec) { s.Group = g.ID })
			res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}})
			switch {
			case err != nil:
				t.Errorf("Submit = %v, want no error", err)
			case res.Specs[0].Err == nil:
				accepted.Add(1)
			case !errors.Is(res.Specs[0].Err, store.ErrState):
				t.Errorf("Submit = %v, want ErrState or nothing", res.Specs[0].Err)
			}
		})
		total := accepted.Load() + 1
		w.counts(g.ID, total, 0, 0, 0)
		w.promote()
		for _, task := range k.claim(20) {
			k.done(task)
		}
		w.counts(g.ID, total, total, 0, 0)
		w.groupIn(g.ID, store.GroupClosed)
	}
}

func raceSubmit(t *testing.T, w *world) {
	s := w.spec()
	var fresh atomic.Int64
	together(16, func(int) {
		res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}})
		if err != nil || res.Specs[0].Err != nil {
			t.Errorf("Submit = %v, %v, want no error", err, res.Specs)
		} else if !res.Specs[0].Existed {
			fresh.Add(1)
		}
	})
	if got := fresh.Load(); got != 1 {
		t.Errorf("%d submits were the first, want 1", got)
	}
	if got := len(w.join().claim(9)); got != 1 {
		t.Errorf("Claim took %d tasks, want 1", got)
	}
}

// FT-22
func raceWake(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for range w.scaled(200) {
		message := store.Message{ID: w.id(), Task: task.ID, Name: "m"}
		together(2, func(i int) {
			var err error
			if i == 0 {
				err = w.st.Send(w.ctx(), message)
			} else {
				_, err = k.st.Complete(w.ctx(), store.CompleteRequest{
					Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes}}},
				})
			}
			if err != nil {
				t.Errorf("call %d = %v, want no error", i, err)
			}
		})
		w.in(task.ID, store.Ready)
		task = k.take()
	}
}

func racePromote(t *testing.T, w *world) {
	n := w.scaled(500)
	w.submit(w.specs(n, w.delay(1))...)
	w.pass(2)
	var sum atomic.Int64
	together(8, func(int) {
		for more := true; more; {
			res, err := w.st.Promote(w.ctx(), 10)
			if err != nil {
				t.Errorf("Promote = %v, want no error", err)
				return
			}
			sum.Add(int64(res.Due))
			more = res.More
		}
	})
	sum.Add(int64(w.promote().Due))
	if got := sum.Load(); got != int64(n) {
		t.Errorf("Promote = %d due in all, want %d", got, n)
	}
}

// I25
func raceTick(t *testing.T, w *world) {
	s := w.schedule("s", func(s *store.Schedule) { s.Overlap = store.OverlapAllow })
	tick := w.tickTime(0)
	var fired atomic.Int64
	together(16, func(int) {
		_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: tick, Next: tick.Add(w.u)})
		switch {
		case err == nil:
			fired.Add(1)
		case !errors.Is(err, store.ErrChanged):
			t.Errorf("Tick = %v, want ErrChanged or nothing", err)
		}
	})
	if got := len(w.list(store.Filter{})); got != 1 || fired.Load() != 1 {
		t.Errorf("the tick fired for %d drivers and made %d tasks, want 1 and 1", fired.Load(), got)
	}
}

func raceJoin(t *testing.T, w *world) {
	handles := make([]store.Store, 8)
	for i := range handles {
		handles[i] = w.Open(t)
	}
	var joined atomic.Int64
	together(len(handles), func(i int) {
		err := handles[i].Join(w.ctx(), store.JoinRequest{ID: "same", Beat: w.u, DeadAfter: w.units(deadAfter)})
		switch {
		case err == nil:
			joined.Add(1)
		case !errors.Is(err, store.ErrDuplicate):
			t.Errorf("Join = %v, want ErrDuplicate or nothing", err)
		}
	})
	if got := joined.Load(); got != 1 {
		t.Errorf("%d joined under one id, want 1", got)
	}
}
