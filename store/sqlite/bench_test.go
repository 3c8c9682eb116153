package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

func specs(n int) []store.Spec {
	list := make([]store.Spec, n)
	for i := range list {
		list[i] = newSpec()
	}
	return list
}

func mustSubmit(b *testing.B, s *sqlite.Store, list []store.Spec) {
	b.Helper()
	if _, err := s.Submit(b.Context(), store.SubmitRequest{Specs: list}); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkSubmitOne(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "bench.db"))
	for b.Loop() {
		mustSubmit(b, s, specs(1))
	}
}

// BenchmarkSubmitTogether has 16 callers with one task each.
func BenchmarkSubmitTogether(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "bench.db"))
	b.SetParallelism(8) // times the number of processors
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Submit(b.Context(), store.SubmitRequest{Specs: specs(1)}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(s.Commits()), "submits/commit")
}

func BenchmarkSubmitThousand(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "bench.db"))
	for b.Loop() {
		mustSubmit(b, s, specs(1000))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/task")
}

// BenchmarkClaimAndComplete takes and ends 100 tasks in two calls, beside so many that have ended long ago.
func BenchmarkClaimAndComplete(b *testing.B) {
	for _, finished := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("finished=%d", finished), func(b *testing.B) {
			s := mustOpen(b, filepath.Join(b.TempDir(), "bench.db"))
			if err := join(b.Context(), s, "w"); err != nil {
				b.Fatal(err)
			}
			for range finished / 1000 {
				mustSubmit(b, s, specs(1000))
				claimAndComplete(b, s, 1000)
			}
			for b.Loop() {
				b.StopTimer()
				mustSubmit(b, s, specs(100))
				b.StartTimer()
				claimAndComplete(b, s, 100)
			}
		})
	}
}

func claimAndComplete(b *testing.B, s *sqlite.Store, n int) {
	b.Helper()
	res, err := s.Claim(b.Context(), claimOf("w", n))
	if err != nil || len(res.Tasks) != n {
		b.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, n)
	}
	items := make([]store.Completion, n)
	for i := range items {
		items[i] = store.Completion{Fence: res.Tasks[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}
	}
	done, err := s.Complete(b.Context(), store.CompleteRequest{Items: items})
	if err != nil || done.Items[0].Err != nil {
		b.Fatalf("Complete = %v, %v, want no error", done.Items[0].Err, err)
	}
}

// BenchmarkSubmitBesideBusyProcesses is what a process waits for its turn while two others always have more to write.
func BenchmarkSubmitBesideBusyProcesses(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	s := mustOpen(b, path)
	for range 2 {
		if line := startChild(b, "hammer", path).line(); line != "hammers" {
			b.Fatalf("the child = %q, want hammers", line)
		}
	}
	var longest time.Duration
	for b.Loop() {
		begin := time.Now()
		mustSubmit(b, s, specs(1))
		longest = max(longest, time.Since(begin))
	}
	b.ReportMetric(float64(longest.Milliseconds()), "max-ms")
}
