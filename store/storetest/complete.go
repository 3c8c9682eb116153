package storetest

import (
	"strings"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func completeTests() []test {
	return []test{
		{"done keeps result and entries", completeDone},
		{"fail counts an attempt and keeps the error", completeFail},
		{"cancel ends by the handler's own will", completeCancel},
		{"retry counts an attempt and is due again after its delay", completeRetry},
		{"retry without delay is ready", completeRetryNow},
		{"snooze costs nothing", completeSnooze},
		{"release puts it back as if it had not been claimed", completeRelease},
		{"hold keeps it out of every lane until it is freed", completeHold},
		{"leaving running clears the owner", completeNoOwner},
		{"a delayed retry is not started early by recovery", completeDelayKept},
		{"the progress of an outcome is told", completeProgress},
		{"an unknown outcome is refused", completeUnknown},
		{"one bad item fails alone", completeBadItem},
		{"an unknown task is fenced", completeNotFound},
		{"any handle may complete under the fence", completeElsewhere},
		{"with Claim the next tasks come in the same call", completeClaim},
		{"with Claim of a dead worker the outcome counts all the same", completeClaimDead},
		{"a refused outcome does not stop the claim", completeClaimFenced},
		{"without retention the ending strips the payload", completeStrips},
		{"with retention the ending keeps the payload", completeKeeps},
		{"the history keeps the newest events", completeHistory},
		{"the history tells each outcome", completeEvents},
		{"a version grows with each change", completeVersion},
		{"statistics count each outcome", completeStats},
	}
}

func completeDone(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.save(task, map[string][]byte{"a": []byte("1"), "b": []byte("2")})
	state := k.end(task, store.Outcome{
		Kind: store.OutcomeDone, Result: []byte("result"), Entries: map[string][]byte{"a": nil, "c": []byte("3")},
	})
	if state != store.Done {
		t.Errorf("Complete = %q, want done", state)
	}
	got := w.in(task.ID, store.Done)
	if string(got.Result) != "result" || !w.near(got.EndedAt, w.now()) || got.Error != nil || got.Attempts != 0 {
		t.Errorf("Get = %+v, want the result and when it ended", got)
	}
	entries := w.load(task.ID)
	if len(entries) != 2 || string(entries["b"]) != "2" || string(entries["c"]) != "3" {
		t.Errorf("Load = %q, want b and c", entries)
	}
}

func completeFail(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	out := store.Outcome{Kind: store.OutcomeFail, Reason: "why", Error: &store.Error{Message: "m", Type: "t", Detail: []byte("d")}}
	if state := k.end(task, out); state != store.Failed {
		t.Errorf("Complete = %q, want failed", state)
	}
	got := w.reason(task.ID, store.Failed, "why")
	if got.Error == nil || got.Error.Message != "m" || got.Error.Type != "t" || string(got.Error.Detail) != "d" || got.Attempts != 1 {
		t.Errorf("Get = error %+v after %d attempts, want the outcome's after 1", got.Error, got.Attempts)
	}
	w.pass(1000)
	w.prune()
	w.in(task.ID, store.Failed)
}

func completeCancel(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeCancel, Reason: "unwanted"})
	if got := w.reason(task.ID, store.Cancelled, "unwanted"); got.Attempts != 0 {
		t.Errorf("attempts = %d, want 0", got.Attempts)
	}
}

func completeRetry(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.pass(2)
	out := store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(10), Error: &store.Error{Message: "not yet"}}
	if state := k.end(task, out); state != store.Scheduled {
		t.Errorf("Complete = %q, want scheduled", state)
	}
	got := w.in(task.ID, store.Scheduled)
	if want := w.now().Add(w.units(10)); !w.near(got.DueAt, want) {
		t.Errorf("DueAt = %v, want %v", got.DueAt, want)
	}
	if got.Attempts != 1 || got.Error == nil || got.Error.Message != "not yet" {
		t.Errorf("Get = %d attempts, error %+v, want 1 and the outcome's", got.Attempts, got.Error)
	}
	w.pass(5)
	w.sameIDs("Claim too early", ids(k.claim(1)), []store.ID{})
	w.pass(6)
	if again := k.take(); again.Attempts != 1 || again.Epoch != 2 {
		t.Errorf("Claim told %d attempts, epoch %d, want 1, 2", again.Attempts, again.Epoch)
	}
}

func completeRetryNow(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	if state := k.end(task, store.Outcome{Kind: store.OutcomeRetry}); state != store.Ready {
		t.Errorf("Complete = %q, want ready", state)
	}
	k.take()
}

func completeSnooze(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeSnooze, Delay: w.units(4)})
	if got := w.in(task.ID, store.Scheduled); got.Attempts != 0 || got.Crashes != 0 || !w.near(got.DueAt, w.now().Add(w.units(4))) {
		t.Errorf("Get = %d attempts, due %v, want 0, in %v", got.Attempts, got.DueAt, w.units(4))
	}
	w.pass(5)
	k.take()
}

// FT-17
func completeRelease(t *testing.T, w *world) {
	k, other := w.join(), w.join()
	task := k.start()
	k.save(task, map[string][]byte{"kept": []byte("yes")})
	if state := k.end(task, store.Outcome{Kind: store.OutcomeRelease}); state != store.Ready {
		t.Errorf("Complete = %q, want ready", state)
	}
	got := w.in(task.ID, store.Ready)
	if got.Attempts != 0 || got.Crashes != 0 || got.CrashRun != 0 {
		t.Errorf("Get = %d attempts, %d crashes, want none", got.Attempts, got.Crashes)
	}
	if again := other.take(); string(w.load(again.ID, "kept")["kept"]) != "yes" {
		t.Errorf("Load = %q, want what was saved", w.load(again.ID))
	}
}

func completeHold(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeHold, Reason: "look at it"})
	w.reason(task.ID, store.Held, "look at it")
	w.pass(100)
	w.promote()
	w.sameIDs("Claim of a held task", ids(k.claim(1)), []store.ID{})
	w.ok("Free", w.st.Free(w.ctx(), task.ID))
	w.reason(task.ID, store.Ready, "")
	k.take()
}

func completeNoOwner(t *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{
		store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark,
		store.OutcomeRelease, store.OutcomeHold,
	} {
		task := k.start(func(s *store.Spec) { s.Kind = "of." + string(out) })
		k.end(task, store.Outcome{Kind: out, Delay: w.units(3), Reason: "look"})
		got := w.get(task.ID)
		if got.Worker != "" || !got.Nonce.IsZero() || got.State == store.Running {
			t.Errorf("after %s: %q, worker %q, nonce %v, want nobody's", out, got.State, got.Worker, got.Nonce)
		}
		if want := (store.Settled{Epoch: 1, Nonce: task.Nonce, Kind: out}); got.Settled != want {
			t.Errorf("after %s: settled %+v, want %+v", out, got.Settled, want)
		}
	}
	w.sameIDs("Holds", k.holds(), []store.ID{})
}

// FT-29
func completeDelayKept(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(500)})
	k.die(by)
	w.promote()
	w.in(task.ID, store.Scheduled)
	w.sameIDs("Claim", ids(by.claim(1)), []store.ID{})
}

func completeUnknown(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	before := w.get(task.ID)
	for _, out := range []store.OutcomeKind{"", "explode"} {
		w.refused("Complete", k.try(task.Fence(), store.Outcome{Kind: out}).Err, store.ErrInvalid)
	}
	w.same(before)
}

func completeBadItem(t *testing.T, w *world) {
	k := w.join()
	w.submit(w.specs(3)...)
	tasks := k.claim(3)
	var req store.CompleteRequest
	for _, task := range tasks {
		req.Items = append(req.Items, store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
	}
	req.Items[1].Fence.Epoch++
	res, err := k.st.Complete(w.ctx(), req)
	w.ok("Complete", err)
	w.ok("item 0", res.Items[0].Err)
	w.refused("item 1", res.Items[1].Err, store.ErrFenced)
	w.ok("item 2", res.Items[2].Err)
	for i, want := range []store.State{store.Done, store.Running, store.Done} {
		if got := w.get(tasks[i].ID).State; got != want {
			t.Errorf("item %d = %q, want %q", i, got, want)
		}
	}
}

func completeNotFound(_ *testing.T, w *world) {
	k := w.join()
	f := store.Fence{ID: w.id(), Epoch: 1, Nonce: w.id()}
	w.refused("Complete", k.try(f, store.Outcome{Kind: store.OutcomeDone}).Err, store.ErrFenced)
}

func completeElsewhere(_ *testing.T, w *world) {
	task := w.join().start()
	w.join().done(task)
	w.in(task.ID, store.Done)
}

func completeClaim(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	next := w.put()
	req := k.request(1)
	res, err := k.st.Complete(w.ctx(), store.CompleteRequest{
		Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}}, Claim: &req,
	})
	w.ok("Complete", err)
	w.ok("ClaimErr", res.ClaimErr)
	w.sameIDs("Claim", ids(res.Claim.Tasks), []store.ID{next})
	if got := res.Claim.Tasks[0].Nonce; got != req.Nonce {
		t.Errorf("nonce = %v, want the request's", got)
	}
	w.in(task.ID, store.Done)
	w.in(next, store.Running)
}

func completeClaimDead(_ *testing.T, w *world) {
	k, _, tasks := w.zombie(1)
	task := tasks[0]
	next := w.put()
	req := k.request(9)
	res, err := k.st.Complete(w.ctx(), store.CompleteRequest{
		Items: []store.Completion{{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}}, Claim: &req,
	})
	w.ok("Complete", err)
	w.refused("ClaimErr", res.ClaimErr, store.ErrDead)
	w.ok("the outcome", res.Items[0].Err)
	w.in(task.ID, store.Done)
	w.in(next, store.Ready)
}

func completeClaimFenced(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	next := w.put()
	req := k.request(1)
	bad := task.Fence()
	bad.Nonce = w.id()
	res, err := k.st.Complete(w.ctx(), store.CompleteRequest{
		Items: []store.Completion{{Fence: bad, Outcome: store.Outcome{Kind: store.OutcomeDone}}}, Claim: &req,
	})
	w.ok("Complete", err)
	w.refused("the outcome", res.Items[0].Err, store.ErrFenced)
	w.ok("ClaimErr", res.ClaimErr)
	w.sameIDs("Claim", ids(res.Claim.Tasks), []store.ID{next})
}

func completeStrips(t *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeCancel} {
		task := k.start(func(s *store.Spec) { s.Retention, s.Args = 0, []byte("secret") })
		w.send(task.ID, "message")
		k.save(task, map[string][]byte{"e": []byte("secret")})
		k.end(task, store.Outcome{Kind: out, Result: []byte("secret")})
		got := w.get(task.ID)
		if !got.Stripped || len(got.Args) != 0 || len(got.Result) != 0 || len(got.History) != 0 {
			t.Errorf("after %s: %+v, want it stripped", out, got)
		}
		// Not an empty checkpoint: a late run must not believe that nothing was saved.
		_, err := w.st.Load(w.ctx(), task.ID)
		w.refused("Load after "+string(out), err, store.ErrNotFound)
		if messages, err := w.st.Messages(w.ctx(), task.ID); err != nil || len(messages) != 0 {
			t.Errorf("after %s: Messages = %v, %v, want none", out, messages, err)
		}
	}
}

func completeKeeps(t *testing.T, w *world) {
	k := w.join()
	for _, c := range []struct {
		kind   store.OutcomeKind
		retain int
	}{{store.OutcomeDone, 60}, {store.OutcomeCancel, -1}, {store.OutcomeFail, 0}} {
		task := k.start(func(s *store.Spec) { s.Retention, s.Args = w.units(c.retain), []byte("args") })
		k.save(task, map[string][]byte{"e": []byte("entry")})
		k.end(task, store.Outcome{Kind: c.kind, Result: []byte("result")})
		got := w.get(task.ID)
		if got.Stripped || string(got.Args) != "args" || string(got.Result) != "result" || len(got.History) == 0 {
			t.Errorf("after %s: %+v, want all kept", c.kind, got)
		}
		if entries := w.load(task.ID); string(entries["e"]) != "entry" {
			t.Errorf("after %s: Load = %q, want the entry", c.kind, entries)
		}
	}
}

func completeHistory(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for range store.HistoryLimit {
		k.end(task, store.Outcome{Kind: store.OutcomeSnooze})
		task = k.take()
	}
	k.done(task)
	history := w.get(task.ID).History
	if len(history) != store.HistoryLimit {
		t.Fatalf("history = %d events, want %d", len(history), store.HistoryLimit)
	}
	if last := history[len(history)-1]; last.Kind != store.EventEnded {
		t.Errorf("last event = %q, want ended", last.Kind)
	}
}

func completeEvents(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for _, out := range []store.Outcome{
		{Kind: store.OutcomeRetry, Error: &store.Error{Message: "oops"}},
		{Kind: store.OutcomeSnooze},
		{Kind: store.OutcomeRelease},
	} {
		k.end(task, out)
		task = k.take()
	}
	k.park(task)
	w.send(task.ID, "go")
	k.end(k.take(), store.Outcome{Kind: store.OutcomeHold, Reason: "look"})
	w.ok("Free", w.st.Free(w.ctx(), task.ID))
	k.fail(k.take())
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	var got []string
	for _, e := range w.get(task.ID).History {
		got = append(got, string(e.Kind))
		if e.Kind == store.EventClaimed && e.Worker != k.id || e.Kind == store.EventRetried && e.Text != "oops" {
			t.Errorf("event = %+v, want its worker and its text", e)
		}
	}
	want := "claimed retried claimed snoozed claimed released claimed parked claimed held freed claimed ended again"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("history = %s, want %s", got, want)
	}
}

func completeVersion(t *testing.T, w *world) {
	k := w.join()
	id := w.put()
	last := w.get(id).Version
	grown := func(after string) {
		t.Helper()
		got := w.get(id).Version
		if got <= last {
			t.Errorf("version after %s = %d, want more than %d", after, got, last)
		}
		last = got
	}
	task := k.take()
	grown("Claim")
	k.save(task, map[string][]byte{"a": []byte("1")})
	grown("Save")
	w.cancel(id)
	grown("Cancel")
	k.done(task)
	grown("Complete")
}

func completeStats(t *testing.T, w *world) {
	k := w.join()
	k.end(k.start(), store.Outcome{Kind: store.OutcomeRetry})
	k.fail(k.take())
	k.end(k.start(), store.Outcome{Kind: store.OutcomeCancel})
	w.cancel(w.put())
	minutes, err := w.st.Stats(w.ctx(), w.now().Add(-w.units(120)), w.now().Add(w.units(120)))
	w.ok("Stats", err)
	var sum store.Minute
	for _, m := range minutes {
		sum.Submitted += m.Submitted
		sum.Claimed += m.Claimed
		sum.Retried += m.Retried
		sum.Failed += m.Failed
		sum.Cancelled += m.Cancelled
	}
	if sum.Submitted != 3 || sum.Claimed != 3 || sum.Retried != 1 || sum.Failed != 1 || sum.Cancelled != 2 {
		t.Errorf("Stats = %+v, want 3 submitted, 3 claimed, 1 retried, 1 failed, 2 cancelled", sum)
	}
}

func completeProgress(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Progress: &store.Progress{Done: 9, Total: 9, Note: "all"}})
	if got := w.get(task.ID).Progress; got.Done != 9 || got.Note != "all" || !w.near(got.At, w.now()) {
		t.Errorf("progress = %+v, want 9 of 9, now", got)
	}
}
