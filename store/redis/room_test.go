package redis_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// A full server refuses new work, loudly and as a whole, and lets what it has come to its end. FT-31
func TestAFullServerRefusesSubmitsAndEndsWhatRuns(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{Args: []string{"--maxmemory", "12mb"}})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	accepted := 0
	for range 1000 {
		list := specs(20)
		for i := range list {
			list[i].Args = make([]byte, 1000)
		}
		if _, err = s.Submit(t.Context(), store.SubmitRequest{Specs: list}); err != nil {
			break
		}
		accepted += len(list)
	}
	if !errors.Is(err, redis.ErrFull) || store.Answered(err) {
		t.Fatalf("Submit into a full server = %v, want ErrFull, which is no answer", err)
	}
	sound(t, s)
	if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "w"}); err != nil {
		t.Errorf("Beat = %v, want no error", err)
	}
	done := 0
	for {
		res, err := s.Claim(t.Context(), claimOf("w", 100))
		if err != nil {
			t.Fatalf("Claim = %v, want no error", err)
		}
		if len(res.Tasks) == 0 {
			break
		}
		for _, task := range res.Tasks {
			if _, err := s.Save(t.Context(), store.SaveRequest{Fence: task.Fence(), Entries: map[string][]byte{"step": []byte("1")}}); err != nil {
				t.Fatalf("Save = %v, want no error", err)
			}
			mustComplete(t, s, task, nil)
			done++
		}
	}
	if done != accepted {
		t.Errorf("%d of %d accepted tasks came to their end", done, accepted)
	}
	if _, err := s.Recover(t.Context(), store.RecoverRequest{Worker: "w", Force: true}); err != nil {
		t.Errorf("Recover = %v, want no error", err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	mustSubmit(t, s, specs(1))
	sound(t, s)
}

// What is stored comes back byte for byte and digit for digit, whatever the scripts do with it on the way.
func TestPayloadsAndNumbersComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	year := 365*24*time.Hour + 1
	spec := store.Spec{
		ID: newID(), Kind: "k", Queue: "q", Lane: "ä{}*[]", Limit: "l/\"'", Priority: math.MaxInt, Args: every, Timeout: year,
		Retry:  store.Retry{Max: math.MaxInt32, Base: year, Factor: 1.1, Cap: math.MaxInt64 / 4, CrashSpends: true, Exact: true},
		Unique: store.Unique{Key: "key", OnConflict: store.Reject, For: -1}, Fingerprint: "f", Parent: newID(), Owned: true,
		OnEnd:  &store.Spec{Kind: "end", Queue: "q", Args: every, Labels: map[string]string{}, Line: math.MaxInt64},
		Labels: map[string]string{"a": "", "b": "{}"}, Correlation: "c", Trace: "t", Sealed: newID(), Retention: year, Line: math.MaxInt64,
	}
	mustSubmit(t, s, []store.Spec{spec})
	got, err := s.Get(t.Context(), spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := spec
	want.DueAt = got.DueAt
	if !reflect.DeepEqual(got.Spec, want) {
		t.Errorf("Get = %+v\nwant  %+v", got.Spec, want)
	}
	mustJoin(t, s, "w")
	res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: "w", Nonce: newID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 1}}})
	if err != nil || len(res.Tasks) != 1 || !reflect.DeepEqual(res.Tasks[0].Args, every) {
		t.Fatalf("Claim = %+v, %v, want the task with its args", res.Tasks, err)
	}
	progress := store.Progress{Done: math.MaxInt64, Total: math.MinInt64, Note: string(every)}
	entries := map[string][]byte{"": every, string(every): {}, "big": make([]byte, 3<<20)}
	_, err = s.Save(t.Context(), store.SaveRequest{Fence: res.Tasks[0].Fence(), Seq: math.MaxInt32, Progress: &progress, Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), spec.ID)
	if err != nil || !reflect.DeepEqual(loaded, entries) {
		t.Errorf("Load = %d entries, %v, want what was saved", len(loaded), err)
	}
	failure := &store.Error{Message: string(every), Type: "x", Detail: every}
	done, err := s.Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{{
		Fence: res.Tasks[0].Fence(), Outcome: store.Outcome{Kind: store.OutcomeFail, Result: every, Error: failure},
	}}})
	if err != nil || done.Items[0].Err != nil {
		t.Fatalf("Complete = %+v, %v, want no error", done, err)
	}
	got, err = s.Get(t.Context(), spec.ID)
	got.Progress.At = time.Time{}
	if err != nil || !reflect.DeepEqual(got.Result, every) || !reflect.DeepEqual(got.Error, failure) || got.Progress != progress {
		t.Errorf("Get = %+v, %v, want result, error and progress as they were", got, err)
	}
	after, err := s.Get(t.Context(), store.OnEndID(spec.ID, 0))
	if err != nil || !reflect.DeepEqual(after.Args, every) || after.Parent != spec.ID || after.Line != math.MaxInt64 {
		t.Errorf("Get of what follows = %+v, %v, want it as it was submitted", after.Spec, err)
	}
}

// Priorities of any size keep their order, and so do the lines of a group.
func TestExtremesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	group := newID()
	priorities := []int{math.MinInt, -5, -1, 0, 1, 7, math.MaxInt}
	lines := []int64{math.MinInt64, -2, 0, 3, 1 << 53, 1<<53 + 1, math.MaxInt64}
	list := specs(len(priorities))
	for i := range list {
		list[i].Priority = priorities[len(priorities)-1-(i*3)%len(priorities)]
	}
	mustSubmit(t, s, list)
	res, err := s.Claim(t.Context(), claimOf("w", 100))
	if err != nil || len(res.Tasks) != len(list) {
		t.Fatalf("Claim = %d tasks, %v, want all", len(res.Tasks), err)
	}
	for i := 1; i < len(res.Tasks); i++ {
		if res.Tasks[i-1].Priority < res.Tasks[i].Priority {
			t.Errorf("priority %d came before %d", res.Tasks[i-1].Priority, res.Tasks[i].Priority)
		}
	}
	members := specs(len(lines))
	for i := range members {
		members[i].Group, members[i].Line = group, lines[(i*3)%len(lines)]
	}
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Groups: []store.NewGroup{{ID: group}}, Specs: members}); err != nil {
		t.Fatal(err)
	}
	var got []int64
	page := store.PageRequest{Limit: 2}
	for {
		p, err := s.List(t.Context(), store.Filter{Group: group}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range p.Items {
			got = append(got, task.Line)
		}
		if page.Cursor = p.Cursor; p.Cursor == "" {
			break
		}
	}
	if !reflect.DeepEqual(got, lines) {
		t.Errorf("List = lines %v, want %v", got, lines)
	}
}

// Large payloads come in several answers: no single one is larger than the server and the connection can bear.
func TestLargePayloadsComeInMouthfuls(t *testing.T) {
	t.Parallel()
	s := mustOpen(t)
	mustJoin(t, s, "w")
	list := specs(30)
	for i := range list {
		list[i].Args = make([]byte, 1<<20)
		list[i].Args[0] = byte(i)
	}
	mustSubmit(t, s, list)
	taken := 0
	for {
		res, err := s.Claim(t.Context(), claimOf("w", 100))
		if err != nil || len(res.Tasks) > 10 || res.Again != (taken+len(res.Tasks) < len(list)) {
			t.Fatalf("Claim = %d tasks after %d, again %v, %v, want at most 10 at once, and to be told of more", len(res.Tasks), taken, res.Again, err)
		}
		if len(res.Tasks) == 0 {
			break
		}
		taken += len(res.Tasks)
	}
	if taken != len(list) {
		t.Errorf("claims took %d tasks, want %d", taken, len(list))
	}
	page, err := s.List(t.Context(), store.Filter{}, store.PageRequest{Payload: true})
	if err != nil || len(page.Items) != len(list) || len(page.Items[0].Args) != 1<<20 {
		t.Errorf("List = %d tasks, %v, want all with their args", len(page.Items), err)
	}
	sound(t, s)
}
