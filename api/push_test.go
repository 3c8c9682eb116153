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
		if _, err := api.NewPush(t.Context(), k, map[string]string{"mail": web.URL}, call.ClientConfig{}, secretText); err != nil {
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
	if _, err := api.NewPush(t.Context(), k, map[string]string{"mail": "http://127.0.0.1:9/"}, call.ClientConfig{Guard: &call.Guard{}}); err == nil {
		t.Error("an endpoint on loopback was taken in spite of the guard")
	}
}
