package web_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/web"
)

// still is a kernel that runs nothing.
func still(t *testing.T) *kernel.Kernel {
	return kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
}

func state(t *testing.T, k *kernel.Kernel, id kernel.ID) kernel.TaskState {
	t.Helper()
	task, err := k.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task.State
}

func TestNothingIsDoneBeforeTheQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	s := open(t, k, web.Config{})
	status, body := s.do(http.MethodPost, "/do", values("verb", "cancel", "id", id.String(), "back", "/tasks"))
	if status != http.StatusOK || !strings.Contains(body, "Cancel 1 task?") || !strings.Contains(body, `name="sure" value="yes"`) {
		t.Fatalf("cancel = %d, want a question:\n%s", status, body)
	}
	if got := state(t, k, id); got != "ready" {
		t.Errorf("the task is %s before the answer, want ready", got)
	}
	_, body = s.act("verb", "cancel", "id", id.String(), "back", "/tasks", "reason", "by hand")
	if got := state(t, k, id); got != "cancelled" {
		t.Errorf("the task is %s, want cancelled", got)
	}
	if !strings.Contains(body, "1 task was cancelled") || !strings.Contains(body, "Undo") {
		t.Errorf("the page does not tell of it, or offers no undo:\n%s", body)
	}
	if again := s.get("/tasks"); strings.Contains(again, "1 task was cancelled") {
		t.Error("the notice is shown twice")
	}
	s.act("verb", "retry", "id", id.String()) // what Undo does
	if got := state(t, k, id); got != "ready" {
		t.Errorf("after the undo the task is %s, want ready", got)
	}
}

func TestAnotherSiteCannotAct(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	s := open(t, k, web.Config{TrustedOrigins: []string{"https://admin.example"}})
	form := values("verb", "cancel", "id", id.String(), "sure", "yes")
	for _, head := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if status, _ := s.do(http.MethodPost, "/do", form, head...); status != http.StatusForbidden {
			t.Errorf("with %v it is %d, want 403", head, status)
		}
	}
	if status, _ := s.do(http.MethodGet, "/do?"+form.Encode(), nil); status != http.StatusNotFound {
		t.Errorf("by GET it is %d, want 404", status)
	}
	if got := state(t, k, id); got != "ready" {
		t.Fatalf("the task is %s, want ready", got)
	}
	if status, _ := s.do(http.MethodPost, "/do", form, "Origin", "https://admin.example", "Sec-Fetch-Site", "cross-site"); status != http.StatusOK {
		t.Errorf("from an origin that is trusted it is %d, want 200", status)
	}
}

func TestReadOnlyDoesNothingAndOffersNothing(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	s := open(t, k, web.Config{ReadOnly: true})
	if status, _ := s.act("verb", "cancel", "id", id.String()); status != http.StatusForbidden {
		t.Errorf("cancel = %d, want 403", status)
	}
	if got := state(t, k, id); got != "ready" {
		t.Errorf("the task is %s, want ready", got)
	}
	for _, where := range append(pages, "/task/"+id.String(), "/queue/default") {
		if body := s.get(where); strings.Contains(body, `/do"`) {
			t.Errorf("%s offers an action", where)
		}
	}
}

func TestAuthorizeAndAudit(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	var mu sync.Mutex
	var lines []web.AuditLine
	s := open(t, k, web.Config{
		Who: func(*http.Request) string { return "ann" },
		Authorize: func(_ *http.Request, a web.Action) error {
			if a.Verb == "delete" || a.Page == "workers" {
				return errors.New("ask Bob")
			}
			return nil
		},
		Audit: func(_ context.Context, l web.AuditLine) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, l)
		},
	})
	if status, body := s.do(http.MethodGet, "/workers", nil); status != http.StatusForbidden || !strings.Contains(body, "ask Bob") {
		t.Errorf("a page that is refused = %d\n%s", status, body)
	}
	if status, _ := s.act("verb", "delete", "id", id.String()); status != http.StatusForbidden {
		t.Errorf("delete = %d, want 403", status)
	}
	s.act("verb", "cancel", "id", id.String(), "reason", "too late")
	if len(lines) != 2 {
		t.Fatalf("the audit has %+v, want two lines", lines)
	}
	if l := lines[0]; l.Who != "ann" || l.Action.Verb != "delete" || l.Err == nil {
		t.Errorf("the first line is %+v, want the delete that was refused", l)
	}
	if l := lines[1]; l.Action.Target[0] != id.String() || l.Count != 1 || !strings.Contains(l.Detail, "reason=too late") || l.Err != nil {
		t.Errorf("the second line is %+v, want the cancel", l)
	}
}

func TestBulkRetryByCause(t *testing.T) {
	t.Parallel()
	k := failing(t)
	var ids []kernel.ID
	for range 30 {
		ids = append(ids, submit(t, k, kernel.Spec{Kind: "job.bad", Retry: kernel.Retry{Max: 1}}))
	}
	for _, id := range ids {
		ended(t, k, id)
	}
	s := open(t, k, web.Config{})
	_, rest, ok := strings.Cut(s.get("/dead"), `name="cause" value="`)
	if !ok {
		t.Fatal("there is no cause to retry")
	}
	_, body := s.act("verb", "retry", "cause", rest[:12], "back", "/dead")
	if !strings.Contains(body, "30 tasks were retried.") {
		t.Errorf("the page does not tell of 30:\n%s", body)
	}
	for _, id := range ids {
		if task := ended(t, k, id); task.Round != 1 {
			t.Errorf("task %s is in round %d, want 1", id, task.Round)
		}
	}
	_, body = s.act("verb", "delete", "all", "yes", "f.state", "failed", "back", "/dead")
	if !strings.Contains(body, "30 tasks were deleted.") {
		t.Errorf("delete of all that failed:\n%s", body)
	}
}

func TestPauseLimitAndScheduleCanBeUndone(t *testing.T) {
	t.Parallel()
	k := still(t)
	if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "nightly", Rule: "every 24h", Task: kernel.Spec{Kind: "job.a"}}); err != nil {
		t.Fatal(err)
	}
	s := open(t, k, web.Config{})
	if _, body := s.act("verb", "pause", "queue", "mail", "for", "1h", "reason", "<b>full</b>", "back", "/queues"); !strings.Contains(body, "Undo") || !strings.Contains(body, "&lt;b&gt;full") {
		t.Errorf("after a pause:\n%s", body)
	}
	pauses, err := k.Pauses(t.Context())
	if err != nil || len(pauses) != 1 || pauses[0].Until.IsZero() {
		t.Fatalf("Pauses = %+v, %v, want one for an hour", pauses, err)
	}
	s.act("verb", "resume", "queue", "mail")
	if pauses, err = k.Pauses(t.Context()); err != nil || len(pauses) != 0 {
		t.Errorf("Pauses = %+v, %v, want none", pauses, err)
	}
	s.act("verb", "limit", "key", "stripe", "running", "5", "rate", "100/1m+10 2000/h")
	limits, err := k.Limits(t.Context())
	if err != nil || len(limits) != 1 || limits[0].Running != 5 || len(limits[0].Rates) != 2 || limits[0].Rates[0].Burst != 10 {
		t.Errorf("Limits = %+v, %v", limits, err)
	}
	if status, _ := s.act("verb", "limit", "key", "stripe", "rate", "fast"); status != http.StatusBadRequest {
		t.Errorf("a rate that is none = %d, want 400", status)
	}
	if _, body := s.act("verb", "weight", "queue", "mail", "lane", "big", "weight", "5", "before", "2"); !strings.Contains(body, `name="weight" value="2"`) || !strings.Contains(body, "Undo") {
		t.Errorf("a weight cannot be set back:\n%s", body)
	}
	s.act("verb", "pause-schedule", "schedule", "nightly")
	if sch, err := k.Schedule(t.Context(), "nightly"); err != nil || !sch.Paused {
		t.Errorf("Schedule = %+v, %v, want it paused", sch, err)
	}
	s.act("verb", "resume-schedule", "schedule", "nightly")
	if sch, err := k.Schedule(t.Context(), "nightly"); err != nil || sch.Paused {
		t.Errorf("Schedule = %+v, %v, want it to go on", sch, err)
	}
}

func TestALivePageIsSentOnceItChanges(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	s := open(t, k, web.Config{Every: 1}) // raised to what it is at least
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/live?page=/task/"+id.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	sent, cancelled := 0, false
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if sent++; sent == 1 {
			if _, err := k.Cancel(ctx, id, "gone"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if cancelled = strings.Contains(lines.Text(), "s-cancelled"); cancelled {
			break
		}
	}
	if !cancelled || sent > 3 {
		t.Errorf("%d events came, and the task was cancelled in them: %v", sent, cancelled)
	}
}

func TestMountedUnderAPrefix(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	for name, h := range map[string]http.Handler{
		"Base":  web.Handler(k, web.Config{Base: "/ops/outlast/"}),
		"strip": http.StripPrefix("/ops/outlast", web.Handler(k, web.Config{})),
	} {
		mux := http.NewServeMux()
		mux.Handle("/ops/outlast/", h)
		s := serve(t, mux, k)
		for _, where := range []string{"/ops/outlast/", "/ops/outlast/tasks", "/ops/outlast/task/" + id.String()} {
			body := s.get(where)
			for _, want := range []string{`href="/ops/outlast/tasks"`, `href="/ops/outlast/static/app.css?`} {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s has no %s", name, where, want)
				}
			}
		}
		if body := s.get("/ops/outlast/static/app.js"); !strings.Contains(body, "EventSource") {
			t.Errorf("%s: there is no script", name)
		}
	}
}
