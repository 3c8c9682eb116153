package workers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A daemon that was told of a collector sends it a span for each run, and what /metrics tells.
func TestTheDaemonSendsTelemetry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{} // by path
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/deliver") {
			_, _ = io.WriteString(w, `"ok"`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] += string(body)
	}))
	defer collector.Close()
	p := begin(t, engines["sqlite"](t), "--otlp-endpoint", collector.URL, "--push", "mail="+collector.URL+"/deliver", "--no-guard")
	id := p.submit("mail", 1, 0)[0]
	until(t, "the end of the task", func() bool { return p.task(id).State == "done" })
	p.daemon.signal(syscall.SIGTERM)
	<-p.daemon.done
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(got["/v1/traces"], id) || !strings.Contains(got["/v1/traces"], `"name":"mail"`) {
		t.Errorf("traces = %s, want the run of %s", got["/v1/traces"], id)
	}
	if !strings.Contains(got["/v1/metrics"], "outlast_events_total") || !strings.Contains(got["/v1/metrics"], `"isMonotonic":true`) {
		t.Errorf("metrics = %s", got["/v1/metrics"])
	}
}
