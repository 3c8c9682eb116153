package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/web"
)

// storedTasks is how many tasks stand in the store: OUTLAST_WEB_TASKS, else so many.
func storedTasks(t testing.TB, otherwise int) int {
	text := os.Getenv("OUTLAST_WEB_TASKS")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkPages tells how long each page takes at the 95th percentile, nothing being remembered from a page before. Of the tasks in the store
// seven tenths have ended, two wait in a queue that nobody serves, and one are the rows of a batch.
func BenchmarkPages(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			behind := &shift{}
			st := e.open(b, behind)
			begun, n := time.Now(), storedTasks(b, 20_000)
			list, err := st.GroupList(b.Context(), store.PageRequest{Limit: 1})
			if err != nil {
				b.Fatal(err)
			}
			if len(list.Items) == 0 {
				load(b, e, st, behind, n)
				fmt.Printf("%s: %d tasks in %v\n", e.name, n, time.Since(begun).Round(time.Second))
			}
			pages(b, st)
		})
	}
}

// load fills a store.
func load(b *testing.B, e engine, st store.Store, behind *shift, n int) {
	times := 1
	if e.copies != nil && n >= 100_000 {
		times = n / 50_000
	}
	fill(b, st, behind, n/times/10*7)
	backlog(b, st, n/10*2)
	if times > 1 {
		e.copies(b, st, times-1)
	}
	rows(b, st, n/10)
}

// backlog submits tasks that nobody takes, in two hundred lanes of four queues.
func backlog(b *testing.B, st store.Store, tasks int) {
	for done := 0; done < tasks; done += 1000 {
		specs := make([]store.Spec, 1000)
		for i := range specs {
			n := done + i
			id := store.MakeID(time.Now(), [16]byte(store.DeriveID("backlog", strconv.Itoa(n))))
			specs[i] = store.Spec{ID: id, Kind: "job.export", Queue: fmt.Sprint("exports-", n%4), Lane: fmt.Sprint("tenant-", n%200), Args: []byte(`{"all":true}`)}
		}
		if _, err := st.Submit(b.Context(), store.SubmitRequest{Specs: specs}); err != nil {
			b.Fatal(err)
		}
	}
}

// rows submits a batch of so many rows, which goes on.
func rows(b *testing.B, st store.Store, tasks int) {
	group := store.MakeID(time.Now(), [16]byte(store.DeriveID("group")))
	for done := 0; done < tasks; done += 1000 {
		req := store.SubmitRequest{Specs: make([]store.Spec, 1000)}
		if done == 0 {
			req.Groups = []store.NewGroup{{ID: group, Name: "batch:x"}}
		}
		for i := range req.Specs {
			n := done + i
			req.Specs[i] = store.Spec{ID: store.DeriveID("row", strconv.Itoa(n)), Kind: "batch.x", Queue: "batches", Group: group, Line: int64(n)}
		}
		if _, err := st.Submit(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := st.Seal(b.Context(), group); err != nil {
		b.Fatal(err)
	}
}

func pages(b *testing.B, st store.Store) {
	k, err := kernel.New(st, kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	got, err := k.Submit(b.Context(), kernel.Spec{Kind: "job.new"})
	if err != nil {
		b.Fatal(err)
	}
	groups, err := k.Groups(b.Context(), kernel.PageRequest{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	batch := "/batch/" + groups.Items[0].ID.String()
	for _, p := range []place{
		{"overview", "/"},
		{"overview-day", "/?minutes=1440"},
		{"tasks", "/tasks"},
		{"tasks-failed", "/tasks?state=failed"},
		{"tasks-done", "/tasks?state=done"},
		{"tasks-held", "/tasks?state=held"},
		{"tasks-running", "/tasks?state=running"},
		{"tasks-kind", "/tasks?kind=job.invoice"},
		{"tasks-none", "/tasks?kind=job.none"},
		{"tasks-label", "/tasks?label=customer%3D17"},
		{"tasks-oldest", "/tasks?order=oldest"},
		{"task", "/task/" + got.ID.String()},
		{"queues", "/queues"},
		{"queue", "/queue/default"},
		{"queue-backlog", "/queue/exports-0"},
		{"workers", "/workers"},
		{"dead", "/dead"},
		{"sagas", "/sagas"},
		{"batches", "/batches"},
		{"batch", batch},
		{"batch-failed", batch + "?state=failed"},
		{"calls", "/calls"},
		{"endpoints", "/endpoints"},
		{"schedules", "/schedules"},
	} {
		b.Run(p.name, func(b *testing.B) { onePage(b, k, p.where) })
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
