package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/web"
)

// site is a dashboard and a browser that keeps cookies.
type site struct {
	t      *testing.T
	k      *kernel.Kernel
	url    string
	client *http.Client
}

func open(t *testing.T, k *kernel.Kernel, cfg web.Config) *site {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	srv := httptest.NewServer(web.Handler(k, cfg))
	t.Cleanup(srv.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &site{t, k, srv.URL + cfg.Base, &http.Client{Jar: jar}}
}

func (s *site) do(method, where string, form url.Values, head ...string) (int, string) {
	s.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+where, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func (s *site) get(where string) string {
	s.t.Helper()
	status, body := s.do(http.MethodGet, where, nil)
	if status != http.StatusOK {
		s.t.Fatalf("GET %s = %d:\n%s", where, status, body)
	}
	return body
}

// act posts a form as one that was confirmed, and returns the page it leads to.
func (s *site) act(pairs ...string) (int, string) {
	s.t.Helper()
	return s.do(http.MethodPost, "/do", values(append(pairs, "sure", "yes")...))
}

func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// failing is a kernel that runs and whose tasks of kind job.bad fail at once.
func failing(t *testing.T) *kernel.Kernel {
	return kerneltest.Start(t, kernel.Config{Name: "host"}, map[string]kernel.Handler{
		"job.bad": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Outcome{}, kernel.Permanent(errors.New("no such user 17"))
		},
		"job.good": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Done([]byte(`{"ok":true}`)), nil
		},
	})
}

func submit(t *testing.T, k *kernel.Kernel, s kernel.Spec) kernel.ID {
	t.Helper()
	got, err := k.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got.ID
}

func ended(t *testing.T, k *kernel.Kernel, id kernel.ID) kernel.Task {
	t.Helper()
	task, err := k.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

var pages = []string{"/", "/?minutes=1440", "/tasks", "/queues", "/workers", "/dead", "/sagas", "/batches", "/batches?all=yes", "/calls", "/endpoints", "/schedules"}

func TestEveryPageOfAnEmptyStoreSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := open(t, kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{}), web.Config{})
	for _, where := range pages {
		if body := s.get(where); !strings.Contains(body, "<h1>") || !strings.Contains(body, `lang="en"`) {
			t.Errorf("%s is\n%s", where, body)
		}
	}
	for where, want := range map[string]string{
		"/": "Nothing has happened yet", "/dead": "There are none", "/schedules": "k.PutSchedule", "/sagas": "saga.Define", "/workers": "k.Run(ctx)",
	} {
		if body := s.get(where); !strings.Contains(body, want) {
			t.Errorf("%s does not say %q", where, want)
		}
	}
}

func TestATaskIsShownWithItsTimeline(t *testing.T) {
	t.Parallel()
	k := failing(t)
	id := submit(t, k, kernel.Spec{Kind: "job.bad", Args: []byte(`{"user":17,"password":"hunter2"}`), Labels: map[string]string{"shop": "7"}, Retry: kernel.Retry{Max: 1}})
	task := ended(t, k, id)
	s := open(t, k, web.Config{})
	body := s.get("/task/" + id.String())
	for _, want := range []string{"no such user 17", "Taken by a worker", "Ended as failed", "shop=7", "host:", task.CreatedAt.UTC().Format("2006-01-02 15:04:05"), "&#34;user&#34;: 17", "hidden"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(body, "hunter2") {
		t.Error("the page shows a password")
	}
	if body := s.get("/dead"); !strings.Contains(body, "no such user #") {
		t.Errorf("the dead letter does not group by cause:\n%s", body)
	}
	if body := s.get("/tasks?q=" + id.String()); !strings.Contains(body, "Ended as failed") {
		t.Error("a search for an id does not lead to the task")
	}
	if status, _ := s.do(http.MethodGet, "/task/0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c", nil); status != http.StatusNotFound {
		t.Errorf("a task that is not there = %d, want 404", status)
	}
}

func TestFiltersPickTasks(t *testing.T) {
	t.Parallel()
	k := failing(t)
	bad := submit(t, k, kernel.Spec{Kind: "job.bad", Labels: map[string]string{"shop": "7"}})
	good := submit(t, k, kernel.Spec{Kind: "job.good"})
	ended(t, k, bad)
	ended(t, k, good)
	s := open(t, k, web.Config{})
	for where, want := range map[string]kernel.ID{
		"/tasks?state=failed": bad, "/tasks?state=done": good, "/tasks?kind=job.bad": bad, "/tasks?kind=job.goo*": good, "/tasks?label=shop%3D7": bad,
		"/tasks?q=good": good, "/tasks?q=shop%3D7": bad, "/tasks?state=failed&queue=default": bad,
	} {
		body := s.get(where)
		for _, id := range []kernel.ID{bad, good} {
			if got := strings.Contains(body, "/task/"+id.String()); got != (id == want) {
				t.Errorf("%s shows %s: %v", where, id, got)
			}
		}
	}
	if body := s.get("/tasks?label=nonsense"); !strings.Contains(body, "a label is name=value") {
		t.Error("a filter that cannot be is not told")
	}
	if body := s.get("/tasks?after=" + url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))); strings.Contains(body, good.String()) {
		t.Error("a task is shown that was not created in time")
	}
}

func TestALongListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	var specs []kernel.Spec
	for i := range 1200 {
		s := kernel.Spec{Kind: fmt.Sprintf("job.k%d", i%3), Priority: i}
		if i%5 == 0 {
			s.ID = kernel.DeriveID("test", s.Kind, fmt.Sprint(i)) // as rows of batches have: it tells no time
		}
		specs = append(specs, s)
	}
	if _, err := k.SubmitMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	s := open(t, k, web.Config{})
	if first := strings.Split(s.get("/tasks"), `name="id" value="`)[1]; !strings.HasPrefix(first, "01") {
		t.Errorf("the list begins with %.36s, whose id tells no time", first)
	}
	for _, start := range []string{"/tasks", "/tasks?kind=job.k1", "/tasks?state=ready&order=oldest", "/tasks?after=2020-01-01"} {
		seen, where := map[string]bool{}, start
		for range 60 {
			body := s.get(where)
			for _, part := range strings.Split(body, `name="id" value="`)[1:] {
				id := part[:36]
				if seen[id] {
					t.Fatalf("%s: task %s comes twice", start, id)
				}
				seen[id] = true
			}
			_, rest, more := strings.Cut(body, `rel="next" href="`)
			if !more {
				break
			}
			next, _, _ := strings.Cut(rest, `"`)
			where = strings.ReplaceAll(next, "&amp;", "&")
		}
		want := 1200
		if strings.Contains(start, "k1") {
			want = 400
		}
		if len(seen) != want {
			t.Errorf("%s shows %d tasks, want %d", start, len(seen), want)
		}
	}
}

// serve is a server of any handler.
func serve(t *testing.T, h http.Handler, k *kernel.Kernel) *site {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &site{t, k, srv.URL, srv.Client()}
}
