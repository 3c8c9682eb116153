package redis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// Every key that a store makes begins with the hash tag of its namespace, is of a kind that keys.go names, and never expires.
// R002-7, AL-021
func TestAllKeysLieInOneSlotAndHaveNames(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL("namespace=shop"), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	everything(t, s)
	names, err := s.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	documented := redis.Documented(t)
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, "outlast:{shop}:")
		if !ok {
			t.Errorf("the key %q is outside the namespace", name)
			continue
		}
		kind, _, _ := strings.Cut(rest, ":")
		if !documented[kind] {
			t.Errorf("the key %q is not named in keys.go", name)
		}
		if ttl := server.Do("TTL", name); !strings.Contains(ttl, "-1") {
			t.Errorf("the key %q expires: %s", name, ttl)
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d keys were made: this shows little", len(names))
	}
}

// everything makes a record of each kind.
func everything(t *testing.T, s *redis.Store) {
	t.Helper()
	ctx, group := t.Context(), newID()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.PutLimit(ctx, store.Limit{Key: "one", Running: 1, Rates: []store.Rate{{N: 1, Per: 1e9}}})
	ok(err)
	ok(s.Pause(ctx, store.Scope{Lane: "paused"}, 1e12, "test"))
	ok(s.PutWeight(ctx, "default", "a", 3))
	_, err = s.PutSchedule(ctx, store.Schedule{Name: "s", Task: newSpec()})
	ok(err)
	list := specs(8)
	list[0].Limit, list[0].Order, list[0].Unique.Key = "one", store.OrderSkip, "key"
	list[1].Limit, list[1].Order = "one", store.OrderBlock
	list[2].Lane = "paused"
	list[3].Delay = 1e12
	list[4].StartBy, list[4].Timeout = 1e12, 1e12
	list[5].Parent, list[5].OnEnd = list[0].ID, &store.Spec{Kind: "end", Queue: "other"}
	list[6].Group, list[7].Group = group, group
	req := store.SubmitRequest{Groups: []store.NewGroup{{ID: group, Seal: true, Parent: list[3].ID}}, Specs: list}
	_, err = s.Submit(ctx, req)
	ok(err)
	_, err = s.Promote(ctx, 0)
	ok(err)
	ok(s.Send(ctx, store.Message{ID: newID(), Task: list[3].ID, Name: "n"}))
	res, err := s.Claim(ctx, claimOf("w", 5))
	ok(err)
	for i, task := range res.Tasks {
		_, err := s.Save(ctx, store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"e": []byte("1")}})
		ok(err)
		out := store.Outcome{Kind: []store.OutcomeKind{store.OutcomeDone, store.OutcomeFail}[i%2], Result: []byte("r")}
		if i < 3 {
			_, err = s.Complete(ctx, store.CompleteRequest{Items: []store.Completion{{Fence: task.Fence(), Outcome: out}}})
			ok(err)
			continue
		}
		_, err = s.Cancel(ctx, task.ID, "")
		ok(err)
	}
	_, err = s.Beat(ctx, store.BeatRequest{Worker: "w", Queues: []string{"default"}, Kinds: []string{"job.welcome"}})
	ok(err)
	sound(t, s)
}

// A key of another kind than expected is an error of the call and no panic; once it is gone, work goes on. AE-032
func TestAForeignKeyIsAnErrorOfTheCall(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustSubmit(t, s, specs(1))
	server.Do("RENAME", "outlast:{default}:all", "kept")
	server.Do("SET", "outlast:{default}:all", "not a sorted set")
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: specs(1)}); err == nil || store.Answered(err) {
		t.Errorf("Submit = %v, want an error that is no answer", err)
	}
	if _, err := s.List(t.Context(), store.Filter{}, store.PageRequest{}); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("List = %v, want the server's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, newID()); err == nil {
		t.Error("Get with a context that has ended = nil, want its error")
	}
	server.Do("RENAME", "kept", "outlast:{default}:all")
	mustSubmit(t, s, specs(1))
}

// What has ended and was removed leaves nothing behind: no index, no lane, no line, no count.
func TestNothingIsLeftOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet(), Timing: store.Timing{Horizon: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	mustJoin(t, s, "w")
	everything(t, s)
	if err := s.Resume(ctx, store.Scope{Lane: "paused"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutLimit(ctx, store.Limit{Key: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutWeight(ctx, "default", "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSchedule(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	left := 1
	for range 50 {
		if left = sweep(t, s); left == 0 {
			break
		}
		pause(ctx, 5*time.Millisecond)
	}
	if _, err := s.Leave(ctx, "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recover(ctx, store.RecoverRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	names, err := s.Names(ctx)
	if err != nil || left != 0 {
		t.Fatalf("%d tasks are left, %v, want none", left, err)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.TrimPrefix(name, "outlast:{default}:"), ":")
		if !slices.Contains([]string{"meta", "state", "stat", "minutes", "clocks"}, kind) {
			t.Errorf("the key %q is left", name)
		}
	}
}

// sweep ends and removes what it can, and returns how many tasks are left.
func sweep(t *testing.T, s *redis.Store) int {
	t.Helper()
	ctx := t.Context()
	page, err := s.List(ctx, store.Filter{}, store.PageRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range page.Items {
		switch {
		case task.State == store.Running:
			mustComplete(t, s, task, nil)
		case !task.State.Terminal():
			_, err = s.Cancel(ctx, task.ID, "")
		case task.State == store.Failed || task.Retention < 0:
			err = s.Delete(ctx, task.ID)
		case task.Retention > 0:
			err = s.Delete(ctx, task.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Promote(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(ctx, 0); err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}

// A list is gone through for each member that comes or goes: what a worker with many slots holds is none, and nothing is left of what made it so.
func TestWhatAWorkerHoldsIsNoListIfItIsMuch(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	list := specs(50)
	for i := range list {
		list[i].Timeout = time.Hour
	}
	mustSubmit(t, s, list)
	res, err := s.Claim(t.Context(), claimOf("w", 50))
	if err != nil || len(res.Tasks) != 50 {
		t.Fatalf("Claim took %d tasks, %v, want 50", len(res.Tasks), err)
	}
	for _, key := range []string{"outlast:{default}:held:w", "outlast:{default}:overdue"} {
		if how := server.Do("OBJECT", "ENCODING", key); how != "skiplist" {
			t.Errorf("%s is stored as %s, want skiplist", key, how)
		}
		if n := server.Do("EVAL", "return tostring(redis.call('ZCARD', KEYS[1]))", "1", key); n != "50" {
			t.Errorf("%s has %s members, want 50", key, n)
		}
	}
	for _, task := range res.Tasks {
		mustComplete(t, s, task, nil)
	}
	if n := server.Do("EVAL", "return tostring(redis.call('EXISTS', KEYS[1], KEYS[2]))", "2", "outlast:{default}:held:w", "outlast:{default}:overdue"); n != "0" {
		t.Errorf("%s sets are left of what has ended, want 0", n)
	}
}

// A lane that is stored as it was at the last submit is not taken apart: what comes still stands where it belongs.
func TestWhatComesToAnOpenLaneStandsWhereItBelongs(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	priorities := []int{0, 0, 0, 5, 0, 5, 9, 0, 5, 9}
	for _, p := range priorities {
		spec := newSpec()
		spec.Priority = p
		mustSubmit(t, s, []store.Spec{spec})
	}
	var got []int
	for range priorities {
		res, err := s.Claim(t.Context(), claimOf("w", 1))
		if err != nil || len(res.Tasks) != 1 {
			t.Fatalf("Claim took %d tasks, %v, want 1", len(res.Tasks), err)
		}
		got = append(got, res.Tasks[0].Priority)
	}
	if want := []int{9, 9, 5, 5, 5, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("claims gave priorities %v, want %v", got, want)
	}
	sound(t, s)
}
