package redis_test

import (
	"errors"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
)

// Tasks that were submitted together, claimed together and end together have the same record but for the id. Each still ends by
// its own outcome, under its own fence, once.
func TestLikeTasksEndEachByItsOwnOutcome(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	list := specs(10)
	mustSubmit(t, s, append(list, list[3])) // the last is there already
	res, err := s.Claim(t.Context(), claimOf("w", 20))
	if err != nil || len(res.Tasks) != len(list) {
		t.Fatalf("Claim took %d tasks, %v, want %d", len(res.Tasks), err, len(list))
	}
	foreign, later := res.Tasks[3].Fence(), res.Tasks[4].Fence()
	foreign.Nonce = newID()
	later.Epoch++
	failed := store.Outcome{Kind: store.OutcomeFail, Error: &store.Error{Message: "no"}}
	var req store.CompleteRequest
	cases := []struct {
		task  int
		fence store.Fence
		out   store.Outcome
		want  store.Completed
	}{
		{1, res.Tasks[1].Fence(), store.Outcome{Kind: store.OutcomeDone, Reason: "early"}, store.Completed{State: store.Done}},
		{2, res.Tasks[2].Fence(), store.Outcome{Kind: store.OutcomeDone}, store.Completed{State: store.Done}},
		{7, res.Tasks[7].Fence(), store.Outcome{Kind: store.OutcomeDone}, store.Completed{State: store.Done}},
		{6, res.Tasks[6].Fence(), store.Outcome{Kind: store.OutcomeDone, Result: []byte("one")}, store.Completed{State: store.Done}},
		{8, res.Tasks[8].Fence(), store.Outcome{Kind: store.OutcomeDone, Result: []byte("two")}, store.Completed{State: store.Done}},
		{3, foreign, store.Outcome{Kind: store.OutcomeDone, Result: []byte("no")}, store.Completed{State: store.Running, Err: store.ErrFenced}},
		{9, res.Tasks[9].Fence(), store.Outcome{Kind: store.OutcomeDone}, store.Completed{State: store.Done}},
		{4, later, store.Outcome{Kind: store.OutcomeDone}, store.Completed{State: store.Running, Err: store.ErrFenced}},
		{7, res.Tasks[7].Fence(), store.Outcome{Kind: store.OutcomeDone}, store.Completed{State: store.Done, Repeated: true}},
		{5, res.Tasks[5].Fence(), failed, store.Completed{State: store.Failed}},
	}
	for _, c := range cases {
		req.Items = append(req.Items, store.Completion{Fence: c.fence, Outcome: c.out})
	}
	ended, err := s.Complete(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if got := ended.Items[i]; got.State != c.want.State || got.Repeated != c.want.Repeated || !errors.Is(got.Err, c.want.Err) {
			t.Errorf("outcome %d = %+v, want %+v", i, got, c.want)
		}
		if c.want.Err != nil {
			c.out = store.Outcome{}
		}
		isAfter(t, s, res.Tasks[c.task], c.want.State, c.out)
	}
	sound(t, s)
}

// isAfter checks what became of a task.
func isAfter(t *testing.T, s *redis.Store, was store.Task, state store.State, out store.Outcome) {
	t.Helper()
	got, err := s.Get(t.Context(), was.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.State != state || got.Reason != out.Reason || string(got.Result) != string(out.Result) || (got.Worker == "") == (state == store.Running) {
		t.Errorf("task %s = %s %q %q of %q, want %s %q %q", was.ID, got.State, got.Reason, got.Result, got.Worker, state, out.Reason, out.Result)
	}
	if string(got.Args) != string(was.Args) || got.Epoch != 1 {
		t.Errorf("task %s has args %q, epoch %d", was.ID, got.Args, got.Epoch)
	}
}
