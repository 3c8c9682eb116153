package rowcall

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// A value of a row stays inside its place: it cannot end the URL's path or query, nor the JSON of the body, whatever is in it.
func FuzzRequest(f *testing.F) {
	f.Add("plain")
	f.Add(`"}, {"admin": true`)
	f.Add("../../x?y=1&z=2#f")
	f.Add("\r\nHost: evil")
	f.Add("\x00\xff{{.other}}")
	kitchen, err := Prepare(Recipe{
		URL: "https://api.example.com/items/{{.q}}?q={{.q}}", Body: `{"q": {{.q}}, "n": 1}`, Header: []string{"X-Q: {{.q}}"},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		value = strings.ToValidUTF8(value, "\ufffd") // as JSON has it
		req, err := kitchen.request(map[string]json.RawMessage{"q": text})
		if err != nil {
			t.Fatalf("request = %v", err)
		}
		var body map[string]any
		if json.Unmarshal(req.Body, &body) != nil || len(body) != 2 || body["n"] != 1.0 {
			t.Errorf("the body became %q", req.Body)
		}
		u, err := url.Parse(req.URL)
		if err != nil || u.Host != "api.example.com" || strings.Count(u.EscapedPath(), "/") != 2 || len(u.Query()) != 1 || u.Fragment != "" {
			t.Fatalf("the URL became %q, %v", req.URL, err)
		}
		if got := u.Query().Get("q"); len(got) != len(body["q"].(string)) && got != value {
			t.Errorf("the query has %q; want %q", got, value)
		}
	})
}

// A recipe of any text is refused with a word, or makes requests whose columns must be there: what a row has not is never empty text.
func FuzzPrepare(f *testing.F) {
	f.Add("https://h/{{.a}}", `{"a": {{.a}}}`, "X-A: {{raw .a}}")
	f.Add("{{.b}}", "{{", "no colon")
	f.Add("http://h/{{json .a}}", "", ": x")
	f.Fuzz(func(t *testing.T, address, body, header string) {
		for _, text := range []string{address, body, header} {
			// A template's author may write a loop that never ends, or a text without bounds: that is between the author and the machine.
			if strings.Contains(text, "range") || strings.Contains(text, "print") || strings.Contains(text, "template") || strings.Contains(text, "block") {
				return
			}
		}
		kitchen, err := Prepare(Recipe{URL: address, Body: body, Header: []string{header}})
		if err != nil {
			return
		}
		if err := kitchen.Check(map[string]json.RawMessage{"a": json.RawMessage(`"x"`)}); err != nil {
			return
		}
		if err := kitchen.Check(map[string]json.RawMessage{}); err == nil && strings.Contains(address, "{{.a}}") {
			t.Errorf("a row without the column a passes %q", address)
		}
	})
}
