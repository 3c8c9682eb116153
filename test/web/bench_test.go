package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
	"github.com/outlast-go/outlast/web"
)

// benchTasks is how many tasks stand in the store: OUTLAST_WEB_TASKS, else 20,000.
func benchTasks(b *testing.B) int {
	text := os.Getenv("OUTLAST_WEB_TASKS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkPages tells how long each page takes at the 95th percentile, nothing being remembered from a page before.
func BenchmarkPages(b *testing.B) {
	behind := &shift{}
	for _, e := range []struct {
		name string
		open func(b *testing.B) store.Store
	}{
		{"sqlite", func(b *testing.B) store.Store {
			st, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "tasks.db"), Clock: behind.now})
			if err != nil {
				b.Fatal(err)
			}
			return st
		}},
		{"postgres", func(b *testing.B) store.Store {
			st, err := postgres.Open(b.Context(), servers.SharedPostgres(b), postgres.Config{Namespace: "dashboard"})
			if err != nil {
				b.Fatal(err)
			}
			return st
		}},
	} {
		b.Run(e.name, func(b *testing.B) {
			st := e.open(b)
			defer func() { _ = st.Close() }()
			begun := time.Now()
			fill(b, st, behind, benchTasks(b))
			b.Logf("%d tasks in %v", benchTasks(b), time.Since(begun).Round(time.Second))
			pages(b, st)
		})
	}
}

func pages(b *testing.B, st store.Store) {
	k, err := kernel.New(st, kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	var specs []kernel.Spec
	for i := range 1000 {
		specs = append(specs, kernel.Spec{Kind: "job.new", Lane: fmt.Sprint("lane-", i%50)})
	}
	got, err := k.SubmitMany(b.Context(), specs)
	if err != nil {
		b.Fatal(err)
	}
	group, _, err := k.SubmitGroup(b.Context(), kernel.NewGroup{Name: "batch:x", Seal: true}, []kernel.Spec{{Kind: "batch.x"}})
	if err != nil {
		b.Fatal(err)
	}
	for _, where := range []string{
		"/", "/?minutes=1440", "/tasks", "/tasks?state=failed", "/tasks?state=done", "/tasks?state=held", "/tasks?kind=job.invoice", "/tasks?kind=job.none", "/tasks?label=customer%3D17",
		"/tasks?state=running", "/tasks?order=oldest", "/task/" + got[0].ID.String(), "/queues", "/queue/default", "/workers", "/dead", "/sagas", "/batches", "/batch/" + group.String(),
		"/calls", "/endpoints", "/schedules",
	} {
		b.Run(where, func(b *testing.B) { onePage(b, k, where) })
	}
}

func onePage(b *testing.B, k *kernel.Kernel, where string) {
	var took []time.Duration
	for b.Loop() {
		h := web.Handler(k, web.Config{Logger: slog.New(slog.DiscardHandler)}) // remembers nothing
		req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, where, nil)
		w := httptest.NewRecorder()
		begun := time.Now()
		h.ServeHTTP(w, req)
		took = append(took, time.Since(begun))
		if w.Code != http.StatusOK {
			b.Fatalf("%s = %d\n%s", where, w.Code, w.Body)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)*95/100].Seconds()*1000, "p95-ms")
}
