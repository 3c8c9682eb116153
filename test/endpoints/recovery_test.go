package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// die takes a task as a worker would, and dies with it: its handle is closed without a word. It returns the fence it held.
func (p *place) die() store.Fence {
	p.Helper()
	st := p.open()
	worker := "dead:1:" + p.k.NewID().String()[24:]
	if err := st.Join(p.Context(), store.JoinRequest{ID: worker, Beat: time.Second, DeadAfter: 5 * time.Second}); err != nil {
		p.Fatal(err)
	}
	var fence store.Fence
	p.soon("a claim", func() bool {
		res, err := st.Claim(p.Context(), store.ClaimRequest{
			Worker: worker, Nonce: p.k.NewID(), Queues: []store.QueueSlots{{Queue: "default", Slots: 1}},
			Kinds: []string{"endpoint.orders", "endpoint.tries", "endpoint.gate"},
		})
		if err != nil {
			p.Fatal(err)
		}
		for _, t := range res.Tasks {
			fence = t.Fence()
		}
		return len(res.Tasks) > 0
	})
	if err := st.Close(); err != nil {
		p.Fatal(err)
	}
	return fence
}

// idle is what a process serves that recovers and works on nothing that the tests submit.
var idle = endpoint.Define("idle", func(context.Context, endpoint.Request[endpoint.None]) (endpoint.None, error) {
	return endpoint.None{}, nil
})

// watch starts a process that recovers and does nothing else. One that is older than the dead may vouch that a session is gone; where none
// is, silence must tell, and that is no crash.
func (p *place) watch(cfg kernel.Config) {
	p.Helper()
	joined := strings.Count(p.log.String(), "recovery started")
	p.work(idle.Serve, cfg)
	p.soon("a watcher", func() bool { return strings.Count(p.log.String(), "recovery started") > joined })
}

// AE-057, AE-058, AE-060, AE-102, AE-106: a worker dies in the middle; many look for the dead; another finishes; the API tells it;
// what the dead one says later is refused.
func TestATaskWhoseWorkerDiedIsFinishedByAnother(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/orders", `{"item":"tea","count":21}`).Header.Get("Location")
		var stats [3]endpoint.RecoveryStats
		for i := range stats {
			p.watch(kernel.Config{Observe: stats[i].Observe, RecoverEvery: 100 * time.Millisecond})
		}
		fence := p.die()
		if a := p.want(p.send("GET", location, ""), 200, "GET"); a.doc.Status != endpoint.InProgress {
			t.Errorf("it is %s, want InProgress: nobody knows yet", a.doc.Status)
		}
		p.work(Orders.Serve, kernel.Config{RecoverEvery: -1})
		d := p.ended(location, endpoint.Completed)
		if string(d.Result) != `{"text":"tea","sum":42}` || d.Attempt != 1 {
			t.Errorf("the status is %+v, want the result at the first attempt: a crash is none", d)
		}
		recovered := int64(0)
		for i := range stats {
			recovered += stats[i].Count().Recovered
		}
		if recovered != 1 {
			t.Errorf("three processes have recovered it %d times, want once", recovered)
		}
		p.soon("passes", func() bool { return stats[0].Count().Passes > 1 })
		if c := stats[0].Count(); c.LastAt.IsZero() || c.Took <= 0 || c.Last <= 0 {
			t.Errorf("the statistics are %+v, want durations and a time", c)
		}
		late, err := p.open().Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{{Fence: fence, Outcome: kernel.Done([]byte(`"late"`))}}})
		if err != nil || !errors.Is(late.Items[0].Err, store.ErrFenced) {
			t.Errorf("Complete of the dead = %+v, %v; want ErrFenced", late.Items, err)
		}
		if a := p.send("GET", location, ""); string(a.doc.Result) != `{"text":"tea","sum":42}` {
			t.Errorf("after that the result is %s", a.doc.Result)
		}
		for _, line := range []string{"recovery started", "worker declared dead", "task put back", "msg=recovered tasks=1"} {
			if !strings.Contains(p.log.String(), line) {
				t.Errorf("the log does not say %q", line)
			}
		}
	})
}

// AE-053, AE-054, AE-055: with CrashSpendsAttempt a crash is a failed attempt with its wait, up to the endpoint's own maximum.
func TestACrashCanSpendAnAttempt(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		recovery := endpoint.Recovery{MaximumRetries: 1, RetryDelayBase: 300 * time.Millisecond, CheckInterval: 100 * time.Millisecond}
		p.mux.Handle("POST /orders", Orders.Handler(p.k, recovery.Endpoint(endpoint.Config{Site: p.site})))
		location := p.accepted("/orders", `{}`).Header.Get("Location")
		p.watch(recovery.Kernel(kernel.Config{}))
		p.die()
		p.soon("the retry", func() bool { return p.send("GET", location, "").doc.Status == endpoint.Scheduled })
		d := p.send("GET", location, "").doc
		// A step may take its time between the instant that it counts from and the one that it notes.
		if wait := d.NextAttemptAt.Sub(d.UpdatedAt).Round(time.Millisecond); wait <= 300*time.Millisecond || wait > 600*time.Millisecond || d.Attempt != 2 || d.MaxAttempts != 2 {
			t.Errorf("the second of 2 attempts comes after %v (%+v), want 2^1 × 300 ms", wait, d)
		}
		p.die()
		d = p.ended(location, endpoint.Failed)
		if d.Error == nil || d.Attempt != 2 || d.CompletedAt.IsZero() {
			t.Errorf("the status is %+v, want it failed after the second crash, with error and time", d)
		}
	})
}

// AE-014, AE-015, AE-017, AE-026, AE-029: a failing function is tried again after 2^n × base, and in the end fails with its error.
func TestAFailedAttemptIsTriedAgainAfterItsWait(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		begun := make(chan time.Time, 10)
		tries := endpoint.Define("tries", func(ctx context.Context, in endpoint.Request[Order]) (endpoint.None, error) {
			begun <- time.Now()
			return endpoint.None{}, fmt.Errorf("attempt %d: no", endpoint.From(ctx).Attempt())
		})
		p.mux.Handle("POST /tries", tries.Handler(p.k, endpoint.Config{Site: p.site, MaxRetries: 2, RetryBase: 100 * time.Millisecond}))
		p.work(tries.Serve, kernel.Config{})
		location := p.accepted("/tries", `{}`).Header.Get("Location")
		d := p.ended(location, endpoint.Failed)
		if d.Error.Detail != "attempt 3: no" || d.Error.Status != 500 || d.Error.Code != "attempts" || d.Attempt != 3 || d.CompletedAt.IsZero() {
			t.Errorf("the status is %+v %+v, want the error of the third attempt", d, d.Error)
		}
		first, second, third := <-begun, <-begun, <-begun
		if a, b := second.Sub(first), third.Sub(second); a < 200*time.Millisecond || b < 400*time.Millisecond || a > 5*time.Second || b > 5*time.Second {
			t.Errorf("the attempts came after %v and %v, want 200 ms and 400 ms", a, b)
		}
		if a := p.want(p.send("GET", location+"/result", ""), 500, "the result"); a.fail.Detail != "attempt 3: no" {
			t.Errorf("the result is %s, want the problem", a.body)
		}
	})
}

// AE-107, AE-029: permanent errors and 4xx problems are not tried again; a panic shows nothing of itself.
func TestWhatCannotBeMendedIsNotTriedAgain(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		var runs atomic.Int64
		tries := endpoint.Define("tries", func(_ context.Context, in endpoint.Request[Order]) (endpoint.None, error) {
			runs.Add(1)
			switch in.Body.Item {
			case "permanent":
				return endpoint.None{}, endpoint.Permanent(errors.New("never"))
			case "problem":
				return endpoint.None{}, fmt.Errorf("wrapped: %w", &endpoint.Problem{
					Status: 409, Code: "taken", Title: "Taken", Detail: "by another", Type: "https://example.org/taken", More: map[string]any{"seat": "4A"},
				})
			case "busy":
				return endpoint.None{}, &endpoint.Problem{Status: 503, Code: "busy"}
			case "permanent problem":
				return endpoint.None{}, endpoint.Permanent(&endpoint.Problem{Status: 500, Code: "broken"})
			}
			panic("s3cret")
		})
		p.mux.Handle("POST /tries", tries.Handler(p.k, endpoint.Config{Site: p.site, MaxRetries: 1, RetryBase: time.Millisecond}))
		p.work(tries.Serve, kernel.Config{})
		for _, c := range []struct {
			item         string
			runs         int64
			status       int
			code, detail string
		}{
			{"permanent", 1, 500, "permanent", "never"},
			{"problem", 1, 409, "taken", "by another"},
			{"busy", 2, 503, "busy", ""},
			{"permanent problem", 1, 500, "broken", ""},
			{"panic", 2, 500, "panic", "the program failed"},
		} {
			runs.Store(0)
			location := p.accepted("/tries", `{"item":"`+c.item+`"}`).Header.Get("Location")
			d := p.ended(location, endpoint.Failed)
			if runs.Load() != c.runs || d.Error.Status != c.status || d.Error.Code != c.code || d.Error.Detail != c.detail {
				t.Errorf("%s: %d runs, %+v; want %d, %d %s %q", c.item, runs.Load(), d.Error, c.runs, c.status, c.code, c.detail)
			}
			a := p.want(p.send("GET", location+"/result", ""), c.status, c.item)
			if a.fail.Code != c.code || strings.Contains(a.body, "s3cret") || strings.Contains(a.body, ".go:") {
				t.Errorf("%s: the result is %s, want the problem and no more", c.item, a.body)
			}
			if c.item == "problem" && (a.fail.Type != "https://example.org/taken" || a.fail.More["seat"] != "4A" || a.fail.Title != "Taken") {
				t.Errorf("the problem is %s, want it whole", a.body)
			}
		}
	})
}

// AE-052, FT-14: the job timeout is that of an attempt: it ends a run that hangs, and takes the task from one that is stuck.
func TestARunThatTakesTooLongIsEnded(t *testing.T) {
	everywhere(t, setup{timing: store.Timing{StuckGrace: 200 * time.Millisecond}}, func(t *testing.T, p *place) {
		release := make(chan struct{})
		tries := endpoint.Define("tries", func(ctx context.Context, in endpoint.Request[Order]) (string, error) {
			if endpoint.From(ctx).Attempt() > 1 {
				return "second", nil
			}
			if in.Body.Item == "stuck" {
				<-release // heeds nothing
				return "late", nil
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		recovery := endpoint.Recovery{JobTimeout: 300 * time.Millisecond, RetryDelayBase: time.Millisecond, CheckInterval: 100 * time.Millisecond}
		p.mux.Handle("POST /tries", tries.Handler(p.k, recovery.Endpoint(endpoint.Config{Site: p.site})))
		p.work(tries.Serve, recovery.Kernel(kernel.Config{}))
		p.Cleanup(func() { close(release) })
		for _, item := range []string{"hangs", "stuck"} {
			d := p.ended(p.accepted("/tries", `{"item":"`+item+`"}`).Header.Get("Location"), endpoint.Completed)
			if string(d.Result) != `"second"` || d.Attempt != 2 {
				t.Errorf("%s: the status is %+v, want the second attempt's result", item, d)
			}
		}
	})
}

// AE-050: recovery that is switched off leaves the task where it is; AE-056, AE-100: what runs in time, or long and alive, is left alone.
func TestWhatLivesIsLeftAlone(t *testing.T) {
	alone(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		p.work(g.Serve, endpoint.Recovery{Disabled: true}.Kernel(kernel.Config{Beat: 300 * time.Millisecond, DeadAfter: 3 * time.Second}))
		orphan := p.accepted("/gate", `{}`)
		g.arrive(p)
		second := p.accepted("/gate", `{}`)
		g.arrive(p)
		for range 3 {
			p.work(Orders.Serve, kernel.Config{RecoverEvery: 50 * time.Millisecond})
		}
		p.want(p.send("GET", orphan.Header.Get("Location")+"?wait=7s", ""), 200, "more than twice dead-after")
		for _, a := range []*answer{orphan, second} {
			if d := p.send("GET", a.Header.Get("Location"), "").doc; d.Status != endpoint.InProgress {
				t.Errorf("it is %s, want InProgress", d.Status)
			}
		}
		close(g.open)
		p.ended(orphan.Header.Get("Location"), endpoint.Completed)
		if n := len(g.entered); n != 0 {
			t.Errorf("%d further runs have begun, want none", n)
		}
	})
}

// AE-050, AE-051: switched off, nothing is put back; a store that does not outlive its process says so.
func TestRecoveryCanBeSwitchedOff(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/orders", `{}`).Header.Get("Location")
		p.die()
		stop := p.work(Orders.Serve, endpoint.Recovery{Disabled: true}.Kernel(kernel.Config{}))
		p.want(p.send("GET", location+"?wait=2s", ""), 200, "GET")
		if d := p.send("GET", location, "").doc; d.Status != endpoint.InProgress {
			t.Errorf("it is %s, want InProgress: nobody looks for the dead", d.Status)
		}
		stop()
		p.work(Orders.Serve, kernel.Config{})
		p.ended(location, endpoint.Completed)
		volatile := strings.Contains(p.log.String(), "does not outlive this process")
		if volatile != p.k.Store().Volatile {
			t.Errorf("the log says that nothing survives: %v; want %v", volatile, p.k.Store().Volatile)
		}
	})
}

// AE-102, FT-17: a worker that stops gives back what it cannot finish, and another finishes it, at the same attempt.
func TestShutdownGivesEverythingBack(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		stop := p.work(g.Serve, kernel.Config{ShutdownTimeout: -1})
		location := p.accepted("/gate", `{}`).Header.Get("Location")
		g.arrive(p)
		stop()
		if d := p.send("GET", location, "").doc; d.Status != endpoint.Queued || d.Attempt != 1 {
			t.Errorf("it is %s at attempt %d, want Queued at 1", d.Status, d.Attempt)
		}
		close(g.open)
		p.work(g.Serve, kernel.Config{})
		if d := p.ended(location, endpoint.Completed); d.Attempt != 1 {
			t.Errorf("it was completed at attempt %d, want 1", d.Attempt)
		}
	})
}
