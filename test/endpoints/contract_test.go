package endpoints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/internal/schema"
	"github.com/outlast-go/outlast/kernel"
)

// Tree has what schemas find hard: itself, embedded fields, pointers, maps, times, bytes.
type Tree struct {
	Order
	Name     string            `json:"name"`
	Left     *Tree             `json:"left,omitempty"`
	Sizes    map[string]uint8  `json:"sizes"`
	At       time.Time         `json:"at"`
	Data     []byte            `json:"data"`
	Pair     [2]float64        `json:"pair"`
	Any      any               `json:"any"`
	Note     *string           `json:"note"`
	State    endpoint.State    `json:"state"`
	Nameless struct{ X int }   `json:"nameless"`
	Count64  int64             `json:"count64,string"`
	Extra    map[string]string `json:"-"`
}

// contract is a served OpenAPI document.
type contract struct {
	*place
	doc map[string]any
}

// contract reads the document that is served at a path.
func (p *place) contract(path string) *contract {
	p.Helper()
	c := &contract{place: p}
	if err := json.Unmarshal([]byte(p.want(p.send("GET", path, ""), 200, "the document").body), &c.doc); err != nil {
		p.Fatal(err)
	}
	return c
}

// check validates a real answer against what the document says of its path, method and status.
func (c *contract) check(template string, a *answer) {
	c.Helper()
	method := strings.ToLower(a.Request.Method)
	op := at(c.doc, "paths", template, method)
	if op == nil {
		c.Errorf("the document has no %s %s", method, template)
		return
	}
	res := at(op, "responses", fmt.Sprint(a.StatusCode))
	if res == nil {
		res = at(op, "responses", "default")
	}
	if res == nil {
		c.Errorf("%s %s: the document does not know %d", method, template, a.StatusCode)
		return
	}
	content, _ := at(res, "content").(map[string]any)
	if headers, _ := at(res, "headers").(map[string]any); a.StatusCode == 202 {
		for name := range headers {
			if a.Header.Get(name) == "" {
				c.Errorf("%s %s %d: the header %s is missing", method, template, a.StatusCode, name)
			}
		}
	}
	media := a.Header.Get("Content-Type")
	if content == nil && a.body != "" {
		c.Errorf("%s %s %d: the document promises no body, and there is %q", method, template, a.StatusCode, a.body)
	}
	if content == nil || content["*/*"] != nil {
		return
	}
	kind, ok := content[media]
	if !ok {
		c.Errorf("%s %s %d: the document does not know the type %q", method, template, a.StatusCode, media)
		return
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		c.Errorf("%s %s %d: %v", method, template, a.StatusCode, err)
		return
	}
	for _, wrong := range schema.Validate(c.doc, at(kind, "schema"), value) {
		c.Errorf("%s %s %d: %s in %s", method, template, a.StatusCode, wrong, a.body)
	}
}

func at(v any, path ...string) any { return schema.At(v, path...) }

// The validator finds what is wrong: a contract test that cannot fail shows nothing.
func TestTheValidatorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	api := &endpoint.API{}
	api.Describe("/tasks/", endpoint.Status(nil, endpoint.Site{}))
	text, err := json.Marshal(api.Document())
	var doc map[string]any
	if err != nil || json.Unmarshal(text, &doc) != nil {
		t.Fatal(err)
	}
	document := at(doc, "components", "schemas", "Document")
	const good = `{"id":"x","name":"n","status":"Queued","code":100,"attempt":1,"maxAttempts":4,"createdAt":"2026-01-01T00:00:00Z",` +
		`"updatedAt":"2026-01-01T00:00:00Z","links":{"self":"s","events":"e","result":"r","cancel":"c"}}`
	for _, c := range []struct{ old, changed, want string }{
		{"", "", ""},
		{`"name":"n",`, ``, "/name is missing"},
		{`"Queued"`, `"Odd"`, "/status is Odd"},
		{`"code":100`, `"code":"100"`, "/code is 100, want [integer]"},
		{`"attempt":1`, `"attempt":1.5`, "/attempt is 1.5"},
		{`01-01T`, `01-41T`, "/createdAt is no time"},
		{`"self":"s"`, `"self":null`, "/links/self"},
		{`"id":"x"`, `"id":"x","odd":1`, "/odd is not described"},
		{`"id":"x"`, `"id":"x","error":{"type":"t"}`, "/error is none of anyOf"},
	} {
		var value any
		if err := json.Unmarshal([]byte(strings.Replace(good, c.old, c.changed, 1)), &value); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(schema.Validate(doc, document, value), "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s instead of %s: found %q, want %q", c.changed, c.old, got, c.want)
		}
	}
}

// The served document is true: real answers on all routes are as it says.
func TestTheOpenAPIDocumentIsTrue(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{Path: "/jobs", Principal: byHeader}}, func(t *testing.T, p *place) {
		g := newGate()
		trees := endpoint.Define("trees", func(ctx context.Context, in endpoint.Request[Tree]) (Tree, error) {
			endpoint.From(ctx).Progress(1, 1, "grown")
			if in.Body.Name == "bad" {
				return Tree{}, &endpoint.Problem{Status: 418, Code: "teapot", More: map[string]any{"spout": true}}
			}
			in.Body.State = endpoint.Completed
			return in.Body, nil
		})
		api := &endpoint.API{Title: "Trees", Version: "2"}
		cfg := endpoint.Config{Site: p.site}
		api.Mount(p.mux, "POST /trees/{kind}", trees.Handler(p.k, cfg))
		api.Mount(p.mux, "PUT /gate", g.Handler(p.k, endpoint.Config{Site: p.site, MaxWaiting: 1, Queue: "gate"}))
		status := endpoint.Status(p.k, p.site)
		p.mux.Handle("/jobs", status)
		api.Mount(p.mux, "/jobs/", status)
		p.mux.Handle("GET /openapi.json", api)
		c := p.contract("/openapi.json")
		if c.doc["openapi"] != "3.1.0" || at(c.doc, "info", "title") != "Trees" || at(c.doc, "paths", "/trees/{kind}", "post", "requestBody") == nil {
			t.Errorf("the document is %v", c.doc)
		}
		tree := `{"name":"oak","item":"x","count":2,"left":{"name":"l","at":"2026-01-01T00:00:00Z","state":"Queued","count64":"1"},` +
			`"sizes":{"a":1},"at":"2026-01-01T00:00:00Z","data":"AQ==","any":[1,"x"],"state":"Failed","count64":"7"}`
		c.check("/trees/{kind}", p.want(p.send("POST", "/trees/a", tree, "Idempotency-Key", "k"), 202, "submit"))
		first := p.send("PUT", "/gate", `{}`)
		c.check("/gate", first)
		c.check("/gate", p.want(p.send("PUT", "/gate", `{}`), 503, "full"))
		for _, bad := range []string{"", "{", `{"name":1}`} {
			c.check("/trees/{kind}", p.send("POST", "/trees/a", bad))
		}
		c.check("/trees/{kind}", p.want(p.send("POST", "/trees/a", `{"state":"Queued"}`, "Idempotency-Key", "k"), 422, "a used key"))
		c.check("/trees/{kind}", p.want(p.send("POST", "/trees/a", "x", "Content-Type", "text/plain"), 415, "a type"))
		c.check("/trees/{kind}", p.want(p.send("POST", "/trees/a", `{}`, "X-Who", "nobody"), 401, "nobody"))
		location := first.Header.Get("Location")
		c.check("/jobs/{id}", p.send("GET", location, ""))
		c.check("/jobs/{id}", p.send("GET", location, "", "If-None-Match", "*"))
		c.check("/jobs/{id}/result", p.want(p.send("GET", location+"/result", ""), 409, "not finished"))
		c.check("/jobs/{id}:cancel", p.send("POST", location+":cancel", ""))
		c.check("/jobs/{id}:cancel", p.want(p.send("POST", location+":cancel", "", "X-Who", "bob"), 404, "another's"))
		c.check("/jobs/{id}", p.send("GET", location, ""))
		c.check("/jobs/{id}", p.want(p.send("DELETE", location, ""), 204, "delete"))
		c.check("/jobs/{id}", p.want(p.send("GET", location, ""), 410, "gone"))
		p.work(func(k *kernel.Kernel) { g.Serve(k); trees.Serve(k) }, kernel.Config{Slots: map[string]int{"default": 9, "gate": 9}})
		c.check("/trees/{kind}", p.want(p.send("POST", "/trees/a", tree, "Prefer", "wait=20"), 200, "the result"))
		bad := p.send("POST", "/trees/a", strings.Replace(tree, "oak", "bad", 1))
		p.ended(bad.Header.Get("Location"), endpoint.Failed)
		c.check("/jobs/{id}", p.send("GET", bad.Header.Get("Location"), ""))
		c.check("/jobs/{id}/result", p.want(p.send("GET", bad.Header.Get("Location")+"/result", ""), 418, "failed"))
		c.check("/jobs", p.send("GET", "/jobs", ""))
		c.check("/jobs", p.send("GET", "/jobs?status=Odd", ""))
		var running *answer
		p.soon("room in the queue", func() bool { running = p.send("PUT", "/gate", `{}`); return running.StatusCode == 202 })
		g.arrive(p)
		c.check("/jobs/{id}", p.want(p.send("DELETE", running.Header.Get("Location"), ""), 202, "a running task"))
	})
}
