package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func crashTests() []test {
	return []test{
		{"a crash is counted, and is no attempt", crashCounts},
		{"silence counts a crash only without evidence", crashSilence},
		{"leaving counts no crash", crashLeft},
		{"two crashes make a suspect that waits apart", crashSuspect},
		{"a claim for suspects takes nothing else", crashOnlySuspects},
		{"a claim for suspects takes no more than it asks for", crashSuspectCount},
		{"saving an entry clears the run", crashSave},
		{"saving progress alone does not", crashProgress},
		{"a park clears the run", crashPark},
		{"a suspect that saves is no suspect any more", crashCleared},
		{"a suspect that fails an attempt stays a suspect", crashStays},
		{"a suspect that dies alone ends as failed", crashAlone},
		{"a suspect that dies in company is tried alone", crashCompany},
		{"one that is to be tried alone is given to a free worker only", crashSoloFree},
		{"one that is tried alone and dies ends as failed", crashSoloDies},
		{"those that ran beside a poison do not fail for it", crashInnocent},
		{"company at the claim is company, though it ended before the crash", crashCompanyBefore},
		{"company that comes after the claim is company", crashCompanyAfter},
		{"several that run together are company, though none ran alone", crashCompanySeveral},
		{"a run whose task was taken is company, if the claim tells of it", crashCompanyUnknown},
		{"the worker of a suspect that leaves convicts nobody", crashSuspectLeft},
		{"twenty crashes in all make a suspect whatever was saved", crashBudget},
		{"Retry forgets crashes", crashRetry},
		{"statistics count crashes", crashStats},
	}
}

// suspect makes a task that crashed so often that it waits apart.
func (w *world) suspect(by *worker, edits ...edit) store.ID {
	w.t.Helper()
	id := w.put(edits...)
	for range store.Suspicion {
		k := w.join()
		if got := k.take(); got.ID != id {
			w.t.Fatalf("Claim = %v, want %v", got.ID, id)
		}
		k.die(by)
	}
	if got := w.in(id, store.Ready); !got.Suspect {
		w.t.Fatalf("after %d crashes it is no suspect", got.CrashRun)
	}
	return id
}

// I10
func crashCounts(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.die(by)
	if got := w.in(task.ID, store.Ready); got.Crashes != 1 || got.CrashRun != 1 || got.Attempts != 0 || got.Suspect {
		t.Errorf("Get = %d crashes, %d in a row, %d attempts, suspect %v, want 1, 1, 0, false", got.Crashes, got.CrashRun, got.Attempts, got.Suspect)
	}
}

func crashSilence(t *testing.T, w *world) {
	k, by, held := w.zombie(1)
	tasks := by.recoverAll()
	want := 0
	if w.evidence == store.EvidenceNone {
		want = 1
	}
	if len(tasks) != 1 || tasks[0].Crash != (want == 1) || tasks[0].Worker != k.id {
		t.Errorf("Recover = %+v, want a crash: %v", tasks, want == 1)
	}
	if got := w.in(held[0].ID, store.Ready); got.Crashes != want {
		t.Errorf("crashes = %d, want %d", got.Crashes, want)
	}
}

func crashLeft(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.leave()
	if got := w.in(task.ID, store.Ready); got.Crashes != 0 {
		t.Errorf("crashes = %d, want 0", got.Crashes)
	}
}

// FT-15
func crashSuspect(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	well := w.put()
	w.sameIDs("Claim", ids(by.claim(9)), []store.ID{well})
	suspect := by.takeSuspect()
	w.sameIDs("Claim of suspects", []store.ID{suspect.ID}, []store.ID{id})
	by.done(suspect)
	w.in(id, store.Done)
}

func crashOnlySuspects(t *testing.T, w *world) {
	by := w.join()
	w.put()
	if got := by.takeSuspects(9); len(got) != 0 {
		t.Errorf("Claim of suspects took %d tasks, want 0", len(got))
	}
}

// company makes n suspects.
func company(w *world, by *worker, n int) []store.ID {
	w.t.Helper()
	specs := w.specs(n)
	w.submit(specs...)
	for range store.Suspicion {
		k := w.join()
		if got := k.claim(n); len(got) != n {
			w.t.Fatalf("Claim took %d tasks, want %d", len(got), n)
		}
		k.die(by)
	}
	return specIDs(specs)
}

func crashSuspectCount(t *testing.T, w *world) {
	by := w.join()
	company(w, by, 5)
	if got := len(by.takeSuspects(2)); got != 2 {
		t.Errorf("Claim of 2 suspects took %d", got)
	}
	if got := len(by.takeSuspects(9)); got != 3 {
		t.Errorf("Claim of 9 suspects took %d, want the 3 that are left", got)
	}
}

func crashSave(t *testing.T, w *world) {
	by := w.join()
	id := w.put()
	for range 3 {
		k := w.join()
		k.save(k.take(), map[string][]byte{"e": []byte("1")})
		k.die(by)
	}
	if got := w.in(id, store.Ready); got.Suspect || got.CrashRun != 1 || got.Crashes != 3 {
		t.Errorf("Get = suspect %v, %d in a row, %d in all, want false, 1, 3", got.Suspect, got.CrashRun, got.Crashes)
	}
}

func crashProgress(t *testing.T, w *world) {
	by := w.join()
	id := w.put()
	for range store.Suspicion {
		k := w.join()
		_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: func() store.Fence { f := k.take(); return f.Fence() }(), Progress: &store.Progress{Done: 1}})
		w.ok("Save", err)
		k.die(by)
	}
	if got := w.in(id, store.Ready); !got.Suspect {
		t.Errorf("Get = suspect %v, %d in a row, want a suspect", got.Suspect, got.CrashRun)
	}
}

func crashPark(t *testing.T, w *world) {
	by := w.join()
	k := w.join()
	task := k.start()
	k.die(by)
	by.park(by.take())
	if got := w.in(task.ID, store.Parked); got.CrashRun != 0 || got.Crashes != 1 {
		t.Errorf("Get = %d in a row, %d in all, want 0, 1", got.CrashRun, got.Crashes)
	}
}

func crashCleared(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	task := by.takeSuspect()
	by.save(task, map[string][]byte{"e": []byte("1")})
	by.end(task, store.Outcome{Kind: store.OutcomeRetry})
	if got := w.in(id, store.Ready); got.Suspect || got.CrashRun != 0 {
		t.Errorf("Get = suspect %v, %d in a row, want false, 0", got.Suspect, got.CrashRun)
	}
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{id})
}

func crashStays(_ *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	by.end(by.takeSuspect(), store.Outcome{Kind: store.OutcomeRetry})
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{})
	w.sameIDs("Claim of suspects", ids(by.takeSuspects(1)), []store.ID{id})
}

// FT-15
func crashAlone(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	k.takeSuspect()
	tasks := k.die(by)
	if len(tasks) != 1 || tasks[0].State != store.Failed || tasks[0].Reason != store.ReasonCrashed {
		t.Errorf("Recover = %+v, want failed, crashed", tasks)
	}
	if got := w.reason(id, store.Failed, store.ReasonCrashed); got.Attempts != 0 {
		t.Errorf("attempts = %d, want 0", got.Attempts)
	}
}

func crashCompany(t *testing.T, w *world) {
	by := w.join()
	all := company(w, by, 2)
	k := w.join()
	k.takeSuspects(2)
	k.die(by)
	for _, id := range all {
		if got := w.in(id, store.Ready); !got.Solo || !got.Suspect {
			t.Errorf("Get = solo %v, suspect %v, want both", got.Solo, got.Suspect)
		}
	}
	if got := by.takeSuspects(9); len(got) != 1 {
		t.Errorf("Claim of suspects took %d, want one alone", len(got))
	}
}

func crashSoloFree(t *testing.T, w *world) {
	by := w.join()
	company(w, by, 2)
	k := w.join()
	k.takeSuspects(2)
	k.die(by)
	busy := w.join()
	busy.start()
	if got := busy.takeSuspects(9); len(got) != 0 {
		t.Errorf("a busy worker was given %d to try alone", len(got))
	}
	if got := by.takeSuspects(9); len(got) != 1 {
		t.Errorf("a free worker was given %d to try alone, want 1", len(got))
	}
	if got := by.takeSuspects(9); len(got) != 0 {
		t.Errorf("a worker that tries one alone was given %d more", len(got))
	}
}

func crashSoloDies(_ *testing.T, w *world) {
	by := w.join()
	company(w, by, 2)
	k := w.join()
	k.takeSuspects(2)
	k.die(by)
	k = w.join()
	id := k.takeSuspect().ID
	k.die(by)
	w.reason(id, store.Failed, store.ReasonCrashed)
}

// FT-30: a poison beside innocents, all in one worker, until only the poison has failed.
func crashInnocent(t *testing.T, w *world) {
	by := w.join()
	all := company(w, by, 4)
	poison := all[2]
	for round := 0; w.get(poison).State == store.Ready; round++ {
		if round > 2*len(all) {
			t.Fatalf("the poison is still there after %d rounds", round)
		}
		k := w.join()
		died := false
		for _, task := range k.takeSuspects(4) {
			died = died || task.ID == poison
		}
		if died {
			k.die(by)
			continue
		}
		for _, id := range k.holds() {
			k.done(w.get(id))
		}
		k.leave()
	}
	w.reason(poison, store.Failed, store.ReasonCrashed)
	for {
		tasks := by.takeSuspects(1)
		if len(tasks) == 0 {
			break
		}
		by.done(tasks[0])
	}
	for _, id := range all {
		if id != poison {
			w.in(id, store.Done)
		}
	}
}

func crashSuspectLeft(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	k.takeSuspect()
	k.leave()
	if got := w.in(id, store.Ready); !got.Suspect || got.Crashes != store.Suspicion {
		t.Errorf("Get = suspect %v, %d crashes, want a suspect with %d", got.Suspect, got.Crashes, store.Suspicion)
	}
}

func crashBudget(t *testing.T, w *world) {
	by := w.join()
	id := w.put()
	for i := range store.CrashBudget {
		if got := w.in(id, store.Ready); got.Suspect {
			t.Fatalf("a suspect after %d crashes, and each run saved", i)
		}
		k := w.join()
		k.save(k.take(), map[string][]byte{"e": []byte("1")})
		k.die(by)
	}
	if got := w.in(id, store.Ready); !got.Suspect || got.Crashes != store.CrashBudget {
		t.Errorf("Get = suspect %v, %d crashes, want a suspect with %d", got.Suspect, got.Crashes, store.CrashBudget)
	}
	task := by.takeSuspect()
	by.save(task, map[string][]byte{"e": []byte("2")})
	by.end(task, store.Outcome{Kind: store.OutcomeRelease})
	if got := w.in(id, store.Ready); !got.Suspect {
		t.Errorf("a Save made it no suspect, and its budget is spent")
	}
}

func crashRetry(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	k.takeSuspect()
	k.die(by)
	w.in(id, store.Failed)
	w.ok("Retry", w.st.Retry(w.ctx(), id))
	if got := w.in(id, store.Ready); got.Suspect || got.Solo || got.Crashes != 0 || got.CrashRun != 0 {
		t.Errorf("Get = %+v, want crashes forgotten", got)
	}
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{id})
}

func crashStats(t *testing.T, w *world) {
	by, k := w.join(), w.join()
	from := w.now().Add(-w.units(120))
	k.start()
	k.die(by)
	minutes, err := w.st.Stats(w.ctx(), from, w.now().Add(w.units(120)))
	w.ok("Stats", err)
	var crashed int64
	for _, m := range minutes {
		crashed += m.Crashed
	}
	if crashed != 1 {
		t.Errorf("Stats = %d crashed, want 1", crashed)
	}
}

// The other one may have done the harm and ended: only who was alone from claim to death is convicted.
func crashCompanyBefore(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	other := k.start()
	k.takeSuspect()
	if got := w.in(id, store.Running); got.Alone {
		t.Errorf("claimed beside another, and marked as alone")
	}
	k.done(other)
	k.die(by)
	if got := w.in(id, store.Ready); !got.Solo {
		t.Errorf("Get = solo %v, want it to be tried alone", got.Solo)
	}
}

func crashCompanyAfter(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	k.takeSuspect()
	if got := w.in(id, store.Running); !got.Alone {
		t.Errorf("claimed by a free worker, and not marked as alone")
	}
	other := k.start()
	if got := w.in(id, store.Running); got.Alone || w.in(other.ID, store.Running).Alone {
		t.Errorf("two run, and one is marked as alone")
	}
	k.done(other)
	k.die(by)
	if got := w.in(id, store.Ready); !got.Solo {
		t.Errorf("Get = solo %v, want it to be tried alone", got.Solo)
	}
}

func crashCompanySeveral(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	w.submit(w.specs(2)...)
	if got := k.claim(2); len(got) != 2 {
		t.Fatalf("Claim took %d tasks, want 2", len(got))
	}
	k.takeSuspect()
	if got := w.in(id, store.Running); got.Alone {
		t.Errorf("claimed beside two others, and marked as alone")
	}
	k.die(by)
	if got := w.in(id, store.Ready); !got.Solo {
		t.Errorf("Get = solo %v, want it to be tried alone", got.Solo)
	}
}

// The store knows nothing of a run whose task it has given away; the process does.
func crashCompanyUnknown(t *testing.T, w *world) {
	by := w.join()
	id := w.suspect(by)
	k := w.join()
	req := k.request(1)
	req.Suspects, req.Company = 1, true
	tasks := k.ask(req).Tasks
	w.sameIDs("Claim of a suspect in company", ids(tasks), []store.ID{id})
	if stored := w.in(id, store.Running); tasks[0].Alone || stored.Alone {
		t.Errorf("claimed in company, told as alone %v, and stored as alone %v, want neither", tasks[0].Alone, stored.Alone)
	}
	k.die(by)
	if got := w.in(id, store.Ready); !got.Solo {
		t.Errorf("Get = solo %v, want it to be tried alone", got.Solo)
	}
	k = w.join()
	req = k.request(1)
	req.Suspects, req.Company = 1, true
	w.sameIDs("Claim of a solo one in company", ids(k.ask(req).Tasks), []store.ID{})
	w.sameIDs("Claim of a solo one", ids(k.takeSuspects(1)), []store.ID{id})
}
