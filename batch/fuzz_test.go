package batch

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/kernel"
)

// Every row has a line of the text, each a later one; a bad row is a *LineError of its own line and stops nobody; a good one is what the
// line says.
func FuzzJSONLines(f *testing.F) {
	f.Add("{\"a\":1}\n\n[2]\r\nnull\n")
	f.Add("\ufeff{\"a\":1} x\n{")
	f.Add(strings.Repeat("[", 3000))
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		last := int64(0)
		for row, err := range jsonLines[json.RawMessage](strings.NewReader(text)) {
			if row.Line <= last || row.Line > int64(len(lines)) {
				t.Fatalf("line %d comes after %d, of %d", row.Line, last, len(lines))
			}
			last = row.Line
			var bad *LineError
			if err != nil {
				if !errors.As(err, &bad) || bad.Line != row.Line || !errors.Is(err, kernel.ErrInvalid) {
					t.Errorf("line %d: %v; want a LineError", row.Line, err)
				}
				continue
			}
			if !json.Valid(row.Input) || !strings.Contains(lines[row.Line-1], string(row.Input)) {
				t.Errorf("line %d is %q; read %q", row.Line, lines[row.Line-1], row.Input)
			}
		}
	})
}

// Every row that is read has a value for each column, and is one that a plain reader of CSV finds as well; what is bad is told with its line.
func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,2\n3\n\"x\ny\",z\n")
	f.Add("\ufeffa\n1\n")
	f.Add("a,a\n1,2")
	f.Add("a,\n1,2")
	f.Add("a;b\n\"1,2")
	f.Fuzz(func(t *testing.T, text string) {
		plain := csv.NewReader(strings.NewReader(text))
		plain.FieldsPerRecord = -1
		header, headerErr := plain.Read()
		last := int64(0)
		for row, err := range csvRows[map[string]string](strings.NewReader(text), CSVConfig{}) {
			if err != nil {
				if !errors.Is(err, kernel.ErrInvalid) {
					t.Errorf("line %d: %v; want ErrInvalid", row.Line, err)
				}
				continue
			}
			if row.Line <= last || headerErr != nil || len(row.Input) != len(header) {
				t.Errorf("line %d after %d: %q under the header %q", row.Line, last, row.Input, header)
			}
			last = row.Line
		}
		type typed struct {
			A int     `json:"a"`
			B *string `json:"b"`
		}
		for _, err := range csvRows[typed](strings.NewReader(text), CSVConfig{}) {
			if err != nil && !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("%v; want ErrInvalid", err)
			}
		}
	})
}

// A pattern that passes matches in a time that does not explode, and never a path by a part of it.
func FuzzPattern(f *testing.F) {
	f.Add("**/x-*.jsonl", "a/b/x-1.jsonl")
	f.Add("in/*.csv", "in/../x.csv")
	f.Add(strings.Repeat("**/a/", 40)+"b", strings.Repeat("a/", 400)+"c")
	f.Add("[a-", "a")
	f.Add("**", "a/b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if checkPattern(pattern) != nil || len(pattern)+len(name) > 5000 {
			return
		}
		match := matchPath(pattern, name)
		if pattern == name && !strings.ContainsAny(name, `*?[\`) && !strings.HasPrefix(name, "/") && name == strings.Trim(name, "/") && !match {
			t.Errorf("%q does not match itself", name)
		}
		if match && !strings.ContainsAny(pattern, `*?[\`) && !strings.HasSuffix(name, strings.TrimPrefix(pattern, "/")) {
			t.Errorf("%q matches %q", pattern, name)
		}
	})
}
