package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func TestTasksArePushedToAnEndpoint(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, name := range []string{api.HeaderTask, api.HeaderFence, api.HeaderDeadline, "Idempotency-Key", "Webhook-Signature"} {
			if r.Header.Get(name) == "" {
				t.Errorf("the delivery has no %s", name)
			}
		}
		switch {
		case strings.Contains(string(body), "bad"):
			w.WriteHeader(http.StatusUnprocessableEntity)
		case strings.Contains(string(body), "busy") && tries.Add(1) < 3:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(string(body), "later") && tries.Add(1) < 100:
			w.Header().Set("Retry-After", "3000")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprintf(w, `{"got":%s,"run":%s}`, body, r.Header.Get(api.HeaderAttempt))
		}
	}))
	defer web.Close()
	p := begin(t, setup{serve: func(k *kernel.Kernel) {
		if _, err := api.NewPush(t.Context(), k, map[string]string{"mail": web.URL}, api.PushConfig{Secrets: []string{secretText}}); err != nil {
			t.Fatal(err)
		}
	}})
	send := func(args string) kernel.ID {
		one, err := p.k.Submit(t.Context(), kernel.Spec{Kind: "mail", Args: []byte(args), Retry: kernel.Retry{Max: 5, Base: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		return one.ID
	}
	if got := kerneltest.Wait(t, p.k, send(`"good"`), store.Done); string(got.Result) != `{"got":"good","run":1}` {
		t.Errorf("result = %s", got.Result)
	}
	if got := kerneltest.Wait(t, p.k, send(`"busy"`), store.Done); got.Attempts != 2 || string(got.Result) != `{"got":"busy","run":3}` {
		t.Errorf("result = %s after %d attempts, want the third one's", got.Result, got.Attempts)
	}
	if got := kerneltest.Wait(t, p.k, send(`"bad"`), store.Failed); got.Attempts != 1 || got.Error.Type != "http" {
		t.Errorf("failed = %+v after %d attempts, want at once", got.Error, got.Attempts)
	}
	later := send(`"later"`)
	got, err := p.k.WaitFor(t.Context(), later, func(t *kernel.Task) bool { return t.State == store.Scheduled })
	if wait := got.DueAt.Sub(got.UpdatedAt); err != nil || wait < 40*time.Minute {
		t.Errorf("due %v after the answer, %v; want what the endpoint asked for", wait, err)
	}
}

// The guard is asked before anything is delivered, and at set-up.
func TestAPushToAForbiddenAddressIsRefused(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	if _, err := api.NewPush(t.Context(), k, map[string]string{"mail": "http://127.0.0.1:9/"}, api.PushConfig{Client: call.ClientConfig{Guard: &call.Guard{}}}); err == nil {
		t.Error("an endpoint on loopback was taken in spite of the guard")
	}
}

// An endpoint that answers 202 completes the task when it is through, under the fence that it was given.
func TestAnEndpointMayCompleteLater(t *testing.T) {
	t.Parallel()
	given := make(chan http.Header, 9)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given <- r.Header
		w.WriteHeader(http.StatusAccepted)
	}))
	defer web.Close()
	p := begin(t, setup{serve: func(k *kernel.Kernel) {
		if _, err := api.NewPush(t.Context(), k, map[string]string{"slow": web.URL}, api.PushConfig{Silence: time.Second}); err != nil {
			t.Fatal(err)
		}
	}})
	send := func() kernel.ID {
		one, err := p.k.Submit(t.Context(), kernel.Spec{Kind: "slow", Args: []byte("1"), Retry: kernel.Retry{Max: 5, Base: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		return one.ID
	}
	for verdict, end := range map[string]struct {
		body m
		want store.State
	}{
		"done":   {m{"result": m{"sum": 7}}, store.Done},
		"fail":   {m{"message": "no such thing"}, store.Failed},
		"cancel": {m{"reason": "not needed"}, store.Cancelled},
	} {
		id := send()
		h := <-given
		if h.Get(api.HeaderSilence) != "1" {
			t.Errorf("%s = %q", api.HeaderSilence, h.Get(api.HeaderSilence))
		}
		// Who says something now and then is waited for, longer than silence would be.
		for range map[string]int{"done": 5}[verdict] {
			<-time.After(300 * time.Millisecond)
			p.do(200, "POST /v1/tasks/{id}/save", m{"fence": h.Get(api.HeaderFence)}, nil, id)
		}
		end.body["fence"], end.body["verdict"] = h.Get(api.HeaderFence), verdict
		p.do(200, "POST /v1/tasks/{id}/complete", end.body, nil, id)
		if got := kerneltest.Wait(t, p.k, id, end.want); got.Epoch != 1 {
			t.Errorf("%s: it was delivered %d times, want once", verdict, got.Epoch)
		}
	}
	// Silence decides: it is delivered again, and who comes back late is refused.
	id := send()
	first := <-given
	second := <-given
	if first.Get(api.HeaderFence) == second.Get(api.HeaderFence) || second.Get(api.HeaderAttempt) != "2" {
		t.Errorf("the second delivery is attempt %s", second.Get(api.HeaderAttempt))
	}
	p.refused(409, "fenced", "POST /v1/tasks/{id}/complete", m{"fence": first.Get(api.HeaderFence), "verdict": "done"}, id)
	p.do(200, "POST /v1/tasks/{id}/complete", m{"fence": second.Get(api.HeaderFence), "verdict": "done", "result": 2}, nil, id)
	if got := kerneltest.Wait(t, p.k, id, store.Done); string(got.Result) != "2" || got.Attempts != 1 {
		t.Errorf("result = %s after %d failed attempts", got.Result, got.Attempts)
	}
}
