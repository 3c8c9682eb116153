package endpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// None as the type of a body or a result says that there is none.
type None struct{}

// Request is what an endpoint's function is given of the request that was accepted.
type Request[T any] struct {
	// Body is decoded from JSON or from a form; as []byte it is the bytes as they came, whatever their type; as None there is none.
	Body T
	// Files are those of a multipart form.
	Files []File

	Method string
	Path   string            // of the URL
	Params map[string]string // path values
	Query  url.Values
	Header http.Header // those that may be stored
	Type   string      // content type of the body, without parameters
	Size   int64       // of the body as it came, in bytes; of a multipart form: 0
}

// File is a file of a multipart form.
type File struct {
	Field string `json:"field"` // of the form
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Size  int64  `json:"size"`
	Data  []byte `json:"data,omitempty"`
}

// storedFile is a file as it stands in the task's args: with its data, or with where that is.
type storedFile struct {
	File
	At *kernel.Ref `json:"at,omitempty"`
}

// stored is a request as it stands in the task's args.
type stored struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	Params map[string]string `json:"params,omitempty"`
	Query  url.Values        `json:"query,omitempty"`
	Header http.Header       `json:"header,omitempty"`
	Type   string            `json:"type,omitempty"`

	JSON  json.RawMessage `json:"json,omitempty"`
	Raw   []byte          `json:"raw,omitempty"`
	Form  url.Values      `json:"form,omitempty"`
	Files []storedFile    `json:"files,omitempty"`

	Size   int64       `json:"size,omitempty"`
	JSONAt *kernel.Ref `json:"jsonAt,omitempty"` // where JSON is, if it is not here
	RawAt  *kernel.Ref `json:"rawAt,omitempty"`
}

// fingerprint tells two requests apart. Headers have no part in it: clients send others when they repeat.
func (s *stored) fingerprint() string {
	parts := [][]byte{
		[]byte(s.Method), []byte(s.Path), []byte(s.Query.Encode()), []byte(s.Type), []byte(s.Form.Encode()),
		sumOf(s.JSON, s.JSONAt), sumOf(s.Raw, s.RawAt),
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		parts = append(parts, []byte(name), []byte(s.Params[name]))
	}
	for _, f := range s.Files {
		parts = append(parts, []byte(f.Field), []byte(f.Name), []byte(f.Type), sumOf(f.Data, f.At))
	}
	return digest(parts...)
}

// sumOf is the same for the same content, here or elsewhere.
func sumOf(data []byte, at *kernel.Ref) []byte {
	if at != nil {
		return []byte(at.SHA256)
	}
	sum := sha256.Sum256(data)
	return hex.AppendEncode(nil, sum[:])
}

// request makes what the function is given.
func request[T any](s *stored) (Request[T], error) {
	in := Request[T]{Method: s.Method, Path: s.Path, Params: s.Params, Query: s.Query, Header: s.Header, Type: s.Type, Size: s.Size}
	if in.Header == nil {
		in.Header = http.Header{}
	}
	for _, f := range s.Files {
		in.Files = append(in.Files, f.File)
	}
	switch {
	case kindOf[T]() == bodyNone:
		return in, nil
	case kindOf[T]() == bodyRaw:
		reflect.ValueOf(&in.Body).Elem().SetBytes(s.Raw)
		return in, nil
	case s.JSON == nil && s.JSONAt == nil:
		return in, decodeForm(s.Form, &in.Body)
	}
	return in, decodeJSON(s.JSON, &in.Body)
}

// bodyKind says what body a type asks for.
type bodyKind int

const (
	bodyValue bodyKind = iota // JSON or a form
	bodyNone
	bodyRaw
)

func kindOf[T any]() bodyKind {
	switch t := reflect.TypeFor[T](); {
	case t.Kind() == reflect.Struct && t.NumField() == 0:
		return bodyNone
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && t != reflect.TypeFor[json.RawMessage]():
		return bodyRaw
	}
	return bodyValue
}

// decodeJSON reads a body. The error is a Problem and repeats nothing of what was read.
func decodeJSON(data []byte, into any) error {
	if string(bytes.TrimSpace(data)) == "null" && !nullable(into) {
		return problem(http.StatusUnprocessableEntity, "bad_body", "the body is null")
	}
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	var broken *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		kind, _, _ := strings.Cut(wrong.Value, " ") // after a number comes its value
		p := problem(http.StatusUnprocessableEntity, "bad_body", "%s must not be a JSON %s", place(wrong.Field), kind)
		p.More = map[string]any{"errors": []map[string]string{{"pointer": "/" + strings.ReplaceAll(wrong.Field, ".", "/"), "detail": "must not be a JSON " + kind}}}
		return p
	case errors.As(err, &broken):
		return problem(http.StatusBadRequest, "bad_json", "the body is not JSON (at byte %d of %d)", broken.Offset, len(data))
	}
	return problem(http.StatusUnprocessableEntity, "bad_body", "the body cannot be read: a %T", err)
}

// nullable reports whether null is a value of what a pointer points to.
func nullable(into any) bool {
	switch reflect.TypeOf(into).Elem().Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}

func place(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// open reads the stored request of a run, with what of it lies elsewhere.
func open(ctx context.Context, run *kernel.Run) (*stored, error) {
	var s stored
	if err := json.Unmarshal(run.Task().Args, &s); err != nil {
		// The text of err may repeat what was read, and that may be sealed.
		return nil, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("the stored request does not decode: a %T", err)))
	}
	return &s, s.fetch(ctx, run)
}
