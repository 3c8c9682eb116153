package call_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// PH-001: every setting has its stated default.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := call.NewClient(call.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Settings()
	for name, want := range map[string]string{
		"Queue": "calls", "CallbackQueue": "callbacks", "Timeouts": "{Connect:10s TLS:10s Send:0s FirstByte:0s Idle:1m0s Total:1m0s}",
		"Retry": "{Max:5 Base:1s Factor:2 Cap:5m0s CrashSpends:false Exact:false}", "MaxRetryAfter": "1h0m0s", "OnUnknown": "auto",
		"MaxRedirects": "5", "UserAgent": "outlast", "MaxResponse": "1048576", "MaxHeader": "65536", "MaxSpill": "0",
		"Proxy": "none", "TLS": "default", "Transport": "default", "HTTP2": "on", "MaxConnsPerHost": "0", "MaxDials": "256", "MaxDialsPerHost": "64", "Guard": "off",
		"Breaker": "{Failures:10 OpenFor:10s MaxOpen:5m0s Probes:1}", "Signers": "0", "Inline": "false",
	} {
		if got[name] != want {
			t.Errorf("%s = %s, want %s", name, got[name], want)
		}
	}
}

// PH-006: settings are shown without what is secret.
func TestSettingsShowNoSecrets(t *testing.T) {
	t.Parallel()
	c, err := call.NewClient(call.ClientConfig{
		Proxy: "http://user:hidden@proxy.test:3128", Signers: map[string][]string{"s": {oldSecret}}, Guard: &call.Guard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(c.Settings())
	if strings.Contains(text, "hidden") || strings.Contains(text, "MfKQ") || !strings.Contains(text, "proxy.test:3128") || !strings.Contains(text, "Guard:on") {
		t.Errorf("settings are shown as %s", text)
	}
}

// PH-011: a parsed URL gives its text.
func TestAParsedURLServesAsWell(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	u, err := url.Parse(s.URL + "/a b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	if r := begin(t, setup{}).answer(call.Request{URL: u.String()}, call.Options{}); r.Header.Get("X-Path") != "/a b" || r.Header.Get("X-Query") != "c=d" {
		t.Errorf("sent as %v", r.Header)
	}
}

// PH-019, PH-045, PH-052, R001-9: requests and answers survive being stored and read by another process, which knows nothing of the first.
func TestWhatIsStoredIsReadElsewhere(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	idle := begin(t, setup{idle: true})
	h := idle.start(call.Request{
		Method: "PUT", URL: s.URL + "/p", Header: map[string][]string{"X-Own": {"a", "b"}}, Timeouts: call.Timeouts{Total: 5 * time.Second},
	}, call.Options{Args: map[string]any{"n": nil, "t": true, "f": 1.5, "l": []any{"a", map[string]any{"k": "v"}}}})
	w := begin(t, setup{store: idle.st})
	r := w.next().r
	if r == nil || len(r.Body) != 0 || r.Size != 0 || string(r.Args) != `{"f":1.5,"l":["a",{"k":"v"}],"n":null,"t":true}` {
		t.Fatalf("%+v", r)
	}
	again, err := idle.call.Handle(idle.k, h.ID()).Wait(t.Context())
	if err != nil || again.Status != r.Status || again.URL != r.URL || again.Method != "PUT" || string(again.Args) != string(r.Args) || again.Duration != r.Duration {
		t.Errorf("read again as %+v, %v", again, err)
	}
}

// PH-140, (encryptor): with a sealer nothing of a call is stored in clear, and callbacks see all of it.
func TestACallIsSealed(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	st := memory.New(memory.Config{})
	w := begin(t, setup{store: st, kernel: kernel.Config{Sealer: flip{}, Slots: map[string]int{"calls": 5, "callbacks": 5}}})
	r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: []byte("hidden body")}, call.Options{Args: "hidden args"})
	if string(r.Body) != "hidden body" || string(r.Args) != `"hidden args"` {
		t.Errorf("told %q, %s", r.Body, r.Args)
	}
	if again, err := w.call.Handle(w.k, r.ID).Wait(t.Context()); err != nil || string(again.Body) != "hidden body" || string(again.Args) != `"hidden args"` {
		t.Errorf("Wait = %+v, %v", again, err)
	}
	if err := st.Export(context.Background(), func(e store.Entry) error {
		if strings.Contains(dump(e), "hidden") {
			t.Errorf("stored in clear: %s", dump(e))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	big := w.answer(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 1<<19)}, call.Options{})
	if len(big.Body) != 1<<19 {
		t.Errorf("a large body came back as %d bytes", len(big.Body))
	}
}

// (default_timeout), PH-033, PH-063: the request's time wins over the template's, and that over the client's.
func TestTheNearestTimeoutWins(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{
		idle: true, client: call.ClientConfig{Timeouts: call.Timeouts{Total: 30 * time.Second}},
		config: call.Config{Template: call.Template{BaseURL: "http://h.test", Timeouts: call.Timeouts{Total: 20 * time.Second}}},
	})
	plain := begin(t, setup{idle: true, client: call.ClientConfig{Timeouts: call.Timeouts{Total: 30 * time.Second}}})
	for name, c := range map[string]struct {
		h    *call.Handle
		k    *kernel.Kernel
		want time.Duration
	}{
		"request":  {w.start(call.Request{Timeouts: call.Timeouts{Total: 10 * time.Second}}, call.Options{}), w.k, 40 * time.Second},
		"template": {w.start(call.Request{}, call.Options{}), w.k, 50 * time.Second},
		"client":   {plain.start(call.Request{URL: "http://h.test"}, call.Options{}), plain.k, time.Minute},
		"none":     {plain.start(call.Request{URL: "http://h.test", Timeouts: call.Timeouts{Total: call.NoTimeout}}, call.Options{}), plain.k, 0},
	} {
		task, err := c.k.Get(t.Context(), c.h.ID())
		if err != nil || task.Timeout != c.want { // thirty seconds more than the request gives itself
			t.Errorf("%s: the attempt may take %v, %v; want %v", name, task.Timeout, err, c.want)
		}
	}
}

// (shutdown_timeout, heartbeat_interval, orphan_threshold): the seeds' values are settings of the kernel, and calls run under them.
func TestTheSeedsTimesAreTheKernels(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	w := begin(t, setup{kernel: kernel.Config{
		Beat: 60 * time.Second, DeadAfter: 300 * time.Second, ShutdownTimeout: 23 * time.Second, Slots: map[string]int{"calls": 256, "callbacks": 5},
	}})
	w.answer(call.Request{URL: s.URL}, call.Options{})
	if got := w.client.Stats(w.k).Capacity; got != 256 {
		t.Errorf("capacity %d, want 256 (max_connections)", got)
	}
	kerneltest.Drain(t, w.k)
}
