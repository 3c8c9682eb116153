package endpoints_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// byHeader takes the principal from a header, as a test may.
func byHeader(r *http.Request) (string, error) {
	name := r.Header.Get("X-Who")
	if name == "nobody" {
		return "", fmt.Errorf("who is this?")
	}
	return name, nil
}

// AE-003, AE-010, AE-105 (422 in its place): the same key and request is the same task; with another request it is refused.
func TestTheSameKeyIsTheSameTask(t *testing.T) {
	fails := endpoint.Define("fails", func(context.Context, endpoint.Request[Order]) (endpoint.None, error) {
		return endpoint.None{}, &endpoint.Problem{Status: 400, Detail: "no"}
	})
	everywhere(t, setup{site: endpoint.Site{Principal: byHeader}}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /fails", fails.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /again/{part}", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		const body = `{"item":"tea"}`
		first := p.accepted("/orders", body, "Idempotency-Key", `"k 1"`)
		location := first.Header.Get("Location")
		for name, a := range map[string]*answer{
			"again":               p.accepted("/orders", body, "Idempotency-Key", `"k 1"`),
			"other white space":   p.accepted("/orders", ` { "item" : "tea" } `, "Idempotency-Key", `"k 1"`),
			"other headers":       p.accepted("/orders", body, "Idempotency-Key", `"k 1"`, "User-Agent", "another"),
			"bare, without quote": p.accepted("/orders", body, "Idempotency-Key", `k 1`),
		} {
			if a.Header.Get("Location") != location || a.doc.ID != first.doc.ID {
				t.Errorf("%s: the task is %s, want %s", name, a.doc.ID, first.doc.ID)
			}
		}
		for name, a := range map[string]*answer{
			"other payload": p.send("POST", "/orders", `{"item":"milk"}`, "Idempotency-Key", `"k 1"`),
			"other query":   p.send("POST", "/orders?x=1", body, "Idempotency-Key", `"k 1"`),
			"other path":    p.send("POST", "/again/1", body, "Idempotency-Key", `"k 1"`),
		} {
			if a.StatusCode != 422 || a.fail.Code != "key_reused" {
				t.Errorf("%s: the answer is %d %s, want 422 key_reused", name, a.StatusCode, a.body)
			}
		}
		if a := p.accepted("/fails", body, "Idempotency-Key", `"k 1"`); a.doc.ID == first.doc.ID {
			t.Error("two endpoints share a key")
		}
		if a := p.accepted("/orders", body, "Idempotency-Key", `"k 1"`, "X-Who", "bob"); a.doc.ID == first.doc.ID {
			t.Error("two principals share a key")
		}
		p.work(func(k *kernel.Kernel) { Orders.Serve(k); fails.Serve(k) }, kernel.Config{})
		p.ended(location, endpoint.Completed)
		if a := p.accepted("/orders", body, "Idempotency-Key", `"k 1"`); a.doc.ID != first.doc.ID || a.doc.Status != endpoint.Completed {
			t.Errorf("after its end the task is %s %s, want %s Completed", a.doc.ID, a.doc.Status, first.doc.ID)
		}
		failed := p.accepted("/fails", body, "Idempotency-Key", `"k 1"`)
		p.ended(failed.Header.Get("Location"), endpoint.Failed)
		if a := p.accepted("/fails", body, "Idempotency-Key", `"k 1"`); a.doc.ID != failed.doc.ID || a.doc.Status != endpoint.Failed {
			t.Errorf("after it failed the task is %s %s, want %s Failed", a.doc.ID, a.doc.Status, failed.doc.ID)
		}
	})
}

// AE-003: the seed's header is a key too; one that is no UUID is ignored.
func TestTheRequestIDIsAKeyToo(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		const id, body = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c", `{}`
		first := p.accepted("/orders", body, "X-Async-Request-Id", id)
		if a := p.accepted("/orders", body, "X-Async-Request-Id", strings.ToUpper(id)); a.doc.ID != first.doc.ID {
			t.Errorf("the task is %s, want %s", a.doc.ID, first.doc.ID)
		}
		if a := p.accepted("/orders", body, "X-Async-Request-Id", "not-a-uuid"); a.doc.ID == first.doc.ID || a.doc.ID == "" {
			t.Errorf("the task is %s, want a new one", a.doc.ID)
		}
	})
}

func TestAKeyThatCannotBeOneIsRefused(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, RequireKey: true}))
		for name, key := range map[string]string{
			"empty": `""`, "open": `"abc`, "bad escape": `"a\b"`, "rest": `"a" b`, "long": strings.Repeat("k", 256), "not ASCII": "é",
		} {
			if a := p.send("POST", "/orders", `{}`, "Idempotency-Key", key); a.StatusCode != 400 || a.fail.Code != "bad_key" {
				t.Errorf("%s: the answer is %d %s, want 400 bad_key", name, a.StatusCode, a.body)
			}
		}
		if a := p.send("POST", "/orders", `{}`); a.StatusCode != 400 || a.fail.Code != "no_key" {
			t.Errorf("without a key the answer is %d %s, want 400 no_key", a.StatusCode, a.body)
		}
		first := p.accepted("/orders", `{}`, "Idempotency-Key", `"a\"\\b";x=1`)
		if a := p.accepted("/orders", `{}`, "Idempotency-Key", `a"\b`); a.doc.ID != first.doc.ID {
			t.Error("a quoted key and the same bare are two")
		}
	})
}

// AE-021 from outside: 50 clients race with one key, to working processes, and make one task; also if it fails at once.
func TestRacingClientsWithOneKeyMakeOneTask(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		var runs atomic.Int64
		race := endpoint.Define("race", func(_ context.Context, in endpoint.Request[Order]) (int64, error) {
			n := runs.Add(1)
			if in.Body.Count > 0 {
				return n, endpoint.Permanent(fmt.Errorf("it fails at once"))
			}
			return n, nil
		})
		p.work(race.Serve, kernel.Config{})
		p.mux.Handle("POST /race", race.Handler(p.k, endpoint.Config{Site: p.site}))
		for round := range 10 {
			runs.Store(0)
			ids := map[string]int{}
			var mu sync.Mutex
			var racing sync.WaitGroup
			for range 50 {
				racing.Go(func() {
					a, err := p.try(t.Context(), "POST", "/race", fmt.Sprintf(`{"count":%d}`, round%2), "Idempotency-Key", fmt.Sprint("key-", round))
					mu.Lock()
					defer mu.Unlock()
					if err != nil || a.StatusCode != 202 {
						t.Errorf("round %d: %v %+v, want 202", round, err, a)
						return
					}
					ids[a.Header.Get("Location")]++
				})
			}
			racing.Wait()
			if len(ids) != 1 {
				t.Fatalf("round %d: 50 clients were told of %d tasks, want 1", round, len(ids))
			}
			for location := range ids {
				p.ended(location, map[int]endpoint.State{0: endpoint.Completed, 1: endpoint.Failed}[round%2])
			}
			if n := len(p.tasks()); n != round+1 || runs.Load() != 1 {
				t.Fatalf("round %d: %d tasks are stored and %d were run, want %d and 1", round, n, runs.Load(), round+1)
			}
		}
	})
}

// AE-103: a queue that is full refuses what is new, and still knows what it has accepted.
func TestAFullQueueRefusesWithWhenToComeAgain(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, MaxWaiting: 3}))
		p.mux.Handle("POST /soft", Orders.Handler(p.k, endpoint.Config{Site: p.site, MaxWaiting: 3, FullStatus: 429}))
		first := p.accepted("/orders", `{"count":1}`, "Idempotency-Key", "k")
		p.accepted("/orders", `{}`)
		p.accepted("/orders", `{}`)
		for name, a := range map[string]*answer{"bare": p.send("POST", "/orders", `{}`), "with a key": p.send("POST", "/orders", `{}`, "Idempotency-Key", "new")} {
			if a.StatusCode != 503 || a.fail.Code != "queue_full" || a.Header.Get("Retry-After") == "" {
				t.Errorf("%s: the answer is %d %s %v, want 503 queue_full with Retry-After", name, a.StatusCode, a.body, a.Header)
			}
		}
		if a := p.send("POST", "/soft", `{}`); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" {
			t.Errorf("the answer is %d %v, want 429 with Retry-After", a.StatusCode, a.Header)
		}
		if a := p.accepted("/orders", `{"count":1}`, "Idempotency-Key", "k"); a.doc.ID != first.doc.ID {
			t.Errorf("the task is %s, want %s, accepted before", a.doc.ID, first.doc.ID)
		}
		if n := len(p.tasks()); n != 3 {
			t.Errorf("%d tasks are stored, want 3", n)
		}
		p.work(Orders.Serve, kernel.Config{})
		p.soon("room in the queue", func() bool { return p.send("POST", "/orders", `{}`).StatusCode == http.StatusAccepted })
	})
}

// A queue that drains as fast as it fills is not full, however many are accepted between two counts.
func TestAQueueThatDrainsIsNotFull(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.work(Orders.Serve, kernel.Config{})
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, MaxWaiting: 20}))
		var working sync.WaitGroup
		for range 10 {
			working.Go(func() {
				for range 50 {
					if a, err := p.try(t.Context(), "POST", "/orders", `{}`, "Prefer", "wait=20"); err != nil || a.StatusCode != 200 {
						t.Errorf("%v %s, want the result: at most 10 wait", err, a.body)
						return
					}
				}
			})
		}
		working.Wait()
	})
}

// A client that prefers to wait gets the result itself if it is there in time.
func TestWhoPrefersToWaitGetsTheResultItself(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{MaxWait: 20 * time.Second}}, func(t *testing.T, p *place) {
		release := make(chan struct{})
		slow := endpoint.Define("slow", func(ctx context.Context, in endpoint.Request[Order]) (Order, error) {
			if in.Body.Item == "bad" {
				return in.Body, &endpoint.Problem{Status: 409, Code: "taken", Detail: "it is taken"}
			}
			if in.Body.Count > 0 {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return in.Body, nil
		})
		p.work(slow.Serve, kernel.Config{})
		p.mux.Handle("POST /slow", slow.Handler(p.k, endpoint.Config{Site: p.site}))
		a := p.want(p.send("POST", "/slow", `{"item":"tea"}`, "Prefer", "foo=bar, respond-async, wait=10"), 200, "quick")
		if a.body != `{"item":"tea","count":0}` || a.Header.Get("Preference-Applied") != "respond-async, wait=10" || !strings.HasPrefix(a.Header.Get("Location"), "/tasks/") {
			t.Errorf("the answer is %s %v, want the result", a.body, a.Header)
		}
		a = p.want(p.send("POST", "/slow", `{"item":"bad"}`, "Prefer", "wait=10"), 409, "failed")
		if a.fail.Code != "taken" || a.Header.Get("Vary") != "Prefer" {
			t.Errorf("the answer is %s %v, want the problem of the function", a.body, a.Header)
		}
		a = p.want(p.send("POST", "/slow", `{"count":1}`, "Prefer", "respond-async", "Prefer", "wait=1"), 202, "slow")
		if a.doc.Status != endpoint.InProgress || a.Header.Get("Preference-Applied") != "respond-async, wait=1" {
			t.Errorf("the answer is %s %v, want how it stands after the wait", a.body, a.Header)
		}
		a = p.want(p.send("POST", "/slow", `{"count":1}`, "Prefer", "respond-async"), 202, "no wait")
		if a.Header.Get("Preference-Applied") != "respond-async" {
			t.Errorf("Preference-Applied is %q, want respond-async", a.Header.Get("Preference-Applied"))
		}
		close(release)
		p.ended(a.Header.Get("Location"), endpoint.Completed)
	})
}
