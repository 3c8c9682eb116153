package call_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// D-2, PH-142: whichever road a request ends by, its callback comes, once.
func TestACallbackComesOnEveryRoad(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for name, road := range map[string]func(*testing.T, *httptest.Server, *seen){
		"cancelled while it waits": roadCancelledWhileItWaits,
		"cancelled in flight":      roadCancelledInFlight,
		"expired":                  roadExpired,
		"unreadable":               roadUnreadable,
		"corrupt":                  roadCorrupt,
		"deleted":                  roadDeleted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got seen
			road(t, server(t, func(_ http.ResponseWriter, r *http.Request) {
				got.add(r)
				select {
				case <-hold:
				case <-r.Context().Done():
				}
			}), &got)
		})
	}
}

func roadCancelledWhileItWaits(t *testing.T, s *httptest.Server, _ *seen) {
	w := begin(t, setup{})
	h := w.start(call.Request{URL: s.URL, Method: "POST"}, call.Options{Delay: time.Hour, Args: "a"})
	if err := h.Cancel(t.Context(), "not needed"); err != nil {
		t.Fatal(err)
	}
	e := w.next().e
	if e == nil || e.Type != call.TypeCancelled || e.Reason != "not needed" || e.MaySent || e.URL != s.URL || e.Method != "POST" || string(e.Args) != `"a"` {
		t.Errorf("%+v, want cancelled", e)
	}
	if _, err := h.Wait(t.Context()); !errors.As(err, &e) || e.Type != call.TypeCancelled {
		t.Errorf("Wait = %v", err)
	}
	w.quiet(50 * time.Millisecond)
}

func roadCancelledInFlight(t *testing.T, s *httptest.Server, got *seen) {
	w := begin(t, setup{})
	h := w.start(call.Request{URL: s.URL + "/flight"}, call.Options{})
	until(t, "it is in flight", func() bool { return w.client.Stats(w.k).InFlight == 1 && got.count() > 0 })
	if err := h.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if e := w.next().e; e == nil || e.Type != call.TypeCancelled || !e.MaySent || e.Reason != "cancelled" {
		t.Errorf("%+v, want cancelled", e)
	}
	if s := w.client.Stats(w.k); s.InFlight != 0 || s.Released != 1 || s.Requests != 0 {
		t.Errorf("%+v, want one given up", s)
	}
}

func roadExpired(t *testing.T, s *httptest.Server, _ *seen) {
	w := begin(t, setup{kernel: kernel.Config{Slots: map[string]int{"callbacks": 1}}}) // nobody sends
	w.start(call.Request{URL: s.URL}, call.Options{StartBy: 20 * time.Millisecond})
	if e := w.next().e; e == nil || e.Type != call.TypeExpired || e.MaySent {
		t.Errorf("%+v, want expired", e)
	}
}

func roadUnreadable(t *testing.T, _ *httptest.Server, _ *seen) {
	w := begin(t, setup{})
	sub, err := w.k.Submit(t.Context(), kernel.Spec{
		Kind: "call.send", Queue: "calls", Args: []byte("no record of a call"),
		OnEnd: &kernel.Spec{Kind: "call.callback.test", Queue: "callbacks", Args: []byte(`{"method":"GET","url":"http://x"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if e := w.next().e; e == nil || e.Type != call.TypeInvalid || e.ID != sub.ID || e.URL != "http://x" {
		t.Errorf("%+v, want invalid", e)
	}
}

func roadCorrupt(t *testing.T, s *httptest.Server, _ *seen) {
	st := memory.New(memory.Config{})
	idle := begin(t, setup{store: st, idle: true})
	h := idle.start(call.Request{URL: s.URL}, call.Options{Args: 5})
	st.Corrupt(h.ID())
	w := begin(t, setup{store: st})
	if e := w.next().e; e == nil || e.Type != call.TypeInvalid || e.Reason != "corrupt" || e.ID != h.ID() || string(e.Args) != "5" {
		t.Errorf("%+v, want invalid", e)
	}
}

func roadDeleted(t *testing.T, _ *httptest.Server, _ *seen) {
	w := begin(t, setup{kernel: kernel.Config{Slots: map[string]int{"calls": 5}}}) // nobody calls back yet
	h := w.start(call.Request{URL: "http://127.0.0.1:1"}, call.Options{Args: 3, Retry: kernel.Retry{Max: 1}})
	kerneltest.Wait(t, w.k, h.ID(), store.Failed)
	if err := w.k.Delete(t.Context(), h.ID()); err != nil {
		t.Fatal(err)
	}
	w2 := begin(t, setup{store: w.st})
	if e := w2.next().e; e == nil || e.Type != call.TypeUnknown || e.ID != h.ID() || string(e.Args) != "3" {
		t.Errorf("%+v, want unknown", e)
	}
}

// A request that kills its processes ends as crashed, and its callback comes.
func TestACrashedRequestCallsBack(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Config{})
	w := begin(t, setup{store: st, kernel: kernel.Config{Slots: map[string]int{"callbacks": 1}}})
	h := w.start(call.Request{URL: "http://127.0.0.1:1"}, call.Options{Args: 1})
	for range 3 {
		dieWith(t, st, h.ID())
	}
	if e := w.next().e; e == nil || e.Type != call.TypeCrashed || e.Crashes != 3 || !e.MaySent || string(e.Args) != "1" {
		t.Errorf("%+v, want crashed", e)
	}
}

// dieWith lets a worker claim a task, and its process die.
func dieWith(t *testing.T, st *memory.Store, id kernel.ID) {
	t.Helper()
	ctx := t.Context()
	victim, name := st.Process(), "victim:"+randomText()
	if err := victim.Join(ctx, store.JoinRequest{ID: name, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
	for _, suspects := range []int{0, 1} {
		var nonce kernel.ID
		copy(nonce[:], randomText())
		_, err := victim.Claim(ctx, store.ClaimRequest{
			Worker: name, Nonce: nonce, Queues: []store.QueueSlots{{Queue: "calls", Slots: 1}}, Kinds: []string{"call.send"}, Suspects: suspects,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	task, err := st.Get(ctx, id)
	if err != nil || task.Worker != name {
		t.Fatalf("the task belongs to %q, want the victim", task.Worker)
	}
	victim.Crash()
	until(t, "it is put back", func() bool {
		if _, err := st.Recover(ctx, store.RecoverRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		task, err := st.Get(ctx, id)
		return err == nil && task.State != store.Running
	})
}

// PH-106: a callback that fails is tried again, by its own policy, and finds the answer each time.
func TestACallbackHasItsOwnRetries(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	var mu sync.Mutex
	var bodies []string
	failing := &call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error {
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, string(r.Body))
			switch len(bodies) {
			case 1:
				return errors.New("not now")
			case 2:
				panic("nor now")
			}
			return nil
		},
		OnError: func(context.Context, *call.Error) error { return errors.New("never") },
	}
	w := begin(t, setup{cb: failing, config: call.Config{CallbackRetry: quick, Retention: call.Forget}})
	h := w.start(call.Request{Method: "POST", URL: s.URL, Body: []byte("b")}, call.Options{})
	if err := h.WaitCallback(t.Context()); err != nil {
		t.Fatalf("WaitCallback = %v", err)
	}
	if got := strings.Join(bodies, ","); got != "b,b,b" {
		t.Errorf("the callback saw %s, want the answer three times", got)
	}
	// Nobody needs it any more, and it was to be forgotten.
	if _, err := h.Wait(t.Context()); !errors.Is(err, call.ErrForgotten) {
		t.Errorf("Wait = %v, want ErrForgotten", err)
	}
	bad := w.start(call.Request{URL: "http://127.0.0.1:1"}, call.Options{Retry: kernel.Retry{Max: 1}})
	if err := bad.WaitCallback(t.Context()); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("WaitCallback = %v, want what the callback said", err)
	}
	if status, err := bad.Status(t.Context()); err != nil || status.State != store.Failed || status.ErrorType != call.TypeConnect || status.Attempts != 1 {
		t.Errorf("the request stands as %+v, %v; want failed, whatever its callback does", status, err)
	}
}

// A request that was retried by hand before it was told of is told of once; one that was told of is told of again.
func TestARetriedRequestIsToldOfOncePerRound(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	s := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if !open.Load() {
			w.WriteHeader(404)
		}
	})
	w := begin(t, setup{config: call.Config{FailOnStatus: true}, kernel: kernel.Config{Slots: map[string]int{"calls": 5}}})
	h := w.start(call.Request{URL: s.URL}, call.Options{})
	kerneltest.Wait(t, w.k, h.ID(), store.Failed)
	open.Store(true)
	if err := w.k.Retry(t.Context(), h.ID()); err != nil {
		t.Fatal(err)
	}
	kerneltest.Wait(t, w.k, h.ID(), store.Done)
	w2 := begin(t, setup{store: w.st})
	if got := w2.next(); got.r == nil || got.r.Status != 200 {
		t.Errorf("told %+v, want the answer of the second round", got)
	}
	until(t, "both callbacks have ended", func() bool {
		done := 0
		for _, task := range kerneltest.Tasks(t, w2.k, "call.callback.test") {
			if task.State == store.Done && task.Attempts == 0 {
				done++
			}
		}
		return done == 2
	})
	w2.quiet(50 * time.Millisecond)
}

// PH-143: the hooks run before the callback, in their order, and one that fails keeps the callback waiting.
func TestHooksRunBeforeTheCallback(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	var mu sync.Mutex
	var order []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, text)
	}
	var failed atomic.Bool
	client := call.ClientConfig{
		BeforeComplete: []func(context.Context, *call.Response) error{
			func(_ context.Context, r *call.Response) error { note("first"); return nil },
			func(context.Context, *call.Response) error {
				note("second")
				if failed.CompareAndSwap(false, true) {
					return errors.New("not yet")
				}
				return nil
			},
		},
		BeforeError: []func(context.Context, *call.Error) error{func(_ context.Context, e *call.Error) error { note(string(e.Type)); return nil }},
	}
	cb := &call.Callback{
		OnComplete: func(context.Context, *call.Response) error { note("callback"); return nil },
		OnError:    func(context.Context, *call.Error) error { note("error"); return nil },
	}
	w := begin(t, setup{client: client, cb: cb, config: call.Config{CallbackRetry: quick}})
	for _, url := range []string{s.URL, "http://127.0.0.1:1"} {
		if err := w.start(call.Request{URL: url}, call.Options{Retry: kernel.Retry{Max: 1}}).WaitCallback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(order, " "), "first second first second callback connect error"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// (request_queue, callback_queue): each waits in its own queue, and a process serves what its slots name.
func TestQueuesAreConfiguredApart(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	client := call.ClientConfig{Queue: "http_requests", CallbackQueue: "answers"}
	w := begin(t, setup{client: client, kernel: kernel.Config{Slots: map[string]int{"http_requests": 1}}})
	h := w.start(call.Request{URL: s.URL}, call.Options{})
	kerneltest.Wait(t, w.k, h.ID(), store.Done)
	w.quiet(50 * time.Millisecond)
	back := kerneltest.Submitted(t, w.k, "call.callback.test")[0]
	if task, err := w.k.Get(t.Context(), h.ID()); err != nil || task.Queue != "http_requests" || back.Queue != "answers" || back.State != store.Ready {
		t.Errorf("queues %s and %s, %v", task.Queue, back.Queue, err)
	}
	w2 := begin(t, setup{store: w.st, client: client, kernel: kernel.Config{Slots: map[string]int{"answers": 1}}})
	if w2.next().r == nil {
		t.Error("no answer")
	}
}

// PH-093, PH-094, PH-107, PH-108, PH-109, FT-17: what ends within the time is delivered, the rest is given back and ends elsewhere.
func TestAStoppingProcessDeliversWhatItCan(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	var got seen
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		got.add(r)
		wait := slow
		if r.URL.Path == "/fast" {
			wait = make(chan struct{})
			timer := time.AfterFunc(300*time.Millisecond, func() { close(wait) })
			defer timer.Stop()
		}
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	})
	w := begin(t, setup{kernel: kernel.Config{ShutdownTimeout: time.Second, Slots: map[string]int{"calls": 50, "callbacks": 5}}})
	for range 10 {
		w.start(call.Request{URL: s.URL + "/fast"}, call.Options{})
		w.start(call.Request{URL: s.URL + "/slow"}, call.Options{})
	}
	until(t, "all are in flight", func() bool { return got.count() == 20 })
	begun := time.Now()
	if err := w.stop(); err != nil {
		t.Errorf("Run = %v", err)
	}
	if took := time.Since(begun); took < 900*time.Millisecond || took > 30*time.Second {
		t.Errorf("stopping took %v, want the shutdown timeout", took)
	}
	done, ready := 0, 0
	for _, task := range kerneltest.Tasks(t, w.k, "call.send") {
		switch task.State {
		case store.Done:
			done++
		case store.Ready:
			ready++
			if task.Attempts != 0 || task.Crashes != 0 {
				t.Errorf("a request that was given back was charged %d attempts, %d crashes", task.Attempts, task.Crashes)
			}
		}
	}
	if done != 10 || ready != 10 {
		t.Errorf("%d are done, %d given back; want 10 and 10", done, ready)
	}
	close(slow)
	w2 := begin(t, setup{store: w.st})
	for i := len(w.told); i < 20; i++ {
		if w2.next().r == nil {
			t.Error("a request failed")
		}
	}
	w2.quiet(100 * time.Millisecond)
}
