package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/outlast-go/outlast/internal/schema"
)

type object = schema.Object

// openAPI answers with the document.
func openAPI(*request, none) (json.RawMessage, error) { return json.Marshal(Document()) }

// Document returns the OpenAPI 3.1 document of the API, ready for encoding/json. It is made of the table of routes.
func Document() map[string]any {
	set := schema.New(map[reflect.Type]object{
		reflect.TypeFor[Span](): {"type": []any{"string", "number"}, "description": "a duration such as 30s; in requests also seconds"},
	})
	text := object{"type": "string"}
	set.All["Problem"] = object{
		"type": "object", "required": []any{"type", "title", "status", "code"},
		"properties": object{
			"type": text, "title": text, "status": object{"type": "integer"}, "detail": text, "code": text,
			"bad": object{"type": "integer", "description": "of bad_rows: how many"}, "badRows": object{"type": "array", "items": set.Of(reflect.TypeFor[BadRow]())},
		},
	}
	paths := object{}
	for _, r := range routes() {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = r.describe(set) //nolint:errcheck,forcetypeassert // it was put there as one
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Outlast", "version": "1",
			"description": "Background work that outlasts crashes: submit, work and operate from any language.",
		},
		"servers": []any{object{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":         set.All,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
}

// describe makes the operation of a line.
func (r route) describe(set *schema.Set) object {
	good := object{"description": "done"}
	switch {
	case r.media != "":
		good = object{"description": "done", "content": object{r.media: object{"schema": object{"type": "string"}}}}
	case r.out != nil:
		good = object{"description": "done", "content": object{"application/json": object{"schema": set.Of(r.out)}}}
	}
	responses := object{fmt.Sprint(r.status): good}
	if r.media == eventStream {
		responses["204"] = object{"description": "it has ended, and there is nothing newer"}
	}
	for _, status := range r.statuses() {
		responses[fmt.Sprint(status)] = object{
			"description": refusalText[status],
			"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
		}
	}
	op := object{"operationId": r.operation(), "summary": r.what, "responses": responses, "tags": []any{r.tag()}}
	if r.scope == Public {
		op["security"] = []any{}
	} else {
		op["security"] = []any{object{"token": []any{}}}
		op["description"] = "Scope: " + string(r.scope) + "."
	}
	if r.in != nil {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": set.Of(r.in)}}}
	}
	if len(r.takes) > 0 {
		content := object{}
		for _, media := range r.takes {
			content[media] = object{"schema": object{"type": "string"}}
		}
		op["requestBody"] = object{"required": true, "content": content}
	}
	if list := r.parameters(); len(list) > 0 {
		op["parameters"] = list
	}
	return op
}

// refusalText says what a refusal means.
var refusalText = map[int]string{
	400: "the request is malformed", 401: "there is no token, or not a good one", 403: "the token does not allow it",
	404: "there is no such thing in this namespace", 409: "not possible as it stands; code fenced: the task belongs to another",
	413: "the request is too large", 415: "the body is not of the type that is wanted", 422: "the request can never be accepted", 429: "too many requests",
	500: "something went wrong", 501: "this daemon does not do that", 503: "the store did not answer: repeat it with the same id or nonce",
}

// statuses lists what a line may refuse with.
func (r route) statuses() []int {
	list := append([]int{429, 500}, r.refuses...)
	if r.scope != Public {
		list = append(list, 401, 403, 503)
	}
	if r.in != nil || len(r.takes) > 0 {
		list = append(list, 400, 413, 415, 422)
	} else if r.scope != Public {
		list = append(list, 400, 422)
	}
	return list
}

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

func (r route) parameters() []any {
	var list []any
	add := func(in, name, what string, required bool) {
		list = append(list, object{"in": in, "name": name, "description": what, "required": required, "schema": object{"type": "string"}})
	}
	for _, m := range wildcard.FindAllStringSubmatch(r.path, -1) {
		add("path", m[1], "the "+m[1], true)
	}
	for _, p := range r.query {
		add("query", p.name, p.what, false)
	}
	if r.media == eventStream {
		add("header", "Last-Event-ID", "go on after this event", false)
	}
	return list
}

// operation names a line: get_tasks_id.
func (r route) operation() string {
	path := strings.NewReplacer("/v1/", "", "/healthz", "healthz", "/readyz", "readyz", "/metrics", "metrics", "{", "", "}", "", "/", "_", ".", "_").Replace(r.path)
	return strings.ToLower(r.method) + "_" + path
}

// tag is the first word of the path.
func (r route) tag() string {
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.path, "/v1"), "/"), "/")
	return strings.TrimSuffix(word, ".json")
}

// nearField tells what an unknown field may have been meant to be.
func nearField(text string, t reflect.Type) string {
	_, name, _ := strings.Cut(text, "unknown field ")
	name = strings.Trim(name, `"`)
	var fields []string
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
				fields = append(fields, tag)
			}
		}
	}
	for _, f := range fields {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), f) {
			return fmt.Sprintf("the field %.80q is not known; did you mean %q?", name, f)
		}
	}
	return fmt.Sprintf("the field %.80q is not known; there are %s", name, strings.Join(fields, ", "))
}

// Page returns the table of routes as a page in Markdown is made of it.
func Page() string {
	var b strings.Builder
	b.WriteString("| method and path | scope | what it does |\n|---|---|---|\n")
	for _, r := range routes() {
		fmt.Fprintf(&b, "| `%s %s` | %s | %s |\n", r.method, r.path, r.scope, r.what)
	}
	return b.String()
}

var _ http.Handler = (*Server)(nil)
