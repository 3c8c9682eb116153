package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func declareTests() []test {
	return []test{
		{"dead is one-way", declareOneWay},
		{"a dead worker's outcome counts until Recover has moved its task", declareOutcomeCounts},
		{"a dead worker may save until Recover has moved its task", declareSaveCounts},
		{"a stopped worker that wakes is refused, and the second result stands", declareStopped},
		{"silence needs the whole dead-after", declareSilence},
		{"Join counts as a beat of the victim", declareJoinBeats},
		{"a victim's own dead-after decides", declareOwn},
		{"after an outage of all nobody is declared", declareOutage},
		{"after an outage the dead are found once the pulse is whole", declareAfterOutage},
		{"while nobody beats nobody is declared, however whole the pulse was", declareDuringOutage},
		{"without beats nobody is declared by silence", declareNoPulse},
		{"a pulse with gaps proves nothing", declareGaps},
		{"beats that overtake each other do not break the pulse", declareOvertaken},
		{"proof works at once", declareProof},
		{"a living process is never declared by proof or session", declareNoProof},
		{"a gone session counts after GoneAfter", declareGone},
		{"a gone session counts once it was seen gone for a beat", declareSeen},
		{"a gone session needs a declarer whose session is older", declareYoung},
		{"a gone session is not vouched for by nobody", declareNobody},
		{"a session that was seen is as good as a beat", declareSeenAlive},
		{"what an older session has seen gone a younger one may act on", declareHandedOn},
		{"a session cut while its worker beats proves nothing", declareCut},
		{"a cut that hits everybody proves nothing", declareCutAll},
		{"a clock stepped back kills nobody", declareStepBack},
		{"a clock stepped back does not keep the dead for ever", declareStepBackDead},
	}
}

// silenced lets k fall silent while the others beat, and asks by for a pass after so many units.
func silenced(w *world, k, by *worker, units int) store.RecoverResult {
	w.t.Helper()
	k.beat()
	k.silent = true
	w.live(units)
	return by.recover()
}

// FT-07
func declareOneWay(t *testing.T, w *world) {
	k, by, held := w.zombie(3)
	for range 3 {
		_, err := k.tryBeat()
		w.refused("Beat", err, store.ErrDead)
		_, err = k.st.Claim(w.ctx(), k.request(1))
		w.refused("Claim", err, store.ErrDead)
		req := k.request(1)
		s := w.spec()
		sub, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}, Claim: &req})
		w.ok("Submit", err)
		w.refused("the claim in Submit", sub.ClaimErr, store.ErrDead)
		w.in(s.ID, store.Ready)
		res, err := k.st.Complete(w.ctx(), store.CompleteRequest{Claim: &req})
		w.ok("Complete", err)
		w.refused("the claim in Complete", res.ClaimErr, store.ErrDead)
		w.live(1)
	}
	if got, _ := k.record(); got.DeadAt.IsZero() {
		t.Errorf("record = %+v, want it dead", got)
	}
	if got := len(by.recoverAll()); got != len(held) {
		t.Errorf("Recover put back %d tasks, want %d", got, len(held))
	}
}

func declareOutcomeCounts(_ *testing.T, w *world) {
	k, by, held := w.zombie(2)
	k.done(held[0])
	by.recoverAll()
	w.in(held[0].ID, store.Done)
	w.refused("Complete after the move", k.try(held[1].Fence(), store.Outcome{Kind: store.OutcomeDone}).Err, store.ErrFenced)
	w.in(held[1].ID, store.Ready)
}

func declareSaveCounts(t *testing.T, w *world) {
	k, by, held := w.zombie(1)
	k.save(held[0], map[string][]byte{"e": []byte("1")})
	by.recoverAll()
	if got := w.load(held[0].ID); string(got["e"]) != "1" {
		t.Errorf("Load = %q, want what was saved", got)
	}
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: held[0].Fence(), Entries: map[string][]byte{"e": []byte("2")}})
	w.refused("Save after the move", err, store.ErrFenced)
}

// FT-08, I4
func declareStopped(t *testing.T, w *world) {
	k, by, held := w.zombie(1)
	by.recoverAll()
	var again store.Task
	for _, task := range by.claim(9) {
		if task.ID == held[0].ID {
			again = task
		}
	}
	_, err := k.tryBeat()
	w.refused("Beat", err, store.ErrDead)
	mine := store.Outcome{Kind: store.OutcomeDone, Result: []byte("first"), Follow: []store.Spec{w.spec(func(s *store.Spec) { s.Kind = "never" })}}
	w.refused("Complete", k.try(held[0].Fence(), mine).Err, store.ErrFenced)
	by.end(again, store.Outcome{Kind: store.OutcomeDone, Result: []byte("second")})
	w.refused("Complete after the end", k.try(held[0].Fence(), mine).Err, store.ErrFenced)
	if got := w.in(again.ID, store.Done); string(got.Result) != "second" {
		t.Errorf("result = %q, want the second", got.Result)
	}
	if w.exists(mine.Follow[0].ID) {
		t.Errorf("a follow-up of a refused outcome was stored")
	}
}

func declareSilence(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	w.live(2 * deadAfter)
	if res := silenced(w, k, by, deadAfter-2); len(res.Dead) != 0 {
		t.Errorf("Recover before dead-after = %+v, want nobody dead", res.Dead)
	}
	w.live(3)
	res := by.recover()
	if !declared(res, k) || res.Dead[0].Death != store.DeathSilence {
		t.Fatalf("Recover after dead-after = %+v, want %s dead by silence", res.Dead, k.id)
	}
	w.in(task.ID, store.Ready)
}

func declareJoinBeats(t *testing.T, w *world) {
	by := w.join()
	w.live(3 * deadAfter)
	k := w.join()
	k.silent = true
	w.live(deadAfter - 2)
	if res := by.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead: it joined less than dead-after ago", res.Dead)
	}
	w.live(3)
	if res := by.recover(); !declared(res, k) {
		t.Errorf("Recover = %+v, want the one that never beat", res.Dead)
	}
}

func declareOwn(t *testing.T, w *world) {
	by := w.join()
	slow := w.joinOn(w.Open(t), 4*deadAfter)
	w.live(5 * deadAfter)
	if res := silenced(w, slow, by, 2*deadAfter); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead: its own dead-after is longer", res.Dead)
	}
	w.live(2*deadAfter + 2)
	if res := by.recover(); !declared(res, slow) {
		t.Errorf("Recover = %+v, want %s dead", res.Dead, slow.id)
	}
}

// FT-09, X-14
func declareOutage(t *testing.T, w *world) {
	all := []*worker{w.join(), w.join(), w.join()}
	var tasks []store.Task
	for _, k := range all {
		tasks = append(tasks, k.start())
	}
	w.live(2 * deadAfter)
	w.pass(5 * deadAfter)
	// The first one back asks before the others had a chance to beat.
	for i, k := range all {
		k.beat()
		if res := k.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover by worker %d = %+v, want nobody dead", i, res.Dead)
		}
	}
	w.live(2 * deadAfter)
	if res := all[0].recover(); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead", res.Dead)
	}
	for i, k := range all {
		k.done(tasks[i])
	}
}

func declareAfterOutage(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.live(2 * deadAfter)
	k.silent = true
	w.pass(5 * deadAfter)
	w.live(deadAfter - 2)
	if res := by.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead: the pulse is younger than dead-after", res.Dead)
	}
	w.live(4)
	if res := by.recover(); !declared(res, k) {
		t.Errorf("Recover = %+v, want %s dead", res.Dead, k.id)
	}
}

func declareNoPulse(t *testing.T, w *world) {
	w.join()
	by := w.join()
	for range 4 * deadAfter {
		w.pass(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: nobody beats", res.Dead)
		}
	}
	// A Join is no beat of the pulse.
	w.join()
	if res := by.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead", res.Dead)
	}
}

func declareGaps(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.live(2 * deadAfter)
	k.silent = true
	for range deadAfter {
		w.pass(pulseGap + 2)
		by.beat()
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: the store was hardly reached", res.Dead)
		}
	}
}

// Two beats of one moment: the one that read the clock first may be written last.
func declareOvertaken(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.live(2 * deadAfter)
	k.silent = true
	for range 2 * deadAfter {
		w.pass(2)
		by.beat()
		w.stepBack(t, 1)
		by.beat()
		w.pass(1)
		if declared(by.recover(), k) {
			return
		}
	}
	t.Errorf("nobody was declared dead in %d units of silence, and another beat all the while", 4*deadAfter)
}

func declareProof(t *testing.T, w *world) {
	if w.evidence != store.EvidenceProof {
		t.Skip("no proof")
	}
	k, by := w.join(), w.join()
	task := k.start()
	k.crash()
	res := by.recover()
	if !declared(res, k) || res.Dead[0].Death != store.DeathProof {
		t.Errorf("Recover = %+v, want %s dead by proof, at once", res.Dead, k.id)
	}
	w.in(task.ID, store.Ready)
}

// FT-08
func declareNoProof(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.live(2 * deadAfter)
	k.beat()
	k.silent = true
	for range deadAfter - 2 {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: the process lives and is not silent for long", res.Dead)
		}
	}
}

func (w *world) needSession(t *testing.T) {
	t.Helper()
	if w.evidence != store.EvidenceSession {
		t.Skip("no sessions")
	}
}

func declareGone(t *testing.T, w *world) {
	w.needSession(t)
	k, by := w.join(), w.join()
	w.live(2)
	k.crash()
	if res := by.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover at once = %+v, want nobody dead", res.Dead)
	}
	w.live(3)
	res := by.recover()
	if !declared(res, k) || res.Dead[0].Death != store.DeathGone {
		t.Errorf("Recover after GoneAfter = %+v, want %s gone", res.Dead, k.id)
	}
}

func declareYoung(t *testing.T, w *world) {
	w.needSession(t)
	k := w.join()
	w.live(2)
	k.crash()
	w.pass(1)
	young := w.join()
	w.live(4)
	if res := young.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover = %+v, want nobody dead: the declarer's session is younger than the victim's last beat", res.Dead)
	}
	w.live(2 * deadAfter)
	res := young.recover()
	if !declared(res, k) || res.Dead[0].Death != store.DeathSilence {
		t.Errorf("Recover after dead-after = %+v, want %s dead by silence", res.Dead, k.id)
	}
}

func declareNobody(t *testing.T, w *world) {
	w.needSession(t)
	k, by := w.join(), w.join()
	w.live(2)
	k.crash()
	for range deadAfter - 4 {
		w.live(1)
		res, err := w.st.Recover(w.ctx(), store.RecoverRequest{Force: true})
		w.ok("Recover", err)
		if len(res.Dead) != 0 {
			t.Fatalf("Recover by nobody = %+v, want nobody dead", res.Dead)
		}
	}
	// Whether a pass of nobody has seen the session gone is the engine's own: two of a worker suffice in either case.
	res := by.recover()
	if !declared(res, k) {
		w.live(1)
		res = by.recover()
	}
	if !declared(res, k) || res.Dead[0].Death != store.DeathGone {
		t.Errorf("Recover by a worker = %+v, want %s gone", res.Dead, k.id)
	}
}

// A worker that dies before its first beat, in a fleet that is not older, is found all the same.
func declareSeenAlive(t *testing.T, w *world) {
	w.needSession(t)
	k := w.join()
	k.silent = true
	w.pass(1)
	by := w.join()
	w.pass(1)
	by.recover()
	w.Crash(k.st)
	by.recover()
	w.live(3)
	if res := by.recover(); !declared(res, k) || res.Dead[0].Death != store.DeathGone {
		t.Errorf("Recover = %+v, want %s gone: its session was seen after that of the declarer began", res.Dead, k.id)
	}
}

// Workers come and go: the one that could bear witness may be gone itself when the time has come.
func declareHandedOn(t *testing.T, w *world) {
	w.needSession(t)
	old, k := w.join(), w.join()
	w.live(2)
	k.crash()
	old.recover()
	w.live(3)
	young := w.join()
	old.silent = true
	w.Crash(old.st)
	if res := young.recover(); len(res.Dead) != 0 {
		t.Errorf("Recover at once = %+v, want nobody dead: the declarer could not have heard a beat yet", res.Dead)
	}
	w.live(1)
	if res := young.recover(); !declared(res, k) || declared(res, old) || res.Dead[0].Death != store.DeathGone {
		t.Errorf("Recover = %+v, want %s gone, and nobody else", res.Dead, k.id)
	}
}

// After an outage many have lost their session, and each needs the time of a beat to say that it lives.
func declareSeen(t *testing.T, w *world) {
	w.needSession(t)
	k, by := w.join(), w.join()
	w.live(2)
	k.crash()
	w.live(4)
	res := by.recover()
	if len(res.Dead) != 0 || res.Next <= 0 || res.Next > w.u {
		t.Fatalf("the pass that first sees it = %+v, next in %v, want nobody dead, next within a beat", res.Dead, res.Next)
	}
	w.Pass(res.Next)
	w.beat()
	if res := by.recover(); !declared(res, k) || res.Dead[0].Death != store.DeathGone {
		t.Errorf("the pass after Next = %+v, want %s gone", res.Dead, k.id)
	}
	if res := by.recover(); res.Next != 0 {
		t.Errorf("Next = %v, want 0: no session is gone", res.Next)
	}
}

func declareCut(t *testing.T, w *world) {
	w.needSession(t)
	k, by := w.join(), w.join()
	w.live(2)
	w.e.Cut(w.World, k.id)
	by.recover()
	for range deadAfter {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: it beats", res.Dead)
		}
	}
}

func declareCutAll(t *testing.T, w *world) {
	w.needSession(t)
	k, by := w.join(), w.join()
	w.live(2)
	w.e.Cut(w.World, k.id)
	w.e.Cut(w.World, by.id)
	k.silent = true
	for range deadAfter - 3 {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: the declarer lost its session too", res.Dead)
		}
	}
}

func (w *world) stepBack(t *testing.T, units int) {
	t.Helper()
	if !w.e.Virtual {
		t.Skip("a real clock cannot be stepped")
	}
	w.pass(-units)
}

func declareStepBack(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	w.live(3 * deadAfter)
	w.stepBack(t, 100)
	for range 3 * deadAfter {
		w.live(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: all beat", res.Dead)
		}
	}
	k.beat()
}

func declareStepBackDead(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	w.live(3 * deadAfter)
	by.recover()
	k.crash()
	w.stepBack(t, 1000)
	for range 4 * deadAfter {
		w.live(1)
		// Without Force: a gate that lies in the future must not shut for ever.
		_, err := by.st.Recover(w.ctx(), store.RecoverRequest{Worker: by.id})
		w.ok("Recover", err)
	}
	w.in(task.ID, store.Ready)
}

// Whoever can still call Recover, while no beat comes through, sees its own side of a cut and nothing else.
func declareDuringOutage(t *testing.T, w *world) {
	w.join()
	by := w.join()
	w.live(3 * deadAfter)
	for range 4 * deadAfter {
		w.pass(1)
		if res := by.recover(); len(res.Dead) != 0 {
			t.Fatalf("Recover = %+v, want nobody dead: nobody beats", res.Dead)
		}
	}
}
