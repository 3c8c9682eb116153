package api_test

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
)

// The timeouts of the server, which are for slow clients, do not cut off those who wait.
func TestAServersTimeoutsDoNotCutOffWaiters(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{timeout: 200 * time.Millisecond})
	var w api.Joined
	p.do(201, "POST /v1/workers", m{}, &w)
	begun := time.Now()
	var got api.Claimed
	p.do(200, "POST /v1/workers/{worker}/claim", m{"queues": m{"q": 1}, "kinds": []string{"k"}, "wait": 1}, &got, w.Worker)
	if len(got.Tasks) != 0 || time.Since(begun) < time.Second {
		t.Errorf("Claim = %+v after %v, want nothing after all of the wait", got, time.Since(begun))
	}
	var one api.Submitted
	p.do(201, "POST /v1/tasks", m{"kind": "k", "queue": "q"}, &one)
	var task api.Task
	p.do(200, "GET /v1/tasks/{id}?wait=1s", nil, &task, one.ID)
	if task.State != "ready" || time.Since(begun) < 2*time.Second {
		t.Errorf("Get = %+v after %v, want it ready after all of the wait", task, time.Since(begun))
	}
}
