package endpoints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
)

// witness is what clients were told in one crash test.
type witness struct {
	t    *testing.T
	base string
	http *http.Client

	accepted, full, broken, crashed atomic.Int64

	mu  sync.Mutex
	ids map[string]string // task by key
}

// crashSize is how large a run is: short in every `make test`, and the size of the promise with OUTLAST_ENDPOINTS_LONG=1.
func crashSize() (clients, submissions int, every time.Duration) {
	if os.Getenv("OUTLAST_ENDPOINTS_LONG") != "" {
		return 200, 20_000, 2 * time.Second
	}
	return 40, 800, 400 * time.Millisecond
}

// FT-02, AE-058: clients submit and wait while workers, and the server too, are killed again and again: every task that was accepted
// ends, each key is one task, statuses only move forward, and there is no 5xx but that of the full queue.
func TestEveryAcceptedTaskEndsWhateverIsKilled(t *testing.T) {
	for _, e := range engines {
		if e.url == nil {
			continue // nothing outlives its process there
		}
		t.Run(e.name, func(t *testing.T) {
			clients, submissions, every := crashSize()
			tr := &troupe{
				t: t, store: e.url(t), addr: freeAddr(t),
				procs: map[string]*exec.Cmd{}, kills: map[string]int{},
			}
			for i := range 3 {
				tr.start(fmt.Sprint("work", i), "work")
			}
			tr.start("serve", "serve")
			defer tr.end()
			w := &witness{t: t, base: "http://" + tr.addr, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}, ids: map[string]string{}}
			begin := time.Now()
			ctx, stop := context.WithCancel(t.Context())
			var killing, working sync.WaitGroup
			killing.Go(func() { tr.strike(ctx, every) })
			var next atomic.Int64
			for range clients {
				working.Go(func() {
					// A fast machine goes on until enough were killed for the run to show something.
					for tr.killed("work") < enoughKills || next.Load() < int64(submissions) {
						w.one(ctx, int(next.Add(1)-1))
					}
				})
			}
			working.Wait()
			stop()
			killing.Wait()
			t.Logf("%s: %d clients, %d accepted, %d times full, %d answers lost, %d workers and %d servers killed, %d ended as crashed, in %v",
				e.name, clients, w.accepted.Load(), w.full.Load(), w.broken.Load(), tr.kills["work"], tr.kills["serve"], w.crashed.Load(), time.Since(begin).Round(time.Second))
			w.judge(int(next.Load()))
		})
	}
}

// enoughKills is how many workers must have been killed before a run may end.
const enoughKills = 4

// killed tells how many of a role were killed so far.
func (tr *troupe) killed(role string) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.kills[role]
}

// strike kills workers, and now and then the server.
func (tr *troupe) strike(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%4 == 0 {
			tr.kill("serve")
		} else {
			tr.kill("work")
		}
	}
}

// call sends a request until it is answered. 5xx other than the full queue's is a broken promise.
func (w *witness) call(ctx context.Context, method, url, body, key, known string) (*http.Response, []byte) {
	for {
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			w.t.Error(err)
			return nil, nil
		}
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Idempotency-Key", strconv.Quote(key))
		}
		if known != "" {
			r.Header.Set("If-None-Match", known)
		}
		res, err := w.http.Do(r)
		var data []byte
		if err == nil {
			data, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err != nil:
			w.broken.Add(1)
			pause(20 * time.Millisecond)
			continue
		case res.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(data), "queue_full"):
			w.full.Add(1)
			pause(100 * time.Millisecond)
			continue
		case res.StatusCode >= 500:
			w.t.Errorf("%s %s: %d %s", method, url, res.StatusCode, data)
			return nil, nil
		}
		return res, data
	}
}

// one submits, now and then twice, and follows the task to its end.
func (w *witness) one(ctx context.Context, n int) {
	key, body := fmt.Sprint("key-", n), fmt.Sprintf(`{"item":"n","count":%d}`, n)
	location := ""
	for range 1 + n%10/9 {
		res, data := w.call(ctx, "POST", w.base+"/echoes", body, key, "")
		if res == nil {
			return
		}
		next := res.Header.Get("Location")
		if res.StatusCode != http.StatusAccepted || location != "" && next != location {
			w.t.Errorf("%s: %d %s at %q, want 202 at %q", key, res.StatusCode, data, next, location)
			return
		}
		location = next
	}
	w.accepted.Add(1)
	w.mu.Lock()
	w.ids[key] = location
	w.mu.Unlock()
	w.follow(ctx, n, w.base+location)
}

// follow looks at a task until it has ended, and checks that each look is no step back.
func (w *witness) follow(ctx context.Context, n int, url string) {
	var last endpoint.Document
	etag := ""
	for !last.Status.Ended() {
		res, data := w.call(ctx, "GET", url+"?wait=20s", "", "", etag)
		if res == nil {
			return
		}
		if res.StatusCode == http.StatusNotModified {
			continue
		}
		var d endpoint.Document
		if err := json.Unmarshal(data, &d); err != nil || res.StatusCode != http.StatusOK {
			w.t.Errorf("%s: %d %s %v", url, res.StatusCode, data, err)
			return
		}
		version, err := strconv.ParseInt(strings.Trim(res.Header.Get("ETag"), `"`), 36, 64)
		before, _ := strconv.ParseInt(strings.Trim(etag, `"`), 36, 64)
		if err != nil || version <= before || d.Attempt < last.Attempt || d.UpdatedAt.Before(last.UpdatedAt) {
			w.t.Errorf("%s: after %+v (%s) came %s (%s)", url, last, etag, data, res.Header.Get("ETag"))
		}
		last, etag = d, res.Header.Get("ETag")
	}
	w.check(n, &last)
}

// check judges how a task has ended. One that was struck again and again while it ran alone is given up, and says so.
func (w *witness) check(n int, d *endpoint.Document) {
	switch want := fmt.Sprintf(`{"item":"n","count":%d}`, n); {
	case d.Status == endpoint.Failed && d.Error.Code == "crashed":
		w.crashed.Add(1)
	case d.Status != endpoint.Completed || string(d.Result) != want:
		w.t.Errorf("task %s is %s with %s (%+v), want %s", d.ID, d.Status, d.Result, d.Error, want)
	}
}

// judge looks at everything once more, after the last kill.
func (w *witness) judge(submissions int) {
	if len(w.ids) != submissions || int(w.accepted.Load()) != submissions {
		w.t.Errorf("%d keys and %d submissions were accepted, want %d", len(w.ids), w.accepted.Load(), submissions)
	}
	tasks := map[string]string{}
	for key, location := range w.ids {
		if other, seen := tasks[location]; seen {
			w.t.Errorf("%s and %s were told the same task", key, other)
		}
		tasks[location] = key
		res, data := w.call(w.t.Context(), "GET", w.base+location, "", "", "")
		var d endpoint.Document
		if res == nil || json.Unmarshal(data, &d) != nil || !d.Status.Ended() {
			w.t.Errorf("%s at %s is %s, want it ended", key, location, data)
		}
	}
}
