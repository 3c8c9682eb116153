package api_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// make creates a token that has to be made.
func create(t *testing.T, list *api.Tokens, one api.Token) string {
	t.Helper()
	text, err := list.Create(one)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTokensAllowWhatTheirScopesSay(t *testing.T) {
	t.Parallel()
	list := tokens(t)
	p := begin(t, setup{api: api.Config{Tokens: list}})
	asks := map[api.Scope]func(want int){
		api.Read:    func(want int) { p.do(want, "GET /v1/tasks", nil, nil) },
		api.Submit:  func(want int) { p.do(want, "POST /v1/tasks", m{"kind": "k", "queue": "q"}, nil) },
		api.Work:    func(want int) { p.do(want, "POST /v1/workers", m{}, nil) },
		api.Operate: func(want int) { p.do(want, "POST /v1/pauses", m{"queue": "z"}, nil) },
	}
	good := map[api.Scope]int{api.Read: 200, api.Submit: 201, api.Work: 201, api.Operate: 204}
	for _, have := range api.Scopes() {
		p.token = create(t, list, api.Token{Scopes: []api.Scope{have}})
		for want, ask := range asks {
			status := http.StatusForbidden
			if have == want || have == api.Admin || have == api.Operate && want == api.Read {
				status = good[want]
			}
			ask(status)
		}
	}
	p.do(200, "GET /healthz", nil, nil)
}

func TestABadTokenLetsNobodyIn(t *testing.T) {
	t.Parallel()
	list := tokens(t)
	p := begin(t, setup{api: api.Config{Tokens: list}})
	old := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}, ExpiresAt: time.Now().Add(-time.Second)})
	gone := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}})
	good := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}, Name: "good"})
	all, err := list.List()
	if err != nil || len(all) != 3 || all[1].Hash != "" {
		t.Fatalf("List = %+v, %v", all, err)
	}
	if ok, err := list.Revoke(all[1].ID); err != nil || !ok {
		t.Fatalf("Revoke = %v, %v", ok, err)
	}
	if ok, err := list.Revoke(all[1].ID); err != nil || ok {
		t.Errorf("Revoke again = %v, %v, want false", ok, err)
	}
	for name, text := range map[string]string{
		"expired": old, "revoked": gone, "odd": "odd", "empty secret": good[:strings.LastIndex(good, "_")+1], "another secret": good[:len(good)-1] + "x",
	} {
		p.token = text
		p.refused(401, "bad_token", "GET /v1/tasks", nil)
		if strings.Contains(p.log.String(), text) && name != "odd" {
			t.Errorf("the log shows the %s token", name)
		}
	}
	p.token = ""
	p.refused(401, "unauthenticated", "GET /v1/tasks", nil)
	p.token = good
	p.do(200, "GET /v1/tasks", nil, nil)
}

func TestTokensAreHashedAtRestAndMadeByOthersAreSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "tokens")
	mine, err := api.OpenTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := api.OpenTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	text := create(t, other, api.Token{Scopes: []api.Scope{api.Read}, Namespace: "n"})
	if got, err := mine.Check(text); err != nil || got.Namespace != "n" {
		t.Errorf("Check = %+v, %v, want the token that another process made", got, err)
	}
	secret := text[strings.LastIndex(text, "_")+1:]
	if file := readFile(t, path); strings.Contains(file, secret) || !strings.Contains(file, `"scopes":["read"]`) {
		t.Errorf("the file shows the secret, or not the token:\n%s", file)
	}
	if _, err := mine.Create(api.Token{Scopes: []api.Scope{"everything"}}); err == nil {
		t.Error("an unknown scope was taken")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := api.OpenTokens(path); err == nil {
		t.Error("a file that others can read was taken")
	}
	if _, err := mine.Check("olt_x_y"); !errors.Is(err, api.ErrBadToken) {
		t.Errorf("Check = %v, want ErrBadToken", err)
	}
}

func TestWithoutTokensOnlyLoopbackIsAnswered(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{})
	p.do(200, "GET /v1/tasks", nil, nil)
	p.host = "evil.example.com" // a name that was made to resolve to 127.0.0.1
	p.refused(403, "not_local", "GET /v1/tasks", nil)
	open := begin(t, setup{api: api.Config{Open: true}})
	open.host = "daemon.example.com"
	open.do(200, "GET /v1/tasks", nil, nil)
}

func TestAnotherNamespacesTaskIsNotFound(t *testing.T) {
	t.Parallel()
	other := kerneltest.New(t, memory.New(memory.Config{Namespace: "other"}), kernel.Config{})
	list := tokens(t)
	p := begin(t, setup{api: api.Config{Tokens: list, Spaces: map[string]api.Space{"other": {Kernel: other}}}})
	mine := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}})
	theirs := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}, Namespace: "other"})
	nobodys := create(t, list, api.Token{Scopes: []api.Scope{api.Admin}, Namespace: "third"})
	var one api.Submitted
	p.token = mine
	p.do(201, "POST /v1/tasks", m{"kind": "k", "queue": "q"}, &one)
	p.token = theirs
	p.refused(404, "not_found", "GET /v1/tasks/{id}", nil, one.ID)
	p.refused(404, "not_found", "POST /v1/tasks/{id}/cancel", m{}, one.ID)
	p.refused(404, "not_found", "DELETE /v1/tasks/{id}", nil, one.ID)
	p.refused(404, "not_found", "POST /v1/tasks/{id}/complete", m{"fence": "1." + one.ID, "verdict": "done"}, one.ID)
	var tasks api.Tasks
	if p.do(200, "GET /v1/tasks", nil, &tasks); len(tasks.Tasks) != 0 {
		t.Errorf("the list of another namespace shows %+v", tasks.Tasks)
	}
	p.token = nobodys
	p.refused(403, "no_namespace", "GET /v1/tasks", nil)
	p.token = mine
	p.do(200, "GET /v1/tasks/{id}", nil, nil, one.ID)
}

func TestBadRequestsGetAProblem(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{api: api.Config{MaxBody: 1000}})
	for _, c := range []struct {
		status int
		code   string
		body   any
	}{
		{400, "bad_json", `{"kind":`},
		{400, "bad_json", `{"kind":"k"} {}`},
		{400, "no_body", ``},
		{422, "bad_body", `{"kind":7}`},
		{422, "bad_body", `{"kind":"k","Queu":"q"}`},
		{422, "bad_body", `{"kind":"k","delay":"soon"}`},
		{422, "invalid", `{"kind":""}`},
		{422, "invalid", `{"kind":"k","id":"7"}`},
		{422, "invalid", `{"kind":"k","args":1,"argsBase64":"AAAA"}`},
		{422, "invalid", `{"kind":"k","retry":{"base":"-1s"}}`},
		{413, "too_large", m{"kind": "k", "args": strings.Repeat("x", 2000)}},
	} {
		p.refused(c.status, c.code, "POST /v1/tasks", c.body)
	}
	if a := p.send("POST", "/v1/tasks", `{"kind":"k","due_at":"2026-01-01T00:00:00Z"}`); !strings.Contains(a.body, `did you mean \"dueAt\"?`) {
		t.Errorf("an unknown field = %s, want the nearest", a.body)
	}
	for path, query := range map[string]string{"wait": "x", "limit": "0"} {
		p.refused(400, "bad_query", "GET /v1/tasks?limit="+map[string]string{"wait": "abc", "limit": query}[path], nil)
	}
	p.refused(422, "invalid", "GET /v1/tasks?state=odd", nil)
	p.refused(400, "bad_query", "GET /v1/tasks/{id}?wait=x", nil, p.k.NewID())
	if a := p.send("PATCH", "/v1/tasks", nil); a.StatusCode != 405 || a.Header.Get("Allow") == "" {
		t.Errorf("PATCH = %d %s", a.StatusCode, a.body)
	}
	if a := p.send("GET", "/nowhere", nil); a.StatusCode != 404 || !strings.Contains(a.body, "no_path") {
		t.Errorf("an unknown path = %d %s", a.StatusCode, a.body)
	}
}

func TestTooManyRequestsAreSlowedDown(t *testing.T) {
	t.Parallel()
	list := tokens(t)
	p := begin(t, setup{api: api.Config{Tokens: list, Rate: 1}})
	p.token = create(t, list, api.Token{Scopes: []api.Scope{api.Read}})
	limited := 0
	for range 10 {
		if a := p.send("GET", "/v1/tasks", nil); a.StatusCode == 429 && a.Header.Get("Retry-After") != "" {
			limited++
		}
	}
	if limited < 5 {
		t.Errorf("%d of 10 requests were refused at 1 per second, want most", limited)
	}
	p.token = "olt_guess_guess"
	guesses := 0
	for range 100 {
		if p.send("GET", "/v1/tasks", nil).StatusCode == 429 {
			guesses++
		}
	}
	if guesses < 20 {
		t.Errorf("%d of 100 guesses were refused without a look, want many", guesses)
	}
}
