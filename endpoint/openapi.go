package endpoint

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/outlast-go/outlast/internal/schema"
)

type object = schema.Object

// given are types whose JSON is not what their fields say.
var given = map[reflect.Type]object{
	reflect.TypeFor[State](): {"type": "string", "enum": []any{
		"Queued", "Scheduled", "InProgress", "Completed", "Failed", "Canceled",
	}},
	reflect.TypeFor[Problem](): {"$ref": "#/components/schemas/Problem"},
}

// API describes what is mounted as an OpenAPI 3.1 document, with schemas of the Go types, and serves it. Its zero value works.
type API struct {
	Title   string // default "Asynchronous endpoints"
	Version string // default "1"

	mu      sync.Mutex
	mounted []mounted
}

type mounted struct {
	method, path string
	handler      http.Handler
}

// Mount puts a handler on a mux and describes it.
func (a *API) Mount(mux *http.ServeMux, pattern string, h http.Handler) {
	mux.Handle(pattern, h)
	a.Describe(pattern, h)
}

// Describe describes a handler that is mounted elsewhere: an Acceptor by its pattern ("POST /reports/{year}"), a StatusHandler
// by its Site. Others are left out.
func (a *API) Describe(pattern string, h http.Handler) {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodPost, pattern
	}
	if i := strings.Index(path, "/"); i > 0 {
		path = path[i:] // without the host
	}
	path = strings.ReplaceAll(strings.ReplaceAll(path, "...}", "}"), "{$}", "")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mounted = append(a.mounted, mounted{strings.ToLower(method), strings.TrimSpace(path), h})
}

// ServeHTTP answers with the document.
func (a *API) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, a.Document())
}

// Document returns the document, ready for encoding/json.
func (a *API) Document() map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := schema.New(given)
	g.All["Problem"] = problemSchema()
	status := g.Of(reflect.TypeFor[Document]())
	paths := object{}
	at := func(path string) object {
		if paths[path] == nil {
			paths[path] = object{}
		}
		return paths[path].(object) //nolint:errcheck,forcetypeassert // it was put there as one
	}
	for _, m := range a.mounted {
		switch h := m.handler.(type) {
		case *Acceptor:
			at(m.path)[m.method] = h.describe(g, m.path, status)
		case *StatusHandler:
			for path, methods := range h.describe(g, status) {
				for method, op := range methods {
					at(path)[method] = op
				}
			}
		}
	}
	title, version := a.Title, a.Version
	if title == "" {
		title = "Asynchronous endpoints"
	}
	if version == "" {
		version = "1"
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": title, "version": version},
		"paths": paths, "components": object{"schemas": g.All},
	}
}

func problemSchema() object {
	text := object{"type": "string"}
	return object{
		"type":       "object",
		"properties": object{"type": text, "title": text, "status": object{"type": "integer"}, "detail": text, "instance": text, "code": text},
		"required":   []any{"type", "title"},

		"additionalProperties": object{}, // Problem.More
	}
}

// describe makes the operation of an endpoint.
func (a *Acceptor) describe(g *schema.Set, path string, status object) object {
	responses := object{
		"202": answer("accepted; the status", "application/json", status, "Location", "Operation-Location", "Retry-After"),
		"200": a.describeResult(g),
	}
	for code, text := range map[string]string{
		"400": "the request is malformed", "401": "it is not known who asks", "413": "the request is too large", "415": "the content type is not taken",
		"422": "the request cannot be accepted, or its key was used for another", "429": "too much waits", "503": "the request was not accepted now",
	} {
		responses[code] = refusalSchema(text)
	}
	op := object{
		"operationId": strings.NewReplacer("/", "_", ".", "_", ":", "_").Replace(a.name), "tags": []any{"AsyncEndpoint"},
		"parameters": append(pathParameters(path),
			parameter("header", "Idempotency-Key", "the same key and request, the same task", a.cfg.RequireKey),
			parameter("header", "Prefer", "respond-async, wait=N: the result itself if it is there within N seconds", false)),
		"responses": responses,
	}
	if body := a.describeBody(g); body != nil {
		op["requestBody"] = object{"required": true, "content": body}
	}
	return op
}

func (a *Acceptor) describeBody(g *schema.Set) object {
	switch a.body {
	case bodyNone:
		return nil
	case bodyRaw:
		return object{"*/*": object{}}
	}
	s := g.Of(a.in)
	return object{
		"application/json": object{"schema": s}, "application/x-www-form-urlencoded": object{"schema": s}, "multipart/form-data": object{"schema": s},
	}
}

func (a *Acceptor) describeResult(g *schema.Set) object {
	text := "the result; only with Prefer: wait"
	switch {
	case a.out == reflect.TypeFor[Response]() || a.out == reflect.TypeFor[*Response]() || a.out == reflect.TypeFor[[]byte]():
		return object{"description": text, "content": object{"*/*": object{}}}
	case a.out.Kind() == reflect.Struct && a.out.NumField() == 0:
		return object{"description": text}
	}
	return answer(text, "application/json", g.Of(a.out))
}

// describe makes the operations on tasks.
func (h *StatusHandler) describe(g *schema.Set, status object) map[string]map[string]object {
	id := pathParameters("{id}")
	wait := parameter("query", "wait", "how long to wait: seconds, or 30s", false)
	shown := answer("the status", "application/json", status, "ETag", "Retry-After")
	asked := answer("asked to end; the status", "application/json", status)
	plain := func(code string, ok object, more ...any) object {
		return object{"tags": []any{"AsyncEndpoint"}, "parameters": append(append([]any{}, id...), more...), "responses": object{
			code: ok, "401": refusalSchema("it is not known who asks"), "404": refusalSchema("there is no such task"),
			"409": refusalSchema("not possible as the task stands"), "410": refusalSchema("the task is no longer kept"),
			"503": refusalSchema("the store does not answer"), "default": refusalSchema("how the task failed"),
		}}
	}
	with := func(op object, code string, res object) object {
		op["responses"].(object)[code] = res //nolint:errcheck,forcetypeassert // plain has put it there
		return op
	}
	one := h.site.Path + "/{id}"
	bare := func(text string) object { return object{"description": text} }
	look := with(plain("200", shown, wait, parameter("query", "redirect", "303 to the result once completed", false)), "304", bare("not changed"))
	result := with(plain("200", object{"description": "the result", "content": object{"*/*": object{}}}, wait), "204", bare("there is none"))
	cancel := with(plain("202", asked, parameter("header", "If-Match", "the status it is meant for", false)), "200", shown)
	remove := with(with(plain("204", bare("removed")), "202", asked), "200", shown)
	events := with(plain("200", object{"description": "events", "content": object{"text/event-stream": object{}}}), "204", bare("it has ended"))
	list := object{"tags": []any{"AsyncEndpoint"}, "parameters": listParameters(), "responses": object{
		"200": answer("a page", "application/json", g.Of(reflect.TypeFor[List]()), "Link"), "400": refusalSchema("a bad filter"),
	}}
	return map[string]map[string]object{
		h.site.Path:     {"get": list},
		one:             {"get": with(look, "303", bare("see the result")), "delete": remove},
		one + "/events": {"get": events}, one + "/result": {"get": result}, one + ":cancel": {"post": cancel},
	}
}

func listParameters() []any {
	var list []any
	for _, name := range []string{"status", "name", "after", "before", "limit", "cursor"} {
		list = append(list, parameter("query", name, "filter", false))
	}
	return list
}

func parameter(in, name, text string, required bool) object {
	return object{"in": in, "name": name, "description": text, "required": required, "schema": object{"type": "string"}}
}

func pathParameters(path string) []any {
	list := []any{}
	for _, name := range wildcards(path) {
		list = append(list, parameter("path", name, "a part of the path", true))
	}
	return list
}

// answer describes a response with a body and headers.
func answer(text, media string, of object, headers ...string) object {
	res := object{"description": text, "content": object{media: object{"schema": of}}}
	if len(headers) > 0 {
		all := object{}
		for _, name := range headers {
			all[name] = object{"schema": object{"type": "string"}}
		}
		res["headers"] = all
	}
	return res
}

func refusalSchema(text string) object {
	return answer(text, "application/problem+json", object{"$ref": "#/components/schemas/Problem"})
}

var (
	_ json.Marshaler = (*Problem)(nil)
	_ http.Handler   = (*API)(nil)
	_ http.Handler   = (*Acceptor)(nil)
	_ http.Handler   = (*StatusHandler)(nil)
)
