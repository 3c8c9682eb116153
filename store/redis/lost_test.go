package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// With everysec a machine that dies takes the last second with it. The store then is as it was: what it had not kept it does not
// know, and whoever acts on it is refused.
func TestLostWritesLeaveASoundStore(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{Fsync: "everysec"})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Timing: quickTiming(), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "old")
	kept := specs(4)
	mustSubmit(t, s, kept)
	first, err := s.Claim(t.Context(), claimOf("old", 1))
	if err != nil {
		t.Fatal(err)
	}
	mark := server.Mark()
	lost := specs(1)
	mustSubmit(t, s, lost)
	second, err := s.Claim(t.Context(), claimOf("old", 1)) // nobody will know of this claim
	if err != nil || len(first.Tasks) != 1 || len(second.Tasks) != 1 {
		t.Fatalf("Claim = %d and %d tasks, %v, want one each", len(first.Tasks), len(second.Tasks), err)
	}
	mustComplete(t, s, first.Tasks[0], nil) // nor of this end
	server.KillTo(mark)
	server.Start()
	reach(t, s)

	if _, err := s.Get(t.Context(), lost[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a lost task = %v, want ErrNotFound", err)
	}
	mustJoin(t, s, "new")
	again, err := s.Claim(t.Context(), claimOf("new", 1))
	if err != nil || len(again.Tasks) != 1 || again.Tasks[0].ID != second.Tasks[0].ID || again.Tasks[0].Epoch != second.Tasks[0].Epoch {
		t.Fatalf("Claim = %+v, %v, want the task of the lost claim, in the same epoch", again.Tasks, err)
	}
	// The epoch went back with the store. The nonce tells the two claims apart.
	mustComplete(t, s, second.Tasks[0], store.ErrFenced)
	mustComplete(t, s, again.Tasks[0], nil)
	mustComplete(t, s, first.Tasks[0], nil) // still its own
	mustSubmit(t, s, lost)                  // the submitter that repeats is heard
	rest, err := s.Claim(t.Context(), claimOf("new", 9))
	if err != nil || len(rest.Tasks) != 3 {
		t.Errorf("Claim = %d tasks, %v, want the other two and the one that was submitted again", len(rest.Tasks), err)
	}
	sound(t, s)
}

// A cut at any byte leaves whole steps: a script is in the file as a whole, or not at all.
func TestACutOfTheFileAnywhereLeavesWholeSteps(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	before := server.Mark()
	group := newID()
	members := specs(20)
	for i := range members {
		members[i].Group = group
		members[i].OnEnd = &store.Spec{Kind: "end", Queue: "default"}
		members[i].Unique.Key = members[i].ID.String()
	}
	req := store.SubmitRequest{Groups: []store.NewGroup{{ID: group, Seal: true, OnClose: &store.Spec{Kind: "close", Queue: "default"}}}, Specs: members}
	if _, err := s.Submit(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Promote(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		res, err := s.Claim(t.Context(), claimOf("w", 5))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range res.Tasks {
			mustComplete(t, s, task, nil)
		}
	}
	after := server.Mark()
	for i := int64(9); i > 0; i-- {
		server.KillTo(before + (after-before)*i/10 + i)
		server.Start()
		sound(t, s)
	}
}

func mustComplete(t *testing.T, s *redis.Store, task store.Task, want error) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		res, err := s.Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{{
			Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone},
		}}})
		if err != nil && time.Now().Before(deadline) {
			continue // the connection was cut
		}
		if err != nil || !errors.Is(res.Items[0].Err, want) {
			t.Errorf("Complete = %v, %v, want %v", res.Items, err, want)
		}
		return
	}
}
