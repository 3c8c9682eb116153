package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What a client says in headers and in the query is taken within its bounds, or refused with a problem of 400.
func FuzzHeaders(f *testing.F) {
	f.Add("respond-async, wait=10", `"key"`, "30s", "Failed,400", "20")
	f.Add("wait=-1;x=y", `"a\"b";p=1`, "-9223372036854775808", "x", "0")
	f.Add(`wait="99999999999999999999"`, `"a\`, "9223372036854775807", "100", "101")
	f.Add("WAIT=1,wait=2", "\x7f", "-18446744073", "", "-1")
	f.Fuzz(func(t *testing.T, prefer, key, wait, status, limit string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/x", nil)
		r.Header["Prefer"] = []string{prefer}
		if p := preferences(r); p.wait < 0 || p.wait > 1<<20*time.Second {
			t.Errorf("Prefer: %q waits for %v", prefer, p.wait)
		}
		r.Header["Idempotency-Key"] = []string{key}
		switch got, p := keyOf(r); {
		case p != nil && p.Status != http.StatusBadRequest:
			t.Errorf("Idempotency-Key: %q = %v", key, p)
		case p == nil && (got == "" || len(got) > keyLimit || strings.ContainsAny(got, "\x00\r\n")):
			t.Errorf("Idempotency-Key: %q = %q", key, got)
		}
		q := url.Values{"wait": {wait}, "status": {status}, "limit": {limit}, "cursor": {key}}
		r.URL.RawQuery = q.Encode()
		if d, p := waitOf(r); p == nil && d < 0 || p != nil && p.Status != http.StatusBadRequest {
			t.Errorf("wait=%q = %v, %v", wait, d, p)
		} else if strings.HasPrefix(wait, "-") && p == nil && d > 0 {
			t.Errorf("wait=%q waits for %v", wait, d)
		}
		if _, page, p := filter(q); p == nil && (page.Limit < 1 || page.Limit > pageMost) || p != nil && p.Status != http.StatusBadRequest {
			t.Errorf("status=%q limit=%q = %+v, %v", status, limit, page, p)
		}
	})
}

// A body of any kind is decoded or refused with a problem of 4xx, which repeats nothing of it.
func FuzzBody(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add(`{"name":"x","n":3,"list":[1],"at":"2026-01-31T12:00:00Z"}`)
	f.Add("name=x&n=3&list=1&list=2&on=on&at=x")
	f.Add(`{"n":"` + secret + `"}`)
	f.Add("n=" + secret)
	f.Add("null")
	f.Add(strings.Repeat("[", 20000))
	type input struct {
		Name string    `json:"name"`
		N    int8      `json:"n"`
		List []uint16  `json:"list"`
		On   *bool     `json:"on"`
		At   time.Time `json:"at"`
		F    float32   `json:"f"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) {
			p := asProblem(err)
			if err != nil && (p == nil || p.Status < 400 || p.Status > 499 || strings.Contains(p.Error(), secret)) {
				t.Errorf("%q = %v; want a problem of 4xx that does not repeat it", text, err)
			}
		}
		var in input
		check(decodeJSON([]byte(text), &in))
		if form, err := url.ParseQuery(text); err == nil {
			check(decodeForm(form, &in))
			check(decodeForm(form, &map[string]string{}))
			check(decodeForm(form, new(int)))
		}
	})
}

// A problem from anywhere can be written as an answer, whatever its status; written and read it is the same.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"type":"about:blank","title":"x","status":404,"detail":"d","more":[1]}`))
	f.Add([]byte(`{"status":42}`))
	f.Add([]byte(`{"status":1e300}`))
	f.Add([]byte(`{"status":101,"title":7}`))
	f.Add([]byte("\x00{\"status\":99}\nbody"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := decodeResult(data); err == nil {
			httptest.NewRecorder().WriteHeader(r.Status)
			if r.Status == http.StatusOK && !bytes.HasPrefix(data, []byte{0}) && !bytes.Equal(r.Body, data) {
				t.Errorf("decodeResult(%q) = %+v", data, r)
			}
		}
		var p Problem
		if json.Unmarshal(data, &p) != nil {
			return
		}
		w := httptest.NewRecorder()
		writeProblem(w, nil, &p)
		var again Problem
		if err := json.Unmarshal(w.Body.Bytes(), &again); err != nil || w.Code != again.Status || w.Code < 200 {
			t.Errorf("%q is answered with %d: %s, %v", data, w.Code, w.Body, err)
		}
		if !errors.Is(&p, &p) || again.Detail != p.Detail {
			t.Errorf("%q reads as %+v, and then as %+v", data, p, again)
		}
	})
}
