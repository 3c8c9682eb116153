package sqlite_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// specs makes tasks whose ids grow, as those of a kernel do.
func specs(n int) []store.Spec {
	list := make([]store.Spec, n)
	for i := range list {
		list[i] = newSpec()
	}
	slices.SortFunc(list, func(a, b store.Spec) int { return bytes.Compare(a.ID[:], b.ID[:]) })
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

// BenchmarkClaimAndComplete takes and ends 100 tasks in two calls.
func BenchmarkClaimAndComplete(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "bench.db"))
	if err := join(b.Context(), s, "w"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		mustSubmit(b, s, specs(100))
		b.StartTimer()
		claimAndComplete(b, s, 100)
	}
}

// BenchmarkBesideAMillionFinished compares a store in which 1,000,000 tasks have ended with an empty one, in turns: taking and
// ending 100 tasks, and putting back 100 of a process that died. Medians, and how many times longer it takes beside the million.
func BenchmarkBesideAMillionFinished(b *testing.B) {
	const finished = 1_000_000
	var paths [2]string
	var stores [2]*sqlite.Store
	for i := range stores {
		paths[i] = filepath.Join(b.TempDir(), fmt.Sprintf("bench%d.db", i))
		stores[i] = mustOpen(b, paths[i])
		if err := join(b.Context(), stores[i], "w"); err != nil {
			b.Fatal(err)
		}
	}
	for range finished / 1000 {
		mustSubmit(b, stores[1], specs(1000))
		claimAndComplete(b, stores[1], 1000)
	}
	var claims, recovers [2][]float64
	for b.Loop() {
		for i, s := range stores {
			mustSubmit(b, s, specs(100))
			recovers[i] = append(recovers[i], recoverHundred(b, s, paths[i]))
			begin := time.Now()
			claimAndComplete(b, s, 100)
			claims[i] = append(claims[i], float64(time.Since(begin).Microseconds()))
		}
	}
	report := func(name string, times [2][]float64) {
		empty, full := median(times[0]), median(times[1])
		b.ReportMetric(empty, name+"-empty-µs")
		b.ReportMetric(full, name+"-full-µs")
		b.ReportMetric(full/empty, name+"-ratio")
	}
	report("claim", claims)
	report("recover", recovers)
}

// recoverHundred lets a worker die with 100 tasks, and tells how many microseconds Recover took.
func recoverHundred(b *testing.B, s *sqlite.Store, path string) float64 {
	b.Helper()
	victim := mustOpen(b, path)
	if err := join(b.Context(), victim, "victim"); err != nil {
		b.Fatal(err)
	}
	if res, err := victim.Claim(b.Context(), claimOf("victim", 100)); err != nil || len(res.Tasks) != 100 {
		b.Fatalf("Claim = %d tasks, %v, want 100", len(res.Tasks), err)
	}
	if err := victim.Close(); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	res, err := s.Recover(b.Context(), store.RecoverRequest{Force: true, Limit: 100})
	took := time.Since(begin)
	if err != nil || len(res.Tasks) != 100 {
		b.Fatalf("Recover = %d tasks, %v, want 100", len(res.Tasks), err)
	}
	return float64(took.Microseconds())
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
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
