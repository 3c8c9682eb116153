package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/web"
)

// world is a shop whose work has gone on for an hour, and goes on.
type world struct {
	k     *kernel.Kernel
	st    store.Store
	url   string
	saga  *saga.Def[order, string]
	stuck kernel.ID
	open  kernel.ID // a saga that waits for a signal
	done  kernel.ID // one that has completed
	batch kernel.ID
	slow  kernel.ID // a task that runs as long as the test
	dead  kernel.ID

	mu    sync.Mutex
	audit []web.AuditLine
}

type order struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
	Card  string `json:"card"`
}

var approve = saga.NewSignal[map[string]string]("approve")

// shift is how far the store's clock is behind while an hour is made up.
type shift struct{ atomic.Int64 }

func (s *shift) now() time.Time { return time.Now().Add(-time.Duration(s.Load())) }

// newWorld fills a store with so many tasks of the last hour, and lets a shop work on it.
func newWorld(t *testing.T, e engine, tasks int, cfg web.Config) *world {
	t.Helper()
	behind := &shift{}
	st := e.open(t, behind)
	fill(t, st, behind, tasks)
	w := &world{st: st}
	log := slog.New(slog.DiscardHandler)
	k, err := kernel.New(st, kernel.Config{
		Name: "shop-1", Version: "v1.4.2", Logger: log, ShutdownTimeout: -1,
		Slots: map[string]int{"default": 20, "mail": 8, "reports": 2, "calls": 50, "callbacks": 4, "payments": 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.k = k
	w.serve(t, cfg)
	return w
}

// fill makes up an hour: each minute some tasks were submitted, taken and ended, most of them well.
func fill(t testing.TB, st store.Store, behind *shift, tasks int) {
	t.Helper()
	ctx := t.Context()
	kinds := []string{"job.welcome", "job.invoice", "job.thumbnail", "job.sync"}
	const worker = "shop-0:4711:5eed"
	behind.Store(int64(61 * time.Minute))
	join := store.JoinRequest{ID: worker, Beat: time.Second, DeadAfter: 15 * time.Second}
	if err := st.Join(ctx, join); err != nil {
		t.Fatal(err)
	}
	n := 0
	for minute := 60; minute >= 0; minute-- {
		behind.Store(int64(time.Duration(minute)*time.Minute + 30*time.Second))
		share := tasks * (60 - minute + 30) / (61 * 60) // it grows
		for left := share; left > 0; left -= 1000 {
			var specs []store.Spec
			for range min(left, 1000) {
				n++
				id := store.DeriveID("fill", fmt.Sprint(n))
				made := store.MakeID(behind.now(), [16]byte(id))
				specs = append(specs, store.Spec{
					ID: made, Kind: kinds[n%len(kinds)], Queue: []string{"default", "mail"}[n%2], Args: fmt.Appendf(nil, `{"customer":%d,"plan":"basic"}`, n),
					Labels: map[string]string{"customer": fmt.Sprint(n % 997)}, Retry: store.Retry{Max: 3}, Retention: 24 * time.Hour,
				})
			}
			nonce := store.DeriveID("nonce", fmt.Sprint(n))
			got, err := st.Submit(ctx, store.SubmitRequest{Specs: specs, Claim: &store.ClaimRequest{Worker: worker, Nonce: nonce}})
			if err != nil {
				t.Fatal(err)
			}
			behind.Add(-int64(time.Duration(40+minute%7*9) * time.Millisecond))
			var items []store.Completion
			for i := range got.Claimed {
				items = append(items, store.Completion{Fence: got.Claimed[i].Fence(), Outcome: outcome(n + i)})
			}
			if _, err := st.Complete(ctx, store.CompleteRequest{Items: items}); err != nil {
				t.Fatal(err)
			}
		}
	}
	behind.Store(0)
	if _, err := st.Leave(ctx, worker); err != nil {
		t.Fatal(err)
	}
}

// outcome is how a task of the past ended.
func outcome(n int) store.Outcome {
	switch {
	case n%211 == 0:
		return store.Outcome{Kind: store.OutcomeFail, Reason: "permanent", Error: &store.Error{Message: fmt.Sprintf("customer %d has no address", n), Type: "address"}}
	case n%307 == 0:
		return store.Outcome{Kind: store.OutcomeFail, Reason: "attempts", Error: &store.Error{Message: fmt.Sprintf("dial tcp 10.0.3.%d:5432: connect: connection refused", n%250)}}
	case n%97 == 0:
		return store.Outcome{Kind: store.OutcomeRetry, Delay: time.Hour, Error: &store.Error{Message: "the mail server is busy", Type: "busy"}}
	}
	return store.Outcome{Kind: store.OutcomeDone, Result: []byte(`{"sent":true}`)}
}

// serve says what the shop does, and lets it.
func (w *world) serve(t *testing.T, cfg web.Config) {
	t.Helper()
	for kind, h := range handlers() {
		w.k.Handle(kind, h)
	}
	w.saga = placeOrder()
	w.saga.Serve(w.k)
	prices.Serve(w.k)
	orders.Serve(w.k)
	client, err := call.NewClient(call.ClientConfig{Retry: kernel.Retry{Max: 1}, PerHost: call.HostLimit{Running: 20}})
	if err != nil {
		t.Fatal(err)
	}
	notify := call.Define("notify", call.Callback{
		OnComplete: func(context.Context, *call.Response) error { return nil },
		OnError:    func(context.Context, *call.Error) error { return nil },
	}, call.Config{Client: client, FailOnStatus: true})
	notify.Serve(w.k)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.k.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		w.k.Close()
	})
	cfg.Sagas, cfg.Calls = []saga.Outline{w.saga.Outline()}, []*call.Client{client}
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Who = func(*http.Request) string { return "ann" }
	cfg.Audit = func(_ context.Context, l web.AuditLine) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.audit = append(w.audit, l)
	}
	mux := http.NewServeMux()
	mux.Handle("/outlast/", http.StripPrefix("/outlast", web.Handler(w.k, cfg)))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	w.url = srv.URL + "/outlast"
	w.work(t, notify)
}
