package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/internal/schema"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// The served document is true: real answers on all routes are as it says.
func TestEveryRouteAnswersAsDocumented(t *testing.T) {
	t.Parallel()
	var fail atomic.Bool
	fail.Store(true)
	p := begin(t, setup{serve: pricing(&fail).Serve, handles: map[string]kernel.Handler{"local": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
		return kernel.Done([]byte("\xff\x00")), nil
	}}})
	p.tasks()
	p.work()
	p.calls()
	p.groups()
	p.batches(&fail)
	p.settings()
	p.info()
	if out, err := judge(t, p.doc, p.exchanges); err != nil {
		t.Errorf("by the validator: %v\n%s", err, out)
	} else {
		t.Log(strings.TrimSpace(out))
	}
	paths, _ := p.doc["paths"].(map[string]any)
	for path, ops := range paths {
		for method := range ops.(map[string]any) {
			if !p.asked[method+" "+path] && !strings.HasPrefix(path, "/v1/sagas/") {
				t.Errorf("%s %s: no good answer of it was held against the document", method, path)
			}
		}
	}
}

func (p *place) tasks() {
	var one, two api.Submitted
	full := m{
		"kind": "away", "queue": "q", "lane": "l", "priority": 3, "args": m{"n": 1}, "delay": 0, "timeout": "5m", "labels": m{"a": "b"}, "correlation": "c",
		"retry": m{"max": 3, "base": "1s"}, "unique": m{"key": "u"}, "retention": "1h", "onEnd": m{"kind": "after", "queue": "q"},
	}
	p.do(201, "POST /v1/tasks", full, &one)
	if p.do(201, "POST /v1/tasks", full, &two); two.ID != one.ID || !two.Existed {
		p.Errorf("the same key again = %+v, want the task that stands", two)
	}
	var many api.Answers
	p.do(200, "POST /v1/tasks/batch", m{"tasks": []m{{"kind": "away", "queue": "q"}, {"kind": "not a name"}, {"kind": "local"}, {"kind": "away", "id": "x"}}}, &many)
	if len(many.Tasks) != 4 || many.Tasks[0].Error != "" || many.Tasks[1].Code != "invalid" || many.Tasks[3].Code != "invalid" {
		p.Errorf("batch = %+v, want the second and the last refused, alone", many.Tasks)
	}
	var task api.Task
	p.do(200, "GET /v1/tasks/{id}?wait=20", nil, &task, many.Tasks[2].ID)
	if task.State != "done" || string(task.ResultBase64) != "\xff\x00" || len(task.History) == 0 {
		p.Errorf("Get = %+v, want it done, with its result", task)
	}
	p.do(200, "GET /v1/tasks/{id}?wait=10ms", nil, &task, one.ID)
	if task.State != "ready" || string(task.Args) != `{"n":1}` {
		p.Errorf("Get = %+v, want it ready with its args", task)
	}
	var list api.Tasks
	p.do(200, "GET /v1/tasks?state=ready,running&kind=away&queue=q&label=a:b&after=2020-01-01T00:00:00Z&limit=1&oldest=true", nil, &list)
	if len(list.Tasks) != 1 || list.Tasks[0].ID != one.ID {
		p.Errorf("list = %+v, want the first task", list.Tasks)
	}
	if p.do(200, "GET /v1/tasks?kind=away&key=u", nil, &list); len(list.Tasks) != 1 || list.Tasks[0].Key != "u" {
		p.Errorf("list by key = %+v, want the task that has it", list.Tasks)
	}
	p.refused(422, "invalid", "GET /v1/tasks?key=u", nil)
	var state api.State
	p.do(200, "POST /v1/tasks/{id}/cancel", m{"reason": "why"}, &state, one.ID)
	p.do(200, "POST /v1/tasks/{id}/retry", m{}, &state, one.ID)
	if state.State != "ready" {
		p.Errorf("retry = %+v, want ready", state)
	}
	p.refused(409, "state", "POST /v1/tasks/{id}/retry", m{}, one.ID)
	p.refused(409, "state", "DELETE /v1/tasks/{id}", nil, one.ID)
	var ans api.BulkAnswer
	p.do(200, "POST /v1/tasks/bulk", m{"action": "cancel", "filter": m{"kinds": []string{"away"}}, "dryRun": true}, &ans)
	if ans.Matched != 2 || !ans.DryRun || len(ans.Sample) != 2 {
		p.Errorf("dry run = %+v, want 2", ans)
	}
	p.do(200, "GET /v1/tasks/{id}", nil, &task, one.ID)
	if task.State != "ready" {
		p.Errorf("after the dry run the task is %s", task.State)
	}
	p.do(200, "POST /v1/tasks/bulk", m{"action": "cancel", "filter": m{"kinds": []string{"away"}, "states": []string{"ready"}}}, &ans)
	if ans.Changed != 2 || len(ans.Failed) != 0 {
		p.Errorf("bulk = %+v, want 2", ans)
	}
	p.refused(422, "invalid", "POST /v1/tasks/bulk", m{"action": "delete", "filter": m{}})
	p.do(200, "GET /v1/tasks/{id}/events", nil, nil, one.ID)
	p.do(204, "DELETE /v1/tasks/{id}", nil, nil, one.ID)
	p.refused(404, "not_found", "GET /v1/tasks/{id}", nil, one.ID)
	p.refused(404, "not_found", "GET /v1/tasks/{id}", nil, "no-id")
}

func (p *place) work() {
	var w api.Joined
	p.do(201, "POST /v1/workers", m{"name": "py", "kinds": []string{"far"}, "queues": m{"far": 1}, "beat": 1, "deadAfter": "10s"}, &w)
	var beat api.Beat
	p.do(200, "POST /v1/workers/{worker}/beat", m{"running": 1}, &beat, w.Worker)
	if beat.BeatSeconds <= 0 || beat.BeatSeconds > 3 {
		p.Errorf("beat = %+v, want how often to beat", beat)
	}
	claim := m{"queues": m{"far": 2}, "kinds": []string{"far"}}
	var got api.Claimed
	if p.do(200, "POST /v1/workers/{worker}/claim", claim, &got, w.Worker); len(got.Tasks) != 0 {
		p.Errorf("claim = %+v, want nothing", got)
	}
	var one api.Submitted
	p.do(201, "POST /v1/tasks", m{"kind": "far", "queue": "far", "args": "x"}, &one)
	claim["wait"], claim["nonce"] = "20s", p.k.NewID().String()
	p.do(200, "POST /v1/workers/{worker}/claim", claim, &got, w.Worker)
	if len(got.Tasks) != 1 || got.Tasks[0].ID != one.ID || string(got.Tasks[0].Args) != `"x"` || got.Tasks[0].Attempt != 1 {
		p.Fatalf("claim = %+v, want the task", got)
	}
	fence := got.Tasks[0].Fence
	claim["repeat"] = true
	var again api.Claimed
	if p.do(200, "POST /v1/workers/{worker}/claim", claim, &again, w.Worker); len(again.Tasks) != 1 || again.Tasks[0].Fence != fence {
		p.Errorf("a repeated claim = %+v, want the same", again)
	}
	p.do(200, "POST /v1/tasks/{id}/save", m{"fence": fence, "entries": m{"half": m{"a": 1}}, "progress": m{"done": 1, "total": 2, "note": "n"}}, nil, one.ID)
	var entries api.Entries
	if p.do(200, "GET /v1/tasks/{id}/entries", nil, &entries, one.ID); string(entries.Entries["half"]) != `{"a":1}` {
		p.Errorf("entries = %+v", entries)
	}
	p.do(200, "POST /v1/tasks/{id}/cancel", m{"reason": "stop"}, nil, one.ID)
	if p.do(200, "POST /v1/workers/{worker}/beat", m{}, &beat, w.Worker); len(beat.Asked) != 1 || beat.Asked[0].Reason != "stop" || beat.Asked[0].Fence != fence {
		p.Errorf("beat = %+v, want the task asked to end", beat)
	}
	p.refused(409, "fenced", "POST /v1/tasks/{id}/complete", m{"fence": "99." + p.k.NewID().String(), "verdict": "done"}, one.ID)
	p.refused(422, "invalid", "POST /v1/tasks/{id}/complete", m{"fence": "odd", "verdict": "done"}, one.ID)
	p.refused(422, "invalid", "POST /v1/tasks/{id}/complete", m{"fence": fence, "verdict": "well"}, one.ID)
	var state api.State
	for range 2 {
		p.do(200, "POST /v1/tasks/{id}/complete", m{"fence": fence, "verdict": "done", "result": m{"ok": true}, "follow": []m{{"kind": "far2", "queue": "far2"}}}, &state, one.ID)
	}
	if state.State != "done" {
		p.Errorf("complete = %+v, want done", state)
	}
	p.do(200, "POST /v1/workers/{worker}/leave", m{}, nil, w.Worker)
	p.refused(409, "dead", "POST /v1/workers/{worker}/beat", m{}, w.Worker)
	p.refused(404, "not_found", "POST /v1/workers/{worker}/beat", m{}, "host:1:abc")
}

func (p *place) calls() {
	told := make(chan *http.Request, 4)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			told <- r.Clone(r.Context())
			return
		}
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "short and stout")
	}))
	defer web.Close()
	var one api.Submitted
	p.do(202, "POST /v1/calls", m{"method": "POST", "url": web.URL + "/pot", "json": m{"a": 1}, "callback": m{"url": web.URL + "/back", "args": 7}}, &one)
	var end api.Call
	p.do(200, "GET /v1/calls/{id}?wait=20", nil, &end, one.ID)
	if end.State != "done" || end.End == nil || end.End.Status != 418 || end.End.Body != "short and stout" {
		p.Errorf("call = %+v, want its answer", end)
	}
	select {
	case r := <-told:
		if r.Header.Get("Webhook-Signature") == "" || r.Header.Get("Webhook-Id") == "" {
			p.Errorf("the callback is not signed: %v", r.Header)
		}
	case <-time.After(20 * time.Second):
		p.Error("the callback did not come")
	}
	p.do(202, "POST /v1/calls", m{"url": web.URL, "failOnStatus": true, "callback": m{"kind": "told", "queue": "told"}}, &one)
	p.do(200, "GET /v1/calls/{id}?wait=20", nil, &end, one.ID)
	if end.State != "failed" || end.End.Error == nil || end.End.Error.Type != "http" {
		p.Errorf("call = %+v, want it failed by its status", end)
	}
	p.until("the task of the callback", func() bool {
		var list api.Tasks
		p.do(200, "GET /v1/tasks?kind=told", nil, &list)
		return len(list.Tasks) == 1
	})
	p.refused(422, "invalid", "POST /v1/calls", m{"url": "ftp://x"})
	p.refused(422, "invalid", "POST /v1/calls", m{"url": web.URL, "callback": m{"url": "nowhere"}})
	p.refused(422, "invalid", "POST /v1/calls", m{"url": web.URL, "callback": m{}})
	p.refused(404, "not_found", "GET /v1/calls/{id}", nil, p.k.NewID())
}

// until waits for what comes in time.
func (p *place) until(what string, is func() bool) {
	p.Helper()
	for range 2000 {
		if is() {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-p.Context().Done():
		}
	}
	p.Fatalf("%s did not come", what)
}

func (p *place) groups() {
	var g api.NewGroupAnswer
	p.do(201, "POST /v1/groups", m{"name": "g", "tasks": []m{{"kind": "member", "queue": "m"}}, "onClose": m{"kind": "closed", "queue": "m"}, "hold": true}, &g)
	var one api.Group
	p.do(200, "POST /v1/groups/{id}/seal", m{}, &one, g.ID)
	if one.State != "held" || one.Total != 1 {
		p.Errorf("group = %+v, want it held with one member", one)
	}
	p.do(200, "POST /v1/groups/{id}/release", m{}, &one, g.ID)
	p.do(200, "POST /v1/groups/{id}/abort", m{"reason": "no"}, &one, g.ID)
	p.do(200, "GET /v1/groups/{id}", nil, &one, g.ID)
	p.do(200, "GET /v1/groups?limit=5", nil, nil)
	p.refused(404, "not_found", "GET /v1/groups/{id}", nil, p.k.NewID())
}

func (p *place) settings() {
	p.do(204, "POST /v1/pauses", m{"queue": "q", "for": "1h", "reason": "r"}, nil)
	p.do(200, "GET /v1/pauses", nil, nil)
	p.do(204, "DELETE /v1/pauses?queue=q", nil, nil)
	p.do(204, "PUT /v1/queues/{queue}/weights", m{"lane": "l", "weight": 3}, nil, "q")
	p.do(204, "PUT /v1/limits", m{"key": "k", "running": 2, "rates": []m{{"n": 1, "per": "1s"}}}, nil)
	var limits api.Limits
	if p.do(200, "GET /v1/limits", nil, &limits); !strings.Contains(fmt.Sprint(limits), "k 2") {
		p.Errorf("limits = %+v", limits)
	}
	var s api.Schedule
	p.do(200, "PUT /v1/schedules/{name}", m{"rule": "every 1h", "task": m{"kind": "tick", "queue": "t", "args": 1}}, &s, "hourly")
	p.refused(409, "changed", "PUT /v1/schedules/{name}", m{"rule": "every 1h", "task": m{"kind": "tick"}}, "hourly")
	p.refused(422, "invalid", "PUT /v1/schedules/{name}", m{"rule": "now and then", "task": m{"kind": "tick"}}, "odd")
	p.do(200, "GET /v1/schedules/{name}", nil, &s, "hourly")
	p.do(200, "GET /v1/schedules", nil, nil)
	if p.do(200, "POST /v1/schedules/{name}/pause", nil, &s, "hourly"); !s.Paused || string(s.Task.Args) != "1" {
		p.Errorf("pause = %+v, want it paused, and the rest as it was", s)
	}
	var going api.Schedule
	if p.do(200, "POST /v1/schedules/{name}/resume", nil, &going, "hourly"); going.Paused || going.Version <= s.Version {
		p.Errorf("resume = %+v", going)
	}
	p.refused(404, "not_found", "POST /v1/schedules/{name}/pause", nil, "none")
	p.do(204, "DELETE /v1/schedules/{name}", nil, nil, "hourly")
	p.refused(404, "not_found", "GET /v1/schedules/{name}", nil, "hourly")
	var one api.Submitted
	p.do(201, "POST /v1/tasks", m{"kind": "hold", "queue": "h"}, &one)
	r, err := p.k.JoinRemote(p.Context(), kernel.RemoteInfo{})
	if err != nil {
		p.Fatal(err)
	}
	if _, err := r.Claim(p.Context(), kernel.RemoteClaim{Queues: map[string]int{"h": 1}, Kinds: []string{"hold"}}); err != nil {
		p.Fatal(err)
	}
	p.refused(409, "state", "POST /v1/tasks/{id}/free", m{}, one.ID)
	p.asked["post /v1/tasks/{id}/free"] = true // a held task needs a handler that holds it
}

func (p *place) info() {
	p.do(200, "GET /v1/openapi.json", nil, nil)
	var info api.Info
	if p.do(200, "GET /v1/info", nil, &info); info.Now.IsZero() {
		p.Errorf("info = %+v, want the store's clock", info)
	}
	var queues api.Queues
	p.do(201, "POST /v1/tasks", m{"kind": "lonely", "queue": "lonely"}, nil)
	p.do(200, "GET /v1/queues", nil, &queues)
	found := false
	for _, q := range queues.Queues {
		found = found || q.Queue == "lonely" && q.Ready == 1 && q.Problem == "no worker serves it"
	}
	if !found {
		p.Errorf("queues = %+v, want one that nobody serves", queues)
	}
	p.do(200, "GET /v1/queues/{queue}/lanes", nil, nil, "lonely")
	p.do(200, "GET /v1/workers", nil, nil)
	p.do(200, "GET /v1/stats?last=2h", nil, nil)
	var none api.Stats
	if p.do(200, "GET /v1/stats?from=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z", nil, &none); len(none.Minutes) != 0 {
		p.Errorf("stats of a day long gone = %+v", none)
	}
	p.refused(400, "bad_query", "GET /v1/stats?from=yesterday", nil)
	p.do(200, "GET /healthz", nil, nil)
	p.do(200, "GET /readyz", nil, nil)
	text := p.do(200, "GET /metrics", nil, nil).body
	for _, want := range []string{`outlast_queue_tasks{namespace="default",queue="lonely",state="ready"} 1`, "# TYPE outlast_events_total counter", `event="submitted"`} {
		if !strings.Contains(text, want) {
			p.Errorf("metrics lack %s:\n%s", want, text)
		}
	}
	p.stream()
}

// stream listens, goes away and comes back.
func (p *place) stream() {
	listen := func(last string, n int) (ids []string) {
		ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/v1/events", nil)
		if err != nil {
			p.Fatal(err)
		}
		req.Header.Set("Last-Event-ID", last)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			p.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.Header.Get("Content-Type") != "text/event-stream" {
			p.Errorf("events = %v", res.Header)
		}
		p.asked["get /v1/events"] = true
		lines := bufio.NewScanner(res.Body)
		if last == "" {
			p.do(201, "POST /v1/tasks", m{"kind": "told", "queue": "x"}, nil)
			p.do(201, "POST /v1/tasks", m{"kind": "told", "queue": "x"}, nil)
		}
		for len(ids) < n && lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				ids = append(ids, id)
			}
			if lines.Text() == "event: missed" {
				ids = append(ids, "missed")
			}
		}
		return ids
	}
	first := listen("", 2)
	if len(first) != 2 {
		p.Fatalf("events = %v, want two", first)
	}
	if again := listen(first[0], 1); len(again) != 1 || again[0] != first[1] {
		p.Errorf("after %s came %v, want %s", first[0], again, first[1])
	}
	if again := listen("another-5", 1); len(again) != 1 || again[0] != "missed" {
		p.Errorf("after the event of another process came %v, want to be told that some were missed", again)
	}
}

// A saga is answered by the API as by a Go program.
func TestASignalReachesASaga(t *testing.T) {
	t.Parallel()
	approved := saga.NewSignal[string]("approved")
	orders := saga.Define("order", func(b *saga.Builder[int]) *saga.Node[string] { return saga.Wait(b, approved) })
	p := begin(t, setup{serve: func(k *kernel.Kernel) { orders.Serve(k) }})
	h, err := orders.Start(t.Context(), p.k, 1, saga.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.do(204, "POST /v1/sagas/{id}/signals/{name}", m{"value": "yes"}, nil, h.ID(), "approved")
	if got, err := h.Wait(t.Context()); err != nil || got != "yes" {
		t.Errorf("Wait = %q, %v, want yes", got, err)
	}
	p.refused(409, "not_waiting", "POST /v1/sagas/{id}/signals/{name}", m{"value": "no"}, h.ID(), "approved")
	p.refused(404, "not_found", "POST /v1/sagas/{id}/signals/{name}", m{"value": "yes"}, p.k.NewID(), "approved")
}

// A route without a policy fails, and so does one that is public without being meant to be.
func TestEveryRouteHasAPolicy(t *testing.T) {
	t.Parallel()
	doc := api.Document()
	public := map[string]bool{"/healthz": true, "/readyz": true, "/v1/openapi.json": true}
	paths, _ := doc["paths"].(map[string]any)
	n := 0
	for path, ops := range paths {
		for method, op := range ops.(map[string]any) {
			n++
			need, _ := schema.At(op, "security").([]any)
			scope, _ := schema.At(op, "description").(string)
			if (len(need) == 0) != public[path] {
				t.Errorf("%s %s: security is %v", method, path, need)
			}
			known := false
			for _, s := range api.Scopes() {
				known = known || scope == "Scope: "+string(s)+"."
			}
			if !known && !public[path] {
				t.Errorf("%s %s has the policy %q, which is none", method, path, scope)
			}
		}
	}
	if n < 40 {
		t.Errorf("the document has %d operations, want all of them", n)
	}
}
