package endpoints_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// Order is the body of the endpoint that most tests use.
type Order struct {
	Item  string   `json:"item"`
	Count int      `json:"count"`
	Tags  []string `json:"tags,omitempty"`
}

// Receipt is its result.
type Receipt struct {
	Text string `json:"text"`
	Sum  int    `json:"sum"`
}

// Orders is quick and does not fail.
var Orders = endpoint.Define("orders", func(_ context.Context, in endpoint.Request[Order]) (Receipt, error) {
	return Receipt{Text: in.Body.Item, Sum: 2 * in.Body.Count}, nil
})

// AE-009, AE-012, AE-028: accepted is stored; the result is JSON inside the status.
func TestAcceptedMeansStoredAndTellsWhereToLook(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		a := p.accepted("/orders", `{"item":"tea","count":21}`)
		location := a.Header.Get("Location")
		if location != "/tasks/"+a.doc.ID || a.Header.Get("Operation-Location") != p.url+location {
			t.Errorf("Location %q, Operation-Location %q; want the status of %s, relative and absolute", location, a.Header.Get("Operation-Location"), a.doc.ID)
		}
		if a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("Retry-After %q, Cache-Control %q; want 1, no-store", a.Header.Get("Retry-After"), a.Header.Get("Cache-Control"))
		}
		d := a.doc
		if d.Name != "orders" || d.Status != endpoint.Queued || d.Code != 100 || d.Attempt != 1 || d.MaxAttempts != 4 || d.CreatedAt.IsZero() {
			t.Errorf("the status is %+v, want a queued order at its first of four attempts", d)
		}
		if tasks := p.tasks(); len(tasks) != 1 || tasks[0].ID.String() != d.ID {
			t.Errorf("%d tasks are stored, want the one", len(tasks))
		}
		p.work(Orders.Serve, kernel.Config{})
		d = p.ended(location, endpoint.Completed)
		if string(d.Result) != `{"text":"tea","sum":42}` || d.Code != 400 || d.StartedAt.IsZero() || d.CompletedAt.IsZero() || d.ExpiresAt.IsZero() || d.Error != nil {
			t.Errorf("the status is %+v, want it completed with its result and times", d)
		}
	})
}

// AE-004, AE-110: what may be stored reaches the function as it came; secrets are not stored unless they are named.
func TestHeadersRouteAndQueryReachTheFunction(t *testing.T) {
	show := endpoint.Define("show", func(_ context.Context, in endpoint.Request[endpoint.None]) (map[string]any, error) {
		return map[string]any{
			"params": in.Params, "query": in.Query, "method": in.Method, "path": in.Path,
			"many": in.Header.Values("x-many"), "agent": in.Header.Get("user-agent"), "auth": in.Header.Get("Authorization"),
			"cookie": in.Header.Get("Cookie"), "other": in.Header.Get("X-Other"),
		}, nil
	})
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.work(show.Serve, kernel.Config{})
		p.mux.Handle("PUT /shops/{shop}/items/{rest...}", show.Handler(p.k, endpoint.Config{Site: p.site, Headers: []string{"x-many"}}))
		header := []string{"X-Many", "one", "X-Many", "two", "User-Agent", "me", "Authorization", "Bearer s3cret", "Cookie", "id=s3cret", "X-Other", "no"}
		a := p.want(p.send("PUT", "/shops/7/items/a/b?x=1&x=2&y=z", "", header...), 202, "PUT")
		d := p.ended(a.Header.Get("Location"), endpoint.Completed)
		want := `{"agent":"me","auth":"","cookie":"","many":["one","two"],"method":"PUT","other":"","params":{"rest":"a/b","shop":"7"},` +
			`"path":"/shops/7/items/a/b","query":{"x":["1","2"],"y":["z"]}}`
		if string(d.Result) != want {
			t.Errorf("the function saw %s, want %s", d.Result, want)
		}
		for _, task := range p.tasks() {
			if text := fmt.Sprintf("%s %s %+v", task.Args, task.Result, task.Labels); strings.Contains(text, "s3cret") {
				t.Errorf("a secret is stored: %s", text)
			}
		}
		p.mux.Handle("PUT /named", show.Handler(p.k, endpoint.Config{Site: p.site, Headers: []string{"authorization"}}))
		d = p.ended(p.want(p.send("PUT", "/named", "", header...), 202, "PUT").Header.Get("Location"), endpoint.Completed)
		var saw map[string]any
		if err := json.Unmarshal(d.Result, &saw); err != nil || saw["auth"] != "Bearer s3cret" || saw["cookie"] != "" {
			t.Errorf("the function saw %v (%v), want the header that was named and no other", saw, err)
		}
	})
}

// AE-005, AE-104: each refusal has its status, and leaves nothing behind.
func TestABodyThatCannotBeTakenIsRefusedByItsStatus(t *testing.T) {
	everywhere(t, setup{kernel: kernel.Config{MaxPayload: 2000}}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site, MaxBody: 1000}))
		p.mux.Handle("POST /large", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		long := `{"item":"` + strings.Repeat("x", 1000) + `"}`
		for _, c := range []struct {
			name, path, body, kind string
			status                 int
			code                   string
		}{
			{"no body", "/orders", "", "application/json", 400, "no_body"},
			{"blank body", "/orders", "  \n", "application/json", 400, "no_body"},
			{"malformed", "/orders", `{"item":`, "application/json", 400, "bad_json"},
			{"two values", "/orders", `{} {}`, "application/json", 400, "bad_json"},
			{"null", "/orders", `null`, "application/json", 422, "bad_body"},
			{"another type", "/orders", `{"count":"many"}`, "application/json", 422, "bad_body"},
			{"a list", "/orders", `[1]`, "application/json", 422, "bad_body"},
			{"no content type", "/orders", `{}`, "", 415, "bad_type"},
			{"text", "/orders", `{}`, "text/plain", 415, "bad_type"},
			{"XML", "/orders", `<a/>`, "application/xml", 415, "bad_type"},
			{"over the bound of the endpoint", "/orders", long, "application/json", 413, "too_large"},
			{"over the bound of the store", "/large", `{"item":"` + strings.Repeat("x", 1990) + `"}`, "application/json", 413, "too_large"},
			{"a form of another type", "/orders", "count=many", "application/x-www-form-urlencoded", 422, "bad_body"},
			{"no form", "/orders", "%zz", "application/x-www-form-urlencoded", 400, "bad_form"},
			{"multipart cut off", "/orders", "--b\r\nContent-Disposition: form-data; name=\"item\"\r\n\r\ntea\r\n", "multipart/form-data; boundary=b", 400, "bad_form"},
			{"no multipart", "/orders", "x", "multipart/form-data; boundary=b", 400, "bad_form"},
		} {
			a := p.send("POST", c.path, c.body, "Content-Type", c.kind)
			if a.StatusCode != c.status || a.fail.Code != c.code || a.fail.Status != c.status || a.fail.Title == "" {
				t.Errorf("%s: the answer is %d %s, want %d %s as a problem", c.name, a.StatusCode, a.body, c.status, c.code)
			}
		}
		if n := len(p.tasks()); n != 0 {
			t.Errorf("%d tasks are stored, want none", n)
		}
		p.want(p.send("POST", "/orders", `{}`, "Content-Type", "application/vnd.shop+json; charset=utf-8"), 202, "a kind of JSON")
	})
}

// AE-006: what validation refuses, by an error or by an answer of its own, is not stored.
func TestWhatValidationRefusesIsNotStored(t *testing.T) {
	strict := endpoint.Define("strict", func(context.Context, endpoint.Request[Order]) (endpoint.None, error) { return endpoint.None{}, nil }).
		Validate(func(w http.ResponseWriter, r *http.Request, in endpoint.Request[Order]) error {
			switch in.Body.Item {
			case "":
				return errors.New("the item is missing")
			case "gone":
				return &endpoint.Problem{Status: 410, Code: "sold_out"}
			case "here":
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			}
			return nil
		})
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /strict", strict.Handler(p.k, endpoint.Config{Site: p.site}))
		if a := p.want(p.send("POST", "/strict", `{}`), 422, "an error"); a.fail.Detail != "the item is missing" || a.fail.Code != "invalid" {
			t.Errorf("the answer is %s, want the text of the error", a.body)
		}
		if a := p.want(p.send("POST", "/strict", `{"item":"gone"}`), 410, "a problem"); a.fail.Code != "sold_out" {
			t.Errorf("the answer is %s, want the problem", a.body)
		}
		if a := p.want(p.send("POST", "/strict", `{"item":"here"}`), 302, "an answer"); a.Header.Get("Location") != "/elsewhere" {
			t.Errorf("the answer is %+v, want the hook's own", a.Header)
		}
		if n := len(p.tasks()); n != 0 {
			t.Errorf("%d tasks are stored, want none", n)
		}
		p.accepted("/strict", `{"item":"tea"}`)
	})
}

// AE-035: forms, files, raw bytes and requests without a body are taken by endpoints of their types.
func TestEveryKindOfBodyReachesTheFunction(t *testing.T) {
	type form struct {
		Order
		Paid  bool    `form:"paid"`
		Price float64 `form:"price"`
		Note  *string `form:"note"`
	}
	forms := endpoint.Define("forms", func(_ context.Context, in endpoint.Request[form]) (string, error) {
		text := fmt.Sprintf("%s %d %v %v %v %s", in.Body.Item, in.Body.Count, in.Body.Tags, in.Body.Paid, in.Body.Price, *in.Body.Note)
		for _, f := range in.Files {
			text += fmt.Sprintf(" %s=%s(%s)%q", f.Field, f.Name, f.Type, f.Data)
		}
		return text, nil
	})
	raw := endpoint.Define("raw", func(_ context.Context, in endpoint.Request[[]byte]) (string, error) {
		return fmt.Sprintf("%s %q", in.Type, in.Body), nil
	})
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.work(func(k *kernel.Kernel) { forms.Serve(k); raw.Serve(k) }, kernel.Config{})
		p.mux.Handle("POST /forms", forms.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("POST /raw", raw.Handler(p.k, endpoint.Config{Site: p.site}))
		values := url.Values{"item": {"tea"}, "COUNT": {"3"}, "tags": {"a", "b"}, "paid": {"on"}, "price": {"1.5"}, "note": {"now"}, "unknown": {"x"}}
		multipart := "--b\r\nContent-Disposition: form-data; name=\"item\"\r\n\r\ntea\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nnow\r\n" +
			"--b\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"a.bin\"\r\nContent-Type: image/x\r\n\r\n\x00\xff\r\n--b--\r\n"
		for _, c := range []struct{ path, kind, body, want string }{
			{"/forms", "application/x-www-form-urlencoded", values.Encode(), `tea 3 [a b] true 1.5 now`},
			{"/forms", "application/json", `{"item":"tea","count":3,"note":"now"}`, `tea 3 [] false 0 now`},
			{"/forms", "multipart/form-data; boundary=b", multipart, `tea 0 [] false 0 now scan=a.bin(image/x)"\x00\xff"`},
			{"/raw", "image/x", "\x00\xff", `image/x "\x00\xff"`},
		} {
			a := p.accepted(c.path, c.body, "Content-Type", c.kind)
			var got string
			if err := json.Unmarshal(p.ended(a.Header.Get("Location"), endpoint.Completed).Result, &got); err != nil || got != c.want {
				t.Errorf("%s: the function saw %q, %v; want %q", c.kind, got, err, c.want)
			}
		}
	})
}

// AE-001: every setting has its default, which shows in the task.
func TestTheDefaultsOfAnEndpoint(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{}))
		p.accepted("/orders", `{}`)
		task := p.tasks()[0]
		want := kernel.Retry{Max: 4, Base: 4e9, Factor: 2, Exact: true}
		if !reflect.DeepEqual(task.Retry, want) || task.Queue != "default" || task.Timeout.String() != "30m0s" || task.Retention.String() != "24h0m0s" {
			t.Errorf("the task is %+v, want the defaults", task.Spec)
		}
		if task.Kind != "endpoint.orders" || task.Unique.Key != "" || task.StartBy != 0 || task.Priority != 0 {
			t.Errorf("the task is %+v, want the defaults", task.Spec)
		}
	})
}
