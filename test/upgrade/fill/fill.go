// Package fill writes a store with tasks in every state, as a program does that is then killed. It uses what the contract has had from the
// beginning, so that the source of an older version runs it as well: that is how the stores in test/upgrade/testdata were made.
package fill

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Worker is who ran when the program was killed.
const Worker = "old:1:0011223344556677"

// Kind is the kind of all tasks but those that follow others.
const Kind = "old.work"

// The groups.
var (
	Open    = ID("group open")    // one member has ended, one runs
	Filling = ID("group filling") // its member waits
)

// ID is the id of a task, by its name, which is also that of its queue.
func ID(name string) store.ID { return store.DeriveID("upgrade", name) }

// States tells each task's name and the state it was left in.
var States = map[string]store.State{
	"ready": store.Ready, "keyed": store.Ready, "later": store.Scheduled, "soon": store.Scheduled, "retried": store.Scheduled,
	"parked": store.Parked, "held": store.Held, "done": store.Done, "failed": store.Failed, "cancelled": store.Cancelled,
	"running": store.Running, "asked": store.Running, "saved": store.Running, "limited": store.Running, "staged": store.Running,
	"first": store.Ready, "second": store.Running, "ended": store.Done, "member1": store.Done, "member2": store.Running, "member3": store.Held,
}

// spec makes a task.
func spec(name string) store.Spec {
	s := store.Spec{
		ID: ID(name), Kind: Kind, Queue: name, Args: []byte(`"args of ` + name + `"`), Retention: -1,
		Retry: store.Retry{Max: 3, Base: time.Millisecond}, Labels: map[string]string{"name": name}, Correlation: "c-" + name,
	}
	switch name {
	case "keyed":
		s.Unique = store.Unique{Key: "the key"}
	case "later":
		s.Delay = 100 * 365 * 24 * time.Hour
	case "soon":
		s.Delay = time.Minute
	case "limited":
		s.Limit = "lim"
	case "first", "second": // the second goes before the first: its id is the smaller one
		s.Queue, s.Lane, s.Order = "first", "lane", store.OrderSkip
	case "ended":
		s.OnEnd = &store.Spec{Kind: "old.follow", Queue: "follow", Retention: -1}
	case "member1", "member2":
		s.Group, s.Line = Open, int64(name[6]-'0')
	case "member3":
		s.Group, s.Line = Filling, 1
	}
	return s
}

// Fill writes the store. It leaves the worker as a kill would.
func Fill(ctx context.Context, st store.Store) error {
	if err := st.Join(ctx, store.JoinRequest{ID: Worker, Beat: 200 * time.Millisecond, DeadAfter: 2 * time.Second}); err != nil {
		return err
	}
	if _, err := st.PutLimit(ctx, store.Limit{Key: "lim", Running: 2, Rates: []store.Rate{{N: 1000, Per: time.Second}}}); err != nil {
		return err
	}
	if err := st.Pause(ctx, store.Scope{Queue: "nobody"}, 0, "not now"); err != nil {
		return err
	}
	now, err := st.Now(ctx)
	if err != nil {
		return err
	}
	if _, err := st.PutSchedule(ctx, store.Schedule{
		Name: "hourly", Rule: "every 1h", NextAt: now.Add(time.Hour), Task: store.Spec{Kind: "old.tick", Queue: "tick", Retention: -1},
	}); err != nil {
		return err
	}
	req := store.SubmitRequest{Groups: []store.NewGroup{
		{ID: Open, Name: "open", Seal: true, OnClose: &store.Spec{Kind: "old.close", Queue: "close", Retention: -1}, Retention: -1},
		{ID: Filling, Name: "filling", Retention: -1},
	}}
	for name := range States {
		req.Specs = append(req.Specs, spec(name))
	}
	res, err := st.Submit(ctx, req)
	if err != nil {
		return err
	}
	for i, s := range res.Specs {
		if s.Err != nil {
			return fmt.Errorf("submit %s: %w", req.Specs[i].Queue, s.Err)
		}
	}
	if _, err := st.Promote(ctx, 0); err != nil { // frees the members of the open group
		return err
	}
	for name := range States {
		if err := run(ctx, st, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if blobs, ok := st.(store.Blobs); ok {
		return blobs.PutChunk(ctx, "old-blob", 0, []byte("a chunk"))
	}
	return nil
}

// run brings a task to the state that it is to be left in.
func run(ctx context.Context, st store.Store, name string) error {
	switch name {
	case "ready", "keyed", "later", "soon", "first", "member3":
		return nil
	}
	res, err := st.Claim(ctx, store.ClaimRequest{
		Worker: Worker, Nonce: ID("claim " + name), Queues: []store.QueueSlots{{Queue: spec(name).Queue, Slots: 1}}, Kinds: []string{Kind},
	})
	if err != nil || len(res.Tasks) != 1 {
		return fmt.Errorf("claimed %d: %w", len(res.Tasks), err)
	}
	f := res.Tasks[0].Fence()
	var out store.Outcome
	switch name {
	case "parked":
		out = store.Outcome{Kind: store.OutcomePark}
	case "held":
		out = store.Outcome{Kind: store.OutcomeHold, Reason: "somebody must look"}
	case "done", "ended", "member1":
		out = store.Outcome{Kind: store.OutcomeDone, Result: []byte(`"result of ` + name + `"`)}
	case "failed":
		out = store.Outcome{Kind: store.OutcomeFail, Error: &store.Error{Message: "no", Type: "t", Detail: []byte("d")}}
	case "cancelled":
		out = store.Outcome{Kind: store.OutcomeCancel, Reason: "enough"}
	case "retried":
		out = store.Outcome{Kind: store.OutcomeRetry, Delay: time.Minute, Error: &store.Error{Message: "not yet"}}
	case "asked":
		_, err := st.Cancel(ctx, f.ID, "enough")
		return err
	case "saved":
		return save(ctx, st, f)
	case "staged":
		if stager, ok := st.(store.Stager); ok {
			return stager.Stage(ctx, store.Completion{Fence: f, Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte(`"staged"`)}})
		}
		return nil
	default:
		return nil // it runs when the program is killed
	}
	ends, err := st.Complete(ctx, store.CompleteRequest{Items: []store.Completion{{Fence: f, Outcome: out}}})
	if err == nil {
		err = ends.Items[0].Err
	}
	return err
}

// save leaves a checkpoint, progress and a message that was not read yet.
func save(ctx context.Context, st store.Store, f store.Fence) error {
	if _, err := st.Save(ctx, store.SaveRequest{
		Fence: f, Seq: 1, Entries: map[string][]byte{"at": []byte("42")}, Progress: &store.Progress{Done: 4, Total: 9, Note: "half"},
	}); err != nil {
		return err
	}
	return st.Send(ctx, store.Message{ID: ID("message"), Task: f.ID, Name: "word", Body: []byte(`"hello"`)})
}
