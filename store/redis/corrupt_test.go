package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
)

// corrupted checks that a task has failed as corrupt.
func corrupted(t *testing.T, s *redis.Store, id store.ID) {
	t.Helper()
	got, err := s.Get(t.Context(), id)
	if err != nil || got.State != store.Failed || got.Reason != store.ReasonCorrupt {
		t.Errorf("the corrupt task is %q, %q, %v, want failed as corrupt", got.State, got.Reason, err)
	}
}

// FT-16
func TestACorruptMemberStopsNotItsGroup(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	ctx := t.Context()
	for _, aborted := range []bool{false, true} {
		group := newID()
		members := specs(3)
		for i := range members {
			members[i].Group = group
		}
		req := store.SubmitRequest{Groups: []store.NewGroup{{ID: group, Retention: time.Hour}}, Specs: members}
		if _, err := s.Submit(ctx, req); err != nil {
			t.Fatal(err)
		}
		if err := s.Corrupt(ctx, members[1].ID); err != nil {
			t.Fatal(err)
		}
		end := s.Seal
		if aborted {
			end = func(ctx context.Context, id store.ID) (store.Group, error) { return s.Abort(ctx, id, "") }
		}
		if _, err := end(ctx, group); err != nil {
			t.Fatal(err)
		}
		if res, err := s.Promote(ctx, 0); err != nil || res.Freed+res.Aborted != 3 {
			t.Fatalf("Promote = %+v, %v, want three freed or aborted", res, err)
		}
		worker := "w:" + newID().String()
		mustJoin(t, s, worker)
		res, err := s.Claim(ctx, claimOf(worker, 9))
		if err != nil || !aborted && len(res.Tasks) != 2 {
			t.Fatalf("Claim = %d tasks, %v, want the two that can be read", len(res.Tasks), err)
		}
		for _, task := range res.Tasks {
			mustComplete(t, s, task, nil)
		}
		corrupted(t, s, members[1].ID)
		if g, err := s.Group(ctx, group); err != nil || g.State != store.GroupClosed || g.Failed != 1 {
			t.Errorf("Group = %+v, %v, want it closed with one failed", g, err)
		}
		sound(t, s)
	}
}

// The owner of a record that cannot be read finds out when it asks what it holds; slot, order and key are free then.
func TestACorruptRunningTaskIsEndedByHolds(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	if _, err := s.PutLimit(t.Context(), store.Limit{Key: "one", Running: 1}); err != nil {
		t.Fatal(err)
	}
	list := specs(2)
	for i := range list {
		list[i].Limit, list[i].Order, list[i].Unique = "one", store.OrderSkip, store.Unique{Key: fmt.Sprint("key", i)}
	}
	mustSubmit(t, s, list)
	res, err := s.Claim(t.Context(), claimOf("w", 2))
	if err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v, want one", len(res.Tasks), err)
	}
	first := res.Tasks[0].ID
	if err := s.Corrupt(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	mustComplete(t, s, res.Tasks[0], store.ErrFenced)
	if held, err := s.Holds(t.Context(), "w"); err != nil || len(held) != 0 {
		t.Errorf("Holds = %v, %v, want nothing", held, err)
	}
	corrupted(t, s, first)
	next, err := s.Claim(t.Context(), claimOf("w", 2))
	if err != nil || len(next.Tasks) != 1 || next.Tasks[0].ID == first {
		t.Errorf("Claim = %d tasks, %v, want the next one", len(next.Tasks), err)
	}
	sound(t, s)
}

// Calls about a record that cannot be read are answered, and change nothing.
func TestACorruptRecordAnswersCalls(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	ctx := t.Context()
	list := specs(1)
	mustSubmit(t, s, list)
	id := list[0].ID
	if err := s.Corrupt(ctx, id); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ctx, id); err != nil || got.Kind != list[0].Kind || got.Reason != store.ReasonCorrupt {
		t.Errorf("Get = %+v, %v, want what can be read", got, err)
	}
	for what, err := range map[string]error{
		"Cancel": func() error { _, err := s.Cancel(ctx, id, ""); return err }(),
		"Retry":  s.Retry(ctx, id),
		"Free":   s.Free(ctx, id),
		"Delete": s.Delete(ctx, id),
		"Send":   s.Send(ctx, store.Message{ID: newID(), Task: id, Name: "n"}),
	} {
		if !store.Answered(err) {
			t.Errorf("%s = %v, want an answer", what, err)
		}
	}
	res, err := s.Submit(ctx, store.SubmitRequest{Specs: list})
	if err != nil || !res.Specs[0].Existed {
		t.Errorf("Submit = %+v, %v, want it known", res, err)
	}
	mustJoin(t, s, "w")
	if got, err := s.Claim(ctx, claimOf("w", 1)); err != nil || len(got.Tasks) != 0 {
		t.Errorf("Claim = %d tasks, %v, want none", len(got.Tasks), err)
	}
	corrupted(t, s, id)
	sound(t, s)
}

// A worker whose record cannot be read cannot beat: it is as good as dead, and its tasks go on.
func TestACorruptWorkerIsDead(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "broken")
	mustJoin(t, s, "well")
	mustSubmit(t, s, specs(1))
	if res, err := s.Claim(t.Context(), claimOf("broken", 1)); err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v, want one", len(res.Tasks), err)
	}
	if err := s.CorruptWorker(t.Context(), "broken"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "broken"}); !store.Answered(err) {
		t.Errorf("Beat = %v, want ErrDead", err)
	}
	res, err := s.Recover(t.Context(), store.RecoverRequest{Worker: "well", Force: true})
	if err != nil || len(res.Dead) != 1 || len(res.Tasks) != 1 {
		t.Errorf("Recover = %+v, %v, want one dead and one task put back", res, err)
	}
	sound(t, s)
}
