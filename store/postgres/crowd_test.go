package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/postgres"
)

// crowd is many callers in a universe that is so small that they meet all the time.
type crowd struct {
	t *testing.T
	s *postgres.Store
	r *rand.Rand
	w string // its worker
}

func (c *crowd) id(kind string, n int) store.ID { return store.DeriveID(kind, fmt.Sprint(c.r.IntN(n))) }

func (c *crowd) text(list ...string) string { return list[c.r.IntN(len(list))] }

func (c *crowd) spec() store.Spec {
	s := store.Spec{
		ID: benchID(), Kind: c.text("a", "b"), Queue: "q", Lane: c.text("", "x"), Limit: c.text("", "", "l", "m"), Retention: c.retention(),
		Order: store.Order(c.text("", "", "", "skip", "block")), Retry: store.Retry{Max: 3}, Owned: c.r.IntN(8) == 0,
	}
	if c.r.IntN(3) == 0 {
		s.ID = c.id("task", 30)
	}
	if c.r.IntN(3) == 0 {
		s.Group = c.id("group", 6)
	}
	if c.r.IntN(3) == 0 {
		s.Parent = c.id("task", 30)
	}
	if c.r.IntN(3) == 0 {
		s.Unique = store.Unique{Key: c.text("u", "v"), OnConflict: store.Conflict(c.text("", "reject", "replace"))}
	}
	if c.r.IntN(4) == 0 {
		s.OnEnd = &store.Spec{Kind: "a", Queue: "q"}
	}
	if c.r.IntN(5) == 0 {
		s.Delay = time.Duration(c.r.IntN(50)) * time.Millisecond
	}
	return s
}

func (c *crowd) retention() time.Duration {
	return []time.Duration{0, time.Millisecond, -1}[c.r.IntN(3)]
}

func (c *crowd) claim() *store.ClaimRequest {
	return &store.ClaimRequest{Worker: c.w, Nonce: benchID(), Kinds: []string{"a", "b"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 1 + c.r.IntN(4)}}}
}

func (c *crowd) outcome() store.Outcome {
	o := store.Outcome{Kind: store.OutcomeKind(c.text("done", "done", "done", "fail", "cancel", "retry", "snooze", "park", "release")), Wakes: int64(c.r.IntN(2))}
	if c.r.IntN(3) == 0 {
		o.Follow = []store.Spec{c.spec()}
		o.Follow[0].Group = store.ID{}
	}
	return o
}

// step makes one call. Its error may be an answer; anything else is a fault of the engine.
func (c *crowd) step() (what string, err error) {
	ctx := c.t.Context()
	switch c.r.IntN(14) {
	case 0, 1, 2:
		req := store.SubmitRequest{Specs: []store.Spec{c.spec(), c.spec(), c.spec()}}
		if c.r.IntN(2) == 0 {
			req.Groups = []store.NewGroup{{ID: c.id("group", 6), Seal: c.r.IntN(2) == 0, Parent: c.id("task", 30), OnClose: &store.Spec{Kind: "a", Queue: "q"}}}
		}
		_, err = c.s.Submit(ctx, req)
		return "Submit", err
	case 3, 4, 5, 6:
		return "Complete", c.run()
	case 7:
		_, err = c.s.Cancel(ctx, c.id("task", 30), "")
		return "Cancel", err
	case 8:
		return "Retry", c.s.Retry(ctx, c.id("task", 30))
	case 9:
		_, err = c.s.Promote(ctx, 20)
		return "Promote", err
	case 10:
		_, err = c.s.Seal(ctx, c.id("group", 6))
		return "Seal", err
	case 11:
		_, err = c.s.Abort(ctx, c.id("group", 6), "")
		return "Abort", err
	case 12:
		return "Send", c.s.Send(ctx, store.Message{ID: benchID(), Task: c.id("task", 30), Name: "n"})
	default:
		_, err = c.s.Prune(ctx, 20)
		return "Prune", err
	}
}

// run claims, and completes what it got together with the next claim.
func (c *crowd) run() error {
	res, err := c.s.Claim(c.t.Context(), *c.claim())
	if err != nil {
		return err
	}
	var req store.CompleteRequest
	for _, t := range res.Tasks {
		req.Items = append(req.Items, store.Completion{Fence: t.Fence(), Outcome: c.outcome()})
	}
	if c.r.IntN(2) == 0 {
		req.Claim = c.claim()
	}
	got, err := c.s.Complete(c.t.Context(), req)
	if err != nil {
		return err
	}
	req = store.CompleteRequest{}
	for _, t := range got.Claim.Tasks {
		req.Items = append(req.Items, store.Completion{Fence: t.Fence(), Outcome: c.outcome()})
	}
	_, err = c.s.Complete(c.t.Context(), req)
	return err
}

// Callers who meet all the time may have to wait for each other, and are never told of it; the store stays sound.
func TestNobodyIsToldOfADeadlock(t *testing.T) {
	s, _ := room(t, store.Timing{Horizon: time.Millisecond})
	for _, key := range []string{"l", "m"} {
		if _, err := s.PutLimit(t.Context(), store.Limit{Key: key, Running: 2}); err != nil {
			t.Fatal(err)
		}
	}
	var g sync.WaitGroup
	var steps, answers sync.Map
	end := time.Now().Add(6 * time.Second)
	for i := range 8 {
		c := &crowd{t: t, s: s, r: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i))), w: fmt.Sprintf("w%d", i)}
		joinAs(t, s, c.w)
		g.Go(func() {
			for time.Now().Before(end) {
				what, err := c.step()
				steps.Store(what, true)
				if err != nil && !store.Answered(err) {
					t.Errorf("%s = %v, want no error but an answer", what, err)
					return
				}
				if err != nil {
					answers.Store(what, true)
				}
			}
		})
	}
	g.Wait()
	findings, err := fsck.Check(t.Context(), s)
	if err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v; want nothing", findings, err)
	}
	n := 0
	steps.Range(func(any, any) bool { n++; return true })
	if n < 9 {
		t.Errorf("%d kinds of calls were made, want 9", n)
	}
}

// A claim that is one of several passes over tasks that others have locked, and over none for good: not over one that is free again, or that a transaction has
// locked and left as it was.
func TestAClaimAmongOthersForgetsNoTask(t *testing.T) {
	t.Parallel()
	s, name := room(t, store.Timing{})
	joinAs(t, s, "w")
	specs := benchSpecs(20)
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: specs}); err != nil {
		t.Fatal(err)
	}
	for range 3 { // others that are at it
		lock(t, s, "select "+name+".shard($1)", name)
	}
	locked := "select 1 from " + name + ".task where id = $1 for update"
	release := lock(t, s, locked, specs[3].ID.String())
	for _, left := range []int{0, 5, 6, 19} {
		lock(t, s, locked, specs[left].ID.String())()
	}
	taken := map[store.ID]bool{}
	take := func(slots, want int) {
		t.Helper()
		res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: slots}}})
		if err != nil || len(res.Tasks) != want {
			t.Fatalf("Claim = %d tasks, %v; want %d", len(res.Tasks), err, want)
		}
		for _, task := range res.Tasks {
			taken[task.ID] = true
		}
	}
	for range 4 {
		take(4, 4)
	}
	take(4, 3)
	if taken[specs[3].ID] {
		t.Errorf("the task that another has locked was taken")
	}
	release()
	take(4, 1)
	if len(taken) != len(specs) {
		t.Errorf("%d of %d tasks were taken", len(taken), len(specs))
	}
}
