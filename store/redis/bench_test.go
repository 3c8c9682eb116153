package redis_test

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

func newID() store.ID {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return store.MakeID(time.Now(), random)
}

func newSpec() store.Spec {
	return store.Spec{ID: newID(), Kind: "job.welcome", Queue: "default", Args: []byte(`{"user":"0197f1c2","mail":"someone@example.org"}`), Retry: store.Retry{Max: 25}, Retention: time.Hour}
}

func specs(n int) []store.Spec {
	list := make([]store.Spec, n)
	for i := range list {
		list[i] = newSpec()
	}
	return list
}

// mustOpen opens a namespace of its own on the shared server.
func mustOpen(t testing.TB) *redis.Store {
	t.Helper()
	url := fmt.Sprintf("%snamespace=own-%x", withOptions(servers.SharedRedis(t)), newID())
	s, err := redis.Open(t.Context(), url, redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mustSubmit(t testing.TB, s *redis.Store, list []store.Spec) {
	t.Helper()
	res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: list})
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range res.Specs {
		if sub.Err != nil {
			t.Fatal(sub.Err)
		}
	}
}

func mustJoin(t testing.TB, s *redis.Store, id string) {
	t.Helper()
	if err := s.Join(t.Context(), store.JoinRequest{ID: id, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

func claimOf(worker string, n int) store.ClaimRequest {
	return store.ClaimRequest{
		Worker: worker, Nonce: newID(), Kinds: []string{"job.welcome"}, Queues: []store.QueueSlots{{Queue: "default", Slots: n}},
	}
}

// mustServe opens a store on a server of its own, with a worker w.
func mustServe(b *testing.B) (*servers.Redis, *redis.Store) {
	b.Helper()
	server := servers.NewRedis(b, servers.RedisConfig{})
	s, err := redis.Open(b.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	mustJoin(b, s, "w")
	return server, s
}

// allDone completes tasks as done.
func allDone(tasks []store.Task, result []byte) store.CompleteRequest {
	var req store.CompleteRequest
	for i := range tasks {
		req.Items = append(req.Items, store.Completion{Fence: tasks[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: result}})
	}
	return req
}

func BenchmarkSubmit(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := mustOpen(b)
			for b.Loop() {
				mustSubmit(b, s, specs(n))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/task")
		})
	}
}

// BenchmarkClaimComplete takes tasks and ends them as done, so many in a call.
func BenchmarkClaimComplete(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := mustOpen(b)
			mustJoin(b, s, "w")
			for b.Loop() {
				b.StopTimer()
				mustSubmit(b, s, specs(n))
				b.StartTimer()
				res, err := s.Claim(b.Context(), claimOf("w", n))
				if err != nil || len(res.Tasks) != n {
					b.Fatalf("Claim took %d tasks, %v, want %d", len(res.Tasks), err, n)
				}
				if _, err := s.Complete(b.Context(), allDone(res.Tasks, nil)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/task")
		})
	}
}

// BenchmarkFollowed runs tasks with a limit, each of which is followed by another, as calls and their callbacks are: so many of both end in a call,
// and as many are claimed.
func BenchmarkFollowed(b *testing.B) {
	server, s := mustServe(b)
	cpu := func() float64 {
		info := server.Do("INFO", "cpu")
		user, _ := strconv.ParseFloat(field(info, "used_cpu_user"), 64)
		system, _ := strconv.ParseFloat(field(info, "used_cpu_sys"), 64)
		return user + system
	}
	const n = 10_000
	claim := func() store.ClaimRequest {
		return store.ClaimRequest{Worker: "w", Nonce: newID(), Kinds: []string{"job.after", "job.welcome"}, Queues: []store.QueueSlots{
			{Queue: "after", Slots: 250}, {Queue: "default", Slots: 250},
		}}
	}
	used := 0.0
	for b.Loop() {
		for range n / 500 {
			list := specs(500)
			for i := range list {
				list[i].Limit, list[i].OnEnd = "host", &store.Spec{Kind: "job.after", Queue: "after", Retention: time.Hour, Timeout: time.Minute}
				list[i].Timeout = time.Minute
			}
			mustSubmit(b, s, list)
		}
		began, ended := cpu(), 0
		res, err := s.Claim(b.Context(), claim())
		for err == nil && len(res.Tasks) > 0 {
			req := allDone(res.Tasks, []byte("{}"))
			req.Claim = new(claim())
			ended += len(req.Items)
			var answer store.CompleteResult
			answer, err = s.Complete(b.Context(), req)
			res = answer.Claim
		}
		if err != nil || ended != 2*n {
			b.Fatalf("%d tasks have ended, %v; want %d", ended, err, 2*n)
		}
		used += cpu() - began
	}
	b.ReportMetric(1e6*used/float64(b.N*n), "µs/pair")
}

// BenchmarkWaiting tells what a task costs in memory while it waits, and after it has ended.
func BenchmarkWaiting(b *testing.B) {
	server, s := mustServe(b)
	used := func() float64 {
		n, err := strconv.ParseFloat(field(server.Do("INFO", "memory"), "used_memory_dataset"), 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	const n = 20_000
	for b.Loop() {
		before := used()
		for range n / 500 {
			mustSubmit(b, s, specs(500))
		}
		waiting := used()
		for range n / 500 {
			res, err := s.Claim(b.Context(), claimOf("w", 500))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Complete(b.Context(), allDone(res.Tasks, nil)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric((waiting-before)/n, "B/waiting")
		b.ReportMetric((used()-before)/n, "B/ended")
	}
}
