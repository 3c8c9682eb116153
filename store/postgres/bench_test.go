package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
)

var benchSeq atomic.Uint64

func benchID() store.ID {
	var r [16]byte
	binary.BigEndian.PutUint64(r[8:], benchSeq.Add(1))
	return store.MakeID(time.Now(), r)
}

func benchOpen(b *testing.B) *postgres.Store {
	b.Helper()
	url, pool := shared(b)
	name := fmt.Sprintf("bench_%d_%d", os.Getpid(), benchSeq.Add(1))
	s, err := postgres.Open(b.Context(), url, postgres.Config{Namespace: name})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.Close()
		if _, err := pool.Exec(context.Background(), "drop schema "+name+" cascade"); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchSpecs(n int) []store.Spec {
	specs := make([]store.Spec, n)
	for i := range specs {
		specs[i] = store.Spec{ID: benchID(), Kind: "k", Queue: "q", Args: []byte(`{"user":7}`), Retry: store.Retry{Max: 25}, Timeout: time.Minute, Retention: time.Hour}
	}
	return specs
}

// A submit, alone and gathered: figures are per task.
func BenchmarkSubmit(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchOpen(b)
			for b.Loop() {
				if _, err := s.Submit(b.Context(), store.SubmitRequest{Specs: benchSpecs(n)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// A claim and its completion, alone and gathered.
func BenchmarkClaimComplete(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchOpen(b)
			overBacklog(b, s, n, func() { runAll(b, s, n) })
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// overBacklog measures what a worker w does with n tasks that wait; to submit them is not counted.
func overBacklog(b *testing.B, s *postgres.Store, n int, work func()) {
	b.Helper()
	joinAs(b, s, "w")
	for b.Loop() {
		b.StopTimer()
		if _, err := s.Submit(b.Context(), store.SubmitRequest{Specs: benchSpecs(n)}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		work()
	}
}

// runAll claims n tasks and completes them.
func runAll(t testing.TB, s *postgres.Store, n int) {
	t.Helper()
	res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: n}}})
	if err != nil || len(res.Tasks) != n {
		t.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, n)
	}
	req := store.CompleteRequest{}
	for _, task := range res.Tasks {
		req.Items = append(req.Items, store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte("ok")}})
	}
	if _, err := s.Complete(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// A claim that finds nothing, and one that finds one task in one of several lanes.
func BenchmarkClaim(b *testing.B) {
	kinds := []string{"a", "b", "c", "d", "k"}
	for _, n := range []int{0, 1} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := benchOpen(b)
			overBacklog(b, s, n, func() {
				res, err := s.Claim(b.Context(), store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: kinds, Queues: []store.QueueSlots{{Queue: "q", Slots: 10}}})
				if err != nil || len(res.Tasks) != n {
					b.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, n)
				}
			})
		})
	}
}
