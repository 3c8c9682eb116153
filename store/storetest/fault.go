package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// faults are what can befall one call.
const (
	refuse    = "an error, and it was not applied"
	lose      = "an error, though it was applied"
	dieBefore = "death before it"
	dieAfter  = "death after it"
	stall     = "a stall: it arrives when the caller has long repeated it"
)

var (
	errLost = errors.New("no answer")
	errDied = errors.New("the process died")
)

// faultTests run one small life with a fault at every call in turn. It must come to the same end. FT-01, FT-03, FT-05, FT-06,
// FT-24, I13
func faultTests() []test {
	var tests []test
	for _, fault := range []string{refuse, lose, dieBefore, dieAfter, stall} {
		tests = append(tests, test{"every call meets " + fault, func(t *testing.T, w *world) { faultEvery(t, w, fault) }})
	}
	return append(tests, test{"a wrapped store passes every call on", faultWrap})
}

func faultEvery(t *testing.T, w *world, fault string) {
	whole := &life{w: w}
	want := whole.run()
	t.Logf("a life of %d calls", whole.calls)
	for at := 1; at <= whole.calls; at += max(w.e.Quick, 1) {
		l := &life{w: newWorld(t, w.e), at: at, fault: fault}
		got := l.run()
		if !maps.Equal(got, want) {
			t.Errorf("%s at call %d, %s:\n got %v\nwant %v", fault, at, l.op, got, want)
		}
		if !l.fired {
			t.Errorf("the life had no call %d", at)
		}
		l.w.check()
	}
}

// life is one process after the other, until all work is done, and one survivor that recovers.
type life struct {
	w     *world
	by    *worker
	calls int
	at    int    // the call that meets the fault; 0: none
	fault string // what it meets
	op    string // which call that was
	fired bool
	late  []lateCall

	raw, st         store.Store
	id              string
	alive           bool
	submitted, sent bool
}

type lateCall struct {
	at int
	do func() error
}

func lifeID(name string) store.ID { return store.DeriveID("life", name) }

// around is the hook of Wrap.
func (l *life) around(_ context.Context, op string, do func() error) error {
	l.calls++
	for len(l.late) > 0 && l.late[0].at <= l.calls {
		// Whatever it finds: nobody waits for the answer.
		_ = l.late[0].do()
		l.late = l.late[1:]
	}
	if l.calls != l.at {
		return do()
	}
	l.fired, l.op = true, op
	switch l.fault {
	case refuse:
		return errLost
	case lose:
		_ = do()
		return errLost
	case dieAfter:
		_ = do()
		return errDied
	case stall:
		l.late = append(l.late, lateCall{l.calls + 4, do})
		return errLost
	default:
		return errDied
	}
}

// run lives until all is done, and tells how it ended.
func (l *life) run() map[string]string {
	w := l.w
	w.t.Helper()
	l.by = w.join()
	for range 40 * deadAfter {
		w.beat()
		l.by.recoverAll()
		err := l.round()
		switch {
		case errors.Is(err, errDied):
			w.Crash(l.raw)
			l.alive = false
		case errors.Is(err, store.ErrDead):
			l.alive = false
		case err != nil:
			w.t.Fatalf("a round of life: %v", err)
		}
		if l.ended() {
			return l.end()
		}
		w.pass(1)
	}
	w.t.Errorf("%s at call %d, %s: the work is not done after %d units: %v", l.fault, l.at, l.op, 40*deadAfter, l.end())
	return nil
}

func (l *life) ended() bool {
	return l.submitted && l.sent && len(l.late) == 0 && len(l.w.list(store.Filter{States: []store.State{
		store.Scheduled, store.Ready, store.Running, store.Parked, store.Held,
	}})) == 0
}

// end tells what stands of every task and of the group, without what a fault may change: epochs, times, crashes.
func (l *life) end() map[string]string {
	l.w.t.Helper()
	out := map[string]string{}
	for _, task := range l.w.list(store.Filter{}) {
		task = l.w.get(task.ID)
		names := slices.Sorted(maps.Keys(l.w.load(task.ID)))
		out[task.ID.String()] = fmt.Sprint(task.Kind, task.State, task.Reason, string(task.Result), task.Attempts, names)
	}
	if g, err := l.w.st.Group(l.w.ctx(), lifeID("group")); err == nil {
		out["group"] = fmt.Sprint(g.State, g.Generation, g.Total, g.Done, g.Failed, g.Cancelled)
	}
	return out
}

// again repeats a call that got no answer.
func again(call func(repeat bool) error) error {
	err := call(false)
	for errors.Is(err, errLost) {
		err = call(true)
	}
	return err
}

// round is what a process does once: join if need be, submit, send, beat, promote, claim, run, reconcile.
func (l *life) round() error {
	ctx := l.w.ctx()
	if err := l.join(); err != nil {
		return err
	}
	if err := l.order(); err != nil {
		return err
	}
	if err := again(func(bool) error { _, err := l.st.Beat(ctx, store.BeatRequest{Worker: l.id}); return err }); err != nil {
		return err
	}
	if err := again(func(bool) error { _, err := l.st.Promote(ctx, 0); return err }); err != nil {
		return err
	}
	req := store.ClaimRequest{
		Worker: l.id, Nonce: l.w.id(), Kinds: []string{"boss", "leaf", "tail", "wait", "end"}, Queues: []store.QueueSlots{{Queue: queue, Slots: 2}},
	}
	var res store.ClaimResult
	err := again(func(repeat bool) (err error) {
		req.Repeat = repeat
		res, err = l.st.Claim(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	for _, task := range res.Tasks {
		if err := l.handle(task); err != nil {
			return err
		}
	}
	return l.reconcile()
}

func (l *life) join() error {
	if l.alive {
		return nil
	}
	l.raw = l.w.Open(l.w.t)
	l.st = Wrap(l.raw, l.around)
	for {
		// A fresh id each time: whether the last one joined, nobody knows.
		l.id = "life:" + l.w.id().String()
		err := l.st.Join(l.w.ctx(), store.JoinRequest{ID: l.id, Beat: l.w.u, DeadAfter: l.w.units(deadAfter)})
		if !errors.Is(err, errLost) {
			l.alive = err == nil
			return err
		}
	}
}

// order submits the work and sends the message, each until it was acknowledged.
func (l *life) order() error {
	ctx := l.w.ctx()
	if !l.submitted {
		specs := []store.Spec{
			l.spec("boss", func(s *store.Spec) {
				s.Unique.Key = "boss"
				s.OnEnd = &store.Spec{Kind: "end", Queue: queue, Retention: -1}
			}),
			l.spec("wait"),
		}
		err := again(func(bool) error { _, err := l.st.Submit(ctx, store.SubmitRequest{Specs: specs}); return err })
		if err != nil {
			return err
		}
		l.submitted = true
	}
	if l.sent {
		return nil
	}
	err := again(func(bool) error {
		return l.st.Send(ctx, store.Message{ID: lifeID("message"), Task: lifeID("wait"), Name: "go"})
	})
	// The task may have used a first sending, and ended.
	if err == nil || errors.Is(err, store.ErrState) {
		l.sent = true
		return nil
	}
	return err
}

func (l *life) spec(name string, edits ...edit) store.Spec {
	s := l.w.spec(append(edits, func(s *store.Spec) { s.ID, s.Retention = lifeID(name), -1 })...)
	if s.Kind == kind {
		s.Kind = name
	}
	return s
}

// handle runs one task and completes it. A fence that is lost is no error of the life.
func (l *life) handle(task store.Task) error {
	out, err := l.outcome(task)
	if err == nil {
		err = again(func(bool) error {
			res, err := l.st.Complete(l.w.ctx(), store.CompleteRequest{Items: []store.Completion{{Fence: task.Fence(), Outcome: out}}})
			if err != nil {
				return err
			}
			return res.Items[0].Err
		})
	}
	if errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}

func (l *life) outcome(task store.Task) (store.Outcome, error) {
	ctx := l.w.ctx()
	done := store.Outcome{Kind: store.OutcomeDone, Result: []byte(task.Kind)}
	switch task.Kind {
	case "boss":
		return l.boss(task)
	case "leaf":
		err := again(func(bool) error {
			_, err := l.st.Save(ctx, store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"step": []byte("1")}})
			return err
		})
		done.Follow = []store.Spec{l.spec("tail of "+task.ID.String(), func(s *store.Spec) { s.Kind = "tail" })}
		return done, err
	case "tail":
		if task.Attempts == 0 {
			return store.Outcome{Kind: store.OutcomeRetry, Delay: l.w.u}, nil
		}
	case "wait":
		var messages []store.Message
		err := again(func(bool) (err error) { messages, err = l.st.Messages(ctx, task.ID); return err })
		if err != nil || len(messages) == 0 {
			return store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes}, err
		}
		done.Consume = []store.ID{messages[0].ID}
	}
	return done, nil
}

// boss begins a group of leaves and waits for it.
func (l *life) boss(task store.Task) (store.Outcome, error) {
	var entries map[string][]byte
	err := again(func(bool) (err error) { entries, err = l.st.Load(l.w.ctx(), task.ID, "began"); return err })
	if err != nil || len(entries) == 1 {
		return store.Outcome{Kind: store.OutcomeDone, Result: []byte("boss")}, err
	}
	g := store.NewGroup{ID: lifeID("group"), Seal: true, Parent: task.ID, Retention: -1}
	member := func(s *store.Spec) { s.Kind, s.Group = "leaf", g.ID }
	return store.Outcome{
		Kind: store.OutcomePark, Wakes: task.Wakes, Entries: map[string][]byte{"began": []byte("1")}, Groups: []store.NewGroup{g},
		Follow: []store.Spec{l.spec("leaf 1", member), l.spec("leaf 2", member), l.spec("leaf 3", member)},
	}, nil
}

// reconcile releases what the store says this worker holds: between rounds it knows of nothing.
func (l *life) reconcile() error {
	var held []store.HeldTask
	err := again(func(bool) (err error) { held, err = l.st.Holds(l.w.ctx(), l.id); return err })
	if err != nil {
		return err
	}
	for _, h := range held {
		err := again(func(bool) error {
			_, err := l.st.Complete(l.w.ctx(), store.CompleteRequest{
				Items: []store.Completion{{Fence: h.Fence, Outcome: store.Outcome{Kind: store.OutcomeRelease}}},
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func faultWrap(t *testing.T, w *world) {
	ops := map[string]int{}
	st := Wrap(w.st, func(_ context.Context, op string, do func() error) error {
		ops[op]++
		return do()
	})
	if _, inner := w.st.(store.Stager); inner {
		if _, outer := st.(store.Stager); !outer {
			t.Errorf("a Stager was wrapped, and is none any more")
		}
	}
	s := w.spec()
	_, err := st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{s}})
	w.ok("Submit", err)
	got, err := st.Get(w.ctx(), s.ID)
	w.ok("Get", err)
	if got.ID != s.ID || ops["Submit"] != 1 || ops["Get"] != 1 || len(ops) != 2 {
		t.Errorf("Get = %v through %v, want %v through one Submit and one Get", got.ID, ops, s.ID)
	}
	lost := Wrap(w.st, func(_ context.Context, _ string, do func() error) error { _ = do(); return errLost })
	if got, err := lost.Get(w.ctx(), s.ID); !errors.Is(err, errLost) || !got.ID.IsZero() {
		t.Errorf("Get = %v, %v, want no answer", got.ID, err)
	}
}
