package storetest

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func submitTests() []test {
	return []test{
		{"a task is stored as it was said", submitKeepsAll},
		{"a task that hangs on nothing is stored as it was said, alone and among others", submitKeepsPlain},
		{"a task without delay is ready at once", submitReady},
		{"a delay makes it scheduled", submitDelay},
		{"the later of Delay and DueAt counts", submitLaterCounts},
		{"a DueAt in the past is ready at once", submitPastDue},
		{"a DueAt beyond all counting waits, or is due", submitFarDue},
		{"a known id has no effect, whatever else the Spec says", submitKnownID},
		{"a known id has no effect among others that are new", submitKnownAmong},
		{"a known id has no effect after the ending", submitKnownEnded},
		{"a known id has no effect, whatever its unique key says", submitKnownKey},
		{"the same id twice in one call is one task", submitTwiceInOne},
		{"one bad item fails alone", submitBadItem},
		{"a large payload comes back as it was", submitLarge},
		{"odd keys are kept apart", submitOddKeys},
		{"namespaces share nothing", submitNamespaces},
		{"another process sees what was accepted", submitOtherProcess},
		{"nothing to submit is no error", submitNothing},
		{"with Claim the tasks run at once", submitClaim},
		{"with Claim a lone task is as one that was claimed", submitClaimLone},
		{"with Claim a scheduled task is not taken", submitClaimScheduled},
		{"with Claim pauses are obeyed", submitClaimPaused},
		{"with Claim limits are obeyed, in the order of the Specs", submitClaimLimit},
		{"with Claim the order of a lane is obeyed", submitClaimOrder},
		{"with Claim of a dead worker the tasks are stored and not taken", submitClaimDead},
	}
}

func submitKeepsAll(t *testing.T, w *world) {
	parent := w.put(func(s *store.Spec) { s.Kind = "other" })
	group := w.group(store.NewGroup{})
	want := store.Spec{
		ID: w.id(), Kind: "mail.send/v1:x", Queue: "mail", Lane: "tenant 7", Limit: "host:example.org", Priority: -3,
		Args: []byte("\x00\x01binary\xff"), StartBy: w.units(40), Timeout: w.units(5),
		Retry:  store.Retry{Max: 7, Base: w.units(2), Factor: 1.5, Cap: w.units(30), CrashSpends: true, Exact: true},
		Unique: store.Unique{Key: "k-1", OnConflict: store.Reject, For: w.units(50)}, Fingerprint: "sha256:00ff",
		Group: group, Line: 1 << 40, Parent: parent, Owned: true,
		OnEnd:  &store.Spec{Kind: "after", Queue: "mail", Args: []byte("end"), Labels: map[string]string{"of": "end"}},
		Labels: map[string]string{"team": "blue", "empty": ""}, Correlation: "corr-1", Trace: "00-abc-def-01", Sealed: w.id(), Retention: -1,
	}
	w.submit(want)
	got := w.get(want.ID)
	plain := plainSpec(want)
	plain.DueAt = plainTime(got.DueAt) // the record tells when it was due, also if that was at once
	if got := plainSpec(got.Spec); !reflect.DeepEqual(got, plain) {
		t.Errorf("Get = %+v, want %+v", got, plain)
	}
	if got.State != store.Held || got.Reason != store.ReasonGroup {
		t.Errorf("state = %q, %q, want held by its group", got.State, got.Reason)
	}
	if want := got.CreatedAt.Add(w.units(40)); !w.near(got.StartByAt, want) {
		t.Errorf("StartByAt = %v, want %v", got.StartByAt, want)
	}
}

func submitKeepsPlain(t *testing.T, w *world) {
	spec := func() store.Spec {
		return store.Spec{
			ID: w.id(), Kind: "mail.send/v1:x", Queue: "mail", Lane: "tenant 7", Limit: "host:example.org", Priority: -3,
			Args: []byte("\x00\x01binary\xff"), StartBy: w.units(40), Timeout: w.units(5), Fingerprint: "sha256:00ff", Line: 1 << 40, Owned: true,
			Retry: store.Retry{Max: 7, Base: w.units(2), Factor: 1.5, Cap: w.units(30), CrashSpends: true, Exact: true}, Parent: w.id(),
			Labels: map[string]string{"team": "blue", "empty": ""}, Correlation: "corr-1", Trace: "00-abc-def-01", Sealed: w.id(), Retention: -1,
		}
	}
	bare, ordered := store.Spec{ID: w.id(), Kind: "k", Queue: "q"}, spec()
	ordered.Order, ordered.Priority = store.OrderBlock, 5
	for _, call := range [][]store.Spec{{spec()}, {bare}, {ordered, spec(), {ID: w.id(), Kind: "k", Queue: "q"}, spec()}} {
		for i, res := range w.submit(call...) {
			want := plainSpec(call[i])
			task := w.in(call[i].ID, store.Ready)
			want.DueAt = plainTime(task.DueAt)
			if got := plainSpec(task.Spec); !reflect.DeepEqual(got, want) {
				t.Errorf("Get = %+v, want %+v", got, want)
			}
			if want := (store.Submitted{ID: call[i].ID, State: store.Ready, Fingerprint: call[i].Fingerprint}); res != want {
				t.Errorf("Submit = %+v, want %+v", res, want)
			}
			if call[i].StartBy > 0 && !w.near(task.StartByAt, task.CreatedAt.Add(w.units(40))) || call[i].StartBy == 0 && !task.StartByAt.IsZero() {
				t.Errorf("StartByAt = %v of StartBy %v, want it counted from %v", task.StartByAt, call[i].StartBy, task.CreatedAt)
			}
		}
	}
}

func submitReady(t *testing.T, w *world) {
	s := w.spec(func(s *store.Spec) { s.Fingerprint = "f" })
	res := w.submit(s)[0]
	want := store.Submitted{ID: s.ID, State: store.Ready, Fingerprint: "f"}
	if res != want {
		t.Errorf("Submit = %+v, want %+v", res, want)
	}
	task := w.in(s.ID, store.Ready)
	now := w.now()
	if !w.near(task.CreatedAt, now) || !w.near(task.ReadyAt, now) {
		t.Errorf("CreatedAt = %v, ReadyAt = %v, want %v", task.CreatedAt, task.ReadyAt, now)
	}
	if task.Epoch != 0 || task.Worker != "" || !task.Nonce.IsZero() || task.Attempts != 0 || !task.EndedAt.IsZero() || !task.ExpireAt.IsZero() {
		t.Errorf("a fresh task = %+v, want no owner, no attempt, no end", task)
	}
}

func submitDelay(t *testing.T, w *world) {
	s := w.spec(func(s *store.Spec) { s.Delay = w.units(10) })
	if res := w.submit(s)[0]; res.State != store.Scheduled {
		t.Errorf("Submit = %q, want scheduled", res.State)
	}
	task := w.in(s.ID, store.Scheduled)
	if want := w.now().Add(w.units(10)); !w.near(task.DueAt, want) {
		t.Errorf("DueAt = %v, want %v", task.DueAt, want)
	}
	k := w.join()
	if got := k.claim(1); len(got) != 0 {
		t.Errorf("Claim took %d tasks before they were due, want 0", len(got))
	}
}

func submitLaterCounts(t *testing.T, w *world) {
	now := w.now()
	for _, c := range []struct{ delay, due, want int }{{5, 10, 10}, {10, 5, 10}} {
		id := w.put(func(s *store.Spec) { s.Delay, s.DueAt = w.units(c.delay), now.Add(w.units(c.due)) })
		if got, want := w.in(id, store.Scheduled).DueAt, now.Add(w.units(c.want)); !w.near(got, want) {
			t.Errorf("DueAt of Delay %d and DueAt %d = %v, want %v", c.delay, c.due, got, want)
		}
	}
}

func submitFarDue(_ *testing.T, w *world) {
	ahead := w.put(func(s *store.Spec) { s.DueAt = farAhead })
	behind := w.put(func(s *store.Spec) { s.DueAt = farBehind })
	w.promote()
	w.in(ahead, store.Scheduled)
	w.in(behind, store.Ready)
}

func submitPastDue(t *testing.T, w *world) {
	id := w.put(func(s *store.Spec) { s.DueAt = w.now().Add(-w.units(100)) })
	w.in(id, store.Ready)
	if got := w.join().take(); got.ID != id {
		t.Errorf("Claim = %v, want %v", got.ID, id)
	}
}

func submitKnownID(t *testing.T, w *world) {
	first := w.spec(func(s *store.Spec) { s.Args, s.Fingerprint = []byte("first"), "one" })
	w.submit(first)
	before := w.get(first.ID)
	w.pass(1)
	other := store.Spec{ID: first.ID, Kind: "other", Queue: "elsewhere", Args: []byte("second"), Delay: w.units(9), Fingerprint: "two"}
	res := w.submit(other)[0]
	want := store.Submitted{ID: first.ID, State: store.Ready, Existed: true, Fingerprint: "one"}
	if res != want {
		t.Errorf("Submit = %+v, want %+v", res, want)
	}
	w.same(before)
}

func submitKnownAmong(t *testing.T, w *world) {
	specs := w.specs(4)
	ended := specs[0]
	w.submit(ended)
	k := w.join()
	k.done(k.take())
	w.submit(specs[2])
	before := w.get(specs[2].ID)
	for i, res := range w.submit(specs...) {
		want := store.Submitted{ID: specs[i].ID, State: store.Ready, Existed: i == 0 || i == 2}
		if i == 0 {
			want.State = store.Done
		}
		if res != want {
			t.Errorf("item %d = %+v, want %+v", i, res, want)
		}
	}
	w.same(before)
	if got := k.claim(5); len(got) != 3 {
		t.Errorf("Claim took %d tasks, want 3", len(got))
	}
}

// FT-25
func submitKnownEnded(t *testing.T, w *world) {
	k := w.join()
	for _, retention := range []time.Duration{0, w.units(60)} {
		s := w.spec(func(s *store.Spec) { s.Retention = retention })
		w.submit(s)
		k.done(k.take())
		before := w.get(s.ID)
		// Half the horizon is as long as a kernel repeats.
		w.Pass(w.timing.Horizon / 2)
		w.prune()
		if res := w.submit(s)[0]; !res.Existed || res.State != store.Done || res.ID != s.ID {
			t.Errorf("Submit of an ended id = %+v, want it told as done", res)
		}
		w.same(before)
		if got := k.claim(1); len(got) != 0 {
			t.Errorf("Claim took %d tasks, want 0: the submit was a repeat", len(got))
		}
	}
}

func submitKnownKey(t *testing.T, w *world) {
	first := w.spec()
	w.submit(first, w.spec(func(s *store.Spec) { s.Unique.Key = "taken" }))
	before := w.get(first.ID)
	for _, c := range []store.Conflict{store.Keep, store.Reject, store.Replace} {
		again := first
		again.Unique = store.Unique{Key: "taken", OnConflict: c}
		res := w.try(again)
		if res.Err != nil || !res.Existed || res.ID != first.ID {
			t.Errorf("Submit with conflict %q = %+v, want the known id told", c, res)
		}
	}
	w.same(before)
}

func submitTwiceInOne(t *testing.T, w *world) {
	s := w.spec()
	res := w.submit(s, s)
	if res[0].Existed || !res[1].Existed {
		t.Errorf("Existed = %v, %v, want false, true", res[0].Existed, res[1].Existed)
	}
	if got := w.join().claim(5); len(got) != 1 {
		t.Errorf("Claim took %d tasks, want 1", len(got))
	}
}

func submitBadItem(t *testing.T, w *world) {
	specs := w.specs(3)
	specs[1].Kind = ""
	missing := store.NewGroup{ID: w.id()}
	specs[2].Group = missing.ID
	specs = append(specs, w.spec())
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs})
	w.ok("Submit", err)
	w.ok("item 0", res.Specs[0].Err)
	w.refused("item 1", res.Specs[1].Err, store.ErrInvalid)
	w.refused("item 2", res.Specs[2].Err, store.ErrNotFound)
	w.ok("item 3", res.Specs[3].Err)
	for i, want := range []bool{true, false, false, true} {
		if got := w.exists(specs[i].ID); got != want {
			t.Errorf("item %d stored = %v, want %v", i, got, want)
		}
	}
}

// FT-26
func submitLarge(t *testing.T, w *world) {
	payload := bytes.Repeat([]byte{0, 1, 2, 0xff, '\'', '"', '\n'}, 150_000)
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Args = payload })
	if !bytes.Equal(task.Args, payload) {
		t.Errorf("Claim told %d bytes of args, want the %d submitted", len(task.Args), len(payload))
	}
	k.end(task, store.Outcome{Kind: store.OutcomeDone, Result: payload, Entries: map[string][]byte{"e": payload}})
	if got := w.get(task.ID).Result; !bytes.Equal(got, payload) {
		t.Errorf("result = %d bytes, want the %d of the outcome", len(got), len(payload))
	}
	if got := w.load(task.ID)["e"]; !bytes.Equal(got, payload) {
		t.Errorf("entry = %d bytes, want the %d of the outcome", len(got), len(payload))
	}
}

// oddKeys are keys that an engine may trip over when it builds keys, patterns or statements of them.
func oddKeys() []string {
	long := string(bytes.Repeat([]byte("x"), store.KeyLimit-1))
	return []string{
		"a", "A", "a ", " a", "a:b", "a/b", "a|b", "{a}", "a*", "a%", "a_b", "a'b", `a"b`, `a\b`, "ключ", "日本語", "\u00e9", "e\u0301", "0", "00", "-1",
		"null", "nil", "a,b", "a;b", "--", "$1", "?", "[a]", long + "y", long + "z",
	}
}

func submitOddKeys(t *testing.T, w *world) {
	keys := oddKeys()
	want := map[store.ID]string{}
	for _, key := range keys {
		id := w.put(func(s *store.Spec) {
			s.Lane, s.Limit, s.Unique.Key, s.Correlation, s.Fingerprint = key, key, key, key, key
			s.Labels = map[string]string{"odd": key}
		})
		want[id] = key
	}
	k := w.join()
	for _, task := range k.claim(len(keys)) {
		if task.Lane != want[task.ID] || task.Limit != want[task.ID] || task.Labels["odd"] != want[task.ID] {
			t.Errorf("Claim told lane %q, limit %q, want %q", task.Lane, task.Limit, want[task.ID])
		}
	}
	if got := len(k.holds()); got != len(keys) {
		t.Errorf("Claim took %d tasks, want %d", got, len(keys))
	}
	for id, key := range want {
		got := w.list(store.Filter{Kinds: []string{kind}, Unique: key})
		w.sameIDs("List of key "+key, ids(got), []store.ID{id})
		got = w.list(store.Filter{Labels: map[string]string{"odd": key}})
		w.sameIDs("List of label "+key, ids(got), []store.ID{id})
	}
}

// I29
func submitNamespaces(t *testing.T, w *world) {
	other := newWorld(t, w.e)
	s := w.spec(func(s *store.Spec) { s.Unique = store.Unique{Key: "key", OnConflict: store.Reject} })
	w.submit(s)
	if _, err := other.st.Get(w.ctx(), s.ID); err == nil {
		t.Errorf("Get in another namespace found the task")
	}
	if got := other.join().claim(1); len(got) != 0 {
		t.Errorf("Claim in another namespace took %d tasks, want 0", len(got))
	}
	again := other.spec(func(s *store.Spec) { s.Unique = store.Unique{Key: "key", OnConflict: store.Reject} })
	other.submit(again)
	if got := w.list(store.Filter{}); len(got) != 1 {
		t.Errorf("List = %d tasks, want 1", len(got))
	}
}

// FT-12
func submitOtherProcess(_ *testing.T, w *world) {
	st := w.Open(w.t)
	s := w.spec()
	_, err := st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}})
	w.ok("Submit", err)
	w.Crash(st)
	w.in(s.ID, store.Ready)
	k := w.join()
	k.done(k.take())
	w.in(s.ID, store.Done)
}

func submitNothing(t *testing.T, w *world) {
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{})
	w.ok("Submit", err)
	if len(res.Specs)+len(res.Groups)+len(res.Claimed) != 0 {
		t.Errorf("Submit = %+v, want nothing", res)
	}
}

func submitClaim(t *testing.T, w *world) {
	k := w.join()
	specs := []store.Spec{w.spec(), w.spec(func(s *store.Spec) { s.Kind, s.Queue, s.Priority = "other", "elsewhere", 9 })}
	// Neither Queues nor Kinds are looked at: the tasks are the Specs.
	claim := store.ClaimRequest{Worker: k.id, Nonce: w.id()}
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs, Claim: &claim})
	w.ok("Submit", err)
	w.ok("ClaimErr", res.ClaimErr)
	w.sameIDs("Claimed", ids(res.Claimed), specIDs(specs))
	for i, task := range res.Claimed {
		if task.State != store.Running || task.Epoch != 1 || task.Nonce != claim.Nonce || task.Worker != k.id {
			t.Errorf("Claimed = %+v, want running under the request's nonce", task.Fence())
		}
		if got := res.Specs[i].State; got != store.Running {
			t.Errorf("Submit = %q, want running", got)
		}
		w.in(task.ID, store.Running)
		k.done(task)
	}
}

func submitClaimLone(t *testing.T, w *world) {
	for name, edits := range map[string][]edit{
		"plain": nil,
		"rich": {func(s *store.Spec) {
			s.Priority, s.Lane, s.Timeout, s.StartBy, s.Retention, s.Fingerprint, s.Line = 3, "l", w.units(50), w.units(9), w.units(60), "print", 7
			s.Args, s.Labels, s.Owned = []byte("args"), map[string]string{"a": "b"}, true
		}},
	} {
		one, two := w.join(), w.join()
		res, err := one.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{w.spec(edits...)}, Claim: &store.ClaimRequest{Worker: one.id, Nonce: w.id()}})
		w.ok("Submit", err)
		if len(res.Claimed) != 1 {
			t.Fatalf("%s: %d tasks run, want 1", name, len(res.Claimed))
		}
		w.put(edits...)
		claimed := two.take()
		// They differ in who they are, and by whom and when they were taken.
		plain := func(task store.Task) store.Task {
			task.ID, task.Nonce, task.Worker = store.ID{}, store.ID{}, ""
			for _, at := range []*time.Time{&task.CreatedAt, &task.DueAt, &task.ReadyAt, &task.StartedAt, &task.DeadlineAt, &task.UpdatedAt} {
				*at = time.Time{}
			}
			task.History = slices.Clone(task.History)
			for i := range task.History {
				task.History[i].At, task.History[i].Worker = time.Time{}, ""
			}
			return task
		}
		if got, want := plain(res.Claimed[0]), plain(claimed); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: Submit gave\n%+v\nwant, as Claim gave,\n%+v", name, got, want)
		}
		if got, want := plain(w.get(res.Claimed[0].ID)), plain(w.get(claimed.ID)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: stored is\n%+v\nwant, as after a Claim,\n%+v", name, got, want)
		}
		if task := res.Claimed[0]; name == "rich" && task.DeadlineAt.Sub(task.StartedAt) != w.units(50) {
			t.Errorf("deadline %v after the start, want %v", task.DeadlineAt.Sub(task.StartedAt), w.units(50))
		}
		one.done(res.Claimed[0])
		two.done(claimed)
	}
}

func submitClaimScheduled(t *testing.T, w *world) {
	k := w.join()
	specs := []store.Spec{w.spec(func(s *store.Spec) { s.Delay = w.units(9) }), w.spec()}
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), []store.ID{specs[1].ID})
	w.in(specs[0].ID, store.Scheduled)
	if got := res.Specs[0].State; got != store.Scheduled {
		t.Errorf("Submit = %q, want scheduled", got)
	}
}

func submitClaimPaused(_ *testing.T, w *world) {
	k := w.join()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Kind: kind}, 0, "test"))
	specs := []store.Spec{w.spec(), w.spec(func(s *store.Spec) { s.Kind = "other" })}
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), []store.ID{specs[1].ID})
	w.in(specs[0].ID, store.Ready)
}

func submitClaimLimit(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "two", Running: 2})
	specs := w.specs(3, func(s *store.Spec) { s.Limit = "two" })
	// The order of the Specs decides, not the order that a lane would have.
	specs[2].Priority = 9
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), specIDs(specs[:2]))
	w.in(specs[2].ID, store.Ready)
	if got := w.inUse("two"); got != 2 {
		t.Errorf("InUse = %d, want 2", got)
	}
}

func submitClaimDead(t *testing.T, w *world) {
	k := w.join()
	k.leave()
	s := w.spec()
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.refused("ClaimErr", res.ClaimErr, store.ErrDead)
	if len(res.Claimed) != 0 {
		t.Errorf("Claimed = %d tasks, want 0", len(res.Claimed))
	}
	w.in(s.ID, store.Ready)
}

func submitClaimOrder(_ *testing.T, w *world) {
	k := w.join()
	specs := w.specs(2, lane("chain"), ordered(store.OrderSkip))
	res, err := k.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), specIDs(specs[:1]))
	w.in(specs[1].ID, store.Ready)
	k.done(res.Claimed[0])
	// The head of the lane is none of these Specs.
	late := w.spec(lane("chain"), ordered(store.OrderSkip))
	res, err = k.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{late}, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}})
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), []store.ID{})
	w.in(late.ID, store.Ready)
}
