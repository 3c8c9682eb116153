// Package rowcall makes one HTTP request of each row of a file: the request is a recipe of templates, a row an entry of a batch, and so
// each is sent until it has ended, whatever becomes of the process.
package rowcall

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/outlast-go/outlast/call"
)

// Recipe is how the request of a row is made. URL, Body and the values of Header are templates: {{.name}} stands for a column, written
// as its place wants it, as JSON in the body, escaped in the URL, as it is in a header. {{raw .name}} is the bare text.
type Recipe struct {
	Method  string // default: POST with a body, else GET
	URL     string
	Body    string
	Header  []string // "Name: value"
	Timeout time.Duration
	// Attempts is how often a row is tried at most, for what another attempt may mend.
	Attempts int
}

// Kitchen is a recipe that was found to be good.
type Kitchen struct {
	method  string
	url     *template.Template
	body    *template.Template // nil: none
	header  []headerLine
	timeout time.Duration
	recipe  Recipe
}

type headerLine struct {
	name  string
	value *template.Template
}

// Prepare reads the templates of a recipe.
func Prepare(r Recipe) (*Kitchen, error) {
	k := &Kitchen{method: strings.ToUpper(r.Method), timeout: r.Timeout, recipe: r}
	if k.method == "" {
		k.method = http.MethodGet
		if r.Body != "" {
			k.method = http.MethodPost
		}
	}
	var err error
	if k.url, err = parse("--url", r.URL); err != nil {
		return nil, err
	}
	if r.Body != "" {
		if k.body, err = parse("--body", r.Body); err != nil {
			return nil, err
		}
	}
	for _, line := range r.Header {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("the header %.60q is not written as \"Name: value\"", line)
		}
		t, err := parse("--header "+name, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		k.header = append(k.header, headerLine{name, t})
	}
	return k, nil
}

// parse reads a template. What it names and a row has not is an error, never an empty text.
func parse(name, text string) (*template.Template, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"raw":  func(c cell) string { return c.text() },
		"json": func(c cell) string { return string(c.json) },
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "template: "+name+":"))
	}
	return t, nil
}

// Key names the work: the same recipe on the same rows is the same work. Values of headers are no part of it, as a token may change.
func (k *Kitchen) Key(rows io.Reader) (string, error) {
	h := sha256.New()
	parts := []string{"outlast batch run", k.method, k.recipe.URL, k.recipe.Body}
	for _, line := range k.header {
		parts = append(parts, http.CanonicalHeaderKey(line.name))
	}
	if err := json.NewEncoder(h).Encode(parts); err != nil {
		return "", err
	}
	if _, err := io.Copy(h, rows); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// cell is a value of a row, and how its place wants it written.
type cell struct {
	json  json.RawMessage
	write func(c cell) string
}

// String is what {{.name}} stands for.
func (c cell) String() string { return c.write(c) }

// text is the value as people would write it: of a JSON text what is between the quotes.
func (c cell) text() string {
	var s string
	if json.Unmarshal(c.json, &s) == nil {
		return s
	}
	return string(c.json)
}

func asJSON(c cell) string { return string(c.json) }
func asText(c cell) string { return c.text() }
func asURL(c cell) string  { return strings.ReplaceAll(url.QueryEscape(c.text()), "+", "%20") }

// request makes the request of a row.
func (k *Kitchen) request(row map[string]json.RawMessage) (req call.Request, err error) {
	req = call.Request{Method: k.method, Header: http.Header{}, Timeouts: call.Timeouts{Total: k.timeout}}
	if req.URL, err = fill(k.url, row, asURL); err != nil {
		return req, err
	}
	if k.body != nil {
		body, err := fill(k.body, row, asJSON)
		if err != nil {
			return req, err
		}
		req.Body = []byte(body)
		if json.Valid(req.Body) {
			req.Header.Set("Content-Type", "application/json")
		}
	}
	for _, line := range k.header {
		value, err := fill(line.value, row, asText)
		if err != nil {
			return req, err
		}
		if strings.EqualFold(line.name, "Content-Type") {
			req.Header.Del("Content-Type")
		}
		req.Header.Add(line.name, value)
	}
	return req, nil
}

// Check makes the request of a row and sends nothing: it finds what is wrong with the recipe.
func (k *Kitchen) Check(row map[string]json.RawMessage) error {
	req, err := k.request(row)
	if err != nil {
		return err
	}
	u, err := url.Parse(req.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url gives %q, which is no absolute http or https URL", req.URL)
	}
	if k.body != nil && strings.HasPrefix(strings.TrimSpace(k.recipe.Body), "{") && !k.typed() && !json.Valid(req.Body) {
		return fmt.Errorf("--body gives %.120q, which is no JSON: columns bring their own quotes, so write {\"q\": {{.question}}}", req.Body)
	}
	return nil
}

// typed reports whether the recipe itself says what the body is.
func (k *Kitchen) typed() bool {
	return slices.ContainsFunc(k.header, func(line headerLine) bool { return strings.EqualFold(line.name, "Content-Type") })
}

var noEntry = regexp.MustCompile(`map has no entry for key "([^"]*)"`)

// fill fills in a template.
func fill(t *template.Template, row map[string]json.RawMessage, write func(cell) string) (string, error) {
	data := make(map[string]cell, len(row))
	for name, value := range row {
		data[name] = cell{value, write}
	}
	var b strings.Builder
	err := t.Execute(&b, data)
	if err == nil {
		return b.String(), nil
	}
	if m := noEntry.FindStringSubmatch(err.Error()); m != nil {
		return "", fmt.Errorf("%s names the column %q, which is not there; there are: %s", t.Name(), m[1], strings.Join(slices.Sorted(maps.Keys(row)), ", "))
	}
	var exec template.ExecError
	if errors.As(err, &exec) {
		err = exec.Err
	}
	return "", fmt.Errorf("%s: %w", t.Name(), err)
}
