package redis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
)

// laned makes one task in each of n lanes, all under one limit.
func laned(n int, limit string) []store.Spec {
	list := specs(n)
	for i := range list {
		list[i].Lane, list[i].Limit = fmt.Sprintf("tenant-%03d", i), limit
	}
	return list
}

// drain claims and completes until nothing is left, and returns how many that were.
func drain(t *testing.T, s *redis.Store, worker string) int {
	t.Helper()
	for done := 0; ; {
		res, err := s.Claim(t.Context(), claimOf(worker, 5))
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Tasks) == 0 {
			return done
		}
		for _, task := range res.Tasks {
			mustComplete(t, s, task, nil)
			done++
		}
	}
}

// More lanes wait for one limit than are looked at when it opens. None is forgotten.
func TestManyLanesOfOneLimitAllGetTheirTurn(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	if _, err := s.PutLimit(t.Context(), store.Limit{Key: "api", Running: 2}); err != nil {
		t.Fatal(err)
	}
	mustSubmit(t, s, laned(300, "api"))
	if got := drain(t, s, "w"); got != 300 {
		t.Errorf("%d of 300 tasks were claimed", got)
	}
	sound(t, s)
}

// Those that are looked at first may be paused. Then the others must be looked at.
func TestAPauseDoesNotHideLanesOfAnOpenLimit(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	if _, err := s.PutLimit(t.Context(), store.Limit{Key: "api", Running: 1}); err != nil {
		t.Fatal(err)
	}
	mustSubmit(t, s, laned(300, "api"))
	res, err := s.Claim(t.Context(), claimOf("w", 1))
	if err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v, want one", len(res.Tasks), err)
	}
	if more, err := s.Claim(t.Context(), claimOf("w", 1)); err != nil || len(more.Tasks) != 0 { // all are met shut
		t.Fatalf("Claim = %d tasks, %v, want none", len(more.Tasks), err)
	}
	for i := range 290 {
		if err := s.Pause(t.Context(), store.Scope{Lane: fmt.Sprintf("tenant-%03d", i)}, 0, "test"); err != nil {
			t.Fatal(err)
		}
	}
	mustComplete(t, s, res.Tasks[0], nil)
	if got := drain(t, s, "w"); got != 10 {
		t.Errorf("%d tasks were claimed, want the 10 that are not paused", got)
	}
	for i := range 290 {
		if err := s.Resume(t.Context(), store.Scope{Lane: fmt.Sprintf("tenant-%03d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := drain(t, s, "w"); got != 289 {
		t.Errorf("%d tasks were claimed after the pauses, want 289", got)
	}
}

// Lanes that a rate has shut open by themselves, however many there are, and the claim tells when.
func TestManyLanesOfARateOpenByTime(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	if _, err := s.PutLimit(t.Context(), store.Limit{Key: "api", Rates: []store.Rate{{N: 100, Per: time.Second, Burst: 20}}}); err != nil {
		t.Fatal(err)
	}
	mustSubmit(t, s, laned(150, "api"))
	begin, done := time.Now(), 0
	for done < 150 {
		res, err := s.Claim(t.Context(), claimOf("w", 50))
		if err != nil {
			t.Fatal(err)
		}
		done += len(res.Tasks)
		if len(res.Tasks) == 0 {
			if res.Next <= 0 || res.Next > time.Second {
				t.Fatalf("Claim took nothing, next in %v, want a time", res.Next)
			}
			<-time.After(res.Next)
		}
	}
	if took := time.Since(begin); took < time.Second || took > 20*time.Second {
		t.Errorf("150 starts at 100 a second with a burst of 20 took %v", took)
	}
}

// A backlog in one lane does not keep another one waiting, however many lanes there are.
func TestManyLanesAreServedInTurn(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	for range 5 {
		mustSubmit(t, s, laned(200, ""))
	}
	seen := map[string]int{}
	cursor := ""
	for range 20 {
		req := claimOf("w", 10)
		req.Queues[0].Cursor = cursor
		res, err := s.Claim(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		cursor = res.Cursors["default"]
		for _, task := range res.Tasks {
			seen[task.Lane]++
		}
	}
	if len(seen) != 200 {
		t.Errorf("200 claims took from %d lanes, want one from each of 200", len(seen))
	}
}
