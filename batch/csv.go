package batch

import (
	"encoding"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// CSVConfig says how a CSV text is read. The zero value reads one with commas and a header.
type CSVConfig struct {
	Comma  rune     // default ','
	Header []string // names of the columns, if the first line is not a header
}

// CSV reads rows from a CSV text. Columns go by their names: into the fields of a struct by their JSON names, whatever the case, or
// into a map[string]string. The line of a row is the line of the text on which it begins. A record with other than as many fields as
// the header, and a value that does not convert, come as a *LineError. A header that cannot be meant, or that names a column which the
// struct has no field for, is an error that ends the rows.
func CSV[In any](r io.Reader, cfg CSVConfig) Source[In] {
	return fromReader(r, func(r io.Reader) iter.Seq2[Row[In], error] { return csvRows[In](r, cfg) })
}

func csvRows[In any](r io.Reader, cfg CSVConfig) iter.Seq2[Row[In], error] {
	return func(yield func(Row[In], error) bool) {
		c := csv.NewReader(r)
		c.ReuseRecord = true
		c.FieldsPerRecord = -1 // it is told here, with what is wrong
		if cfg.Comma != 0 {
			c.Comma = cfg.Comma
		}
		fill, width, err := csvHeader[In](c, cfg.Header)
		if err != nil {
			yield(Row[In]{Line: 1}, err)
			return
		}
		for {
			record, err := c.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			row := Row[In]{}
			var broken *csv.ParseError
			switch {
			case errors.As(err, &broken):
				row.Line = int64(broken.StartLine)
				err = lineError(row.Line, "%w: %w", kernel.ErrInvalid, broken.Err)
			case err != nil:
				yield(row, fmt.Errorf("read CSV: %w", err))
				return
			default:
				line, _ := c.FieldPos(0)
				row.Line = int64(line)
				err = fillRow(&row, record, width, fill)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func fillRow[In any](row *Row[In], record []string, width int, fill func(*In, []string) error) error {
	if len(record) != width {
		return lineError(row.Line, "%w: it has %d fields; the header has %d", kernel.ErrInvalid, len(record), width)
	}
	if err := fill(&row.Input, record); err != nil {
		return lineError(row.Line, "%w: %w", kernel.ErrInvalid, err)
	}
	return nil
}

// csvHeader reads the header, and returns what fills an input with the fields of a record. Its errors are ends: no row can be read.
func csvHeader[In any](c *csv.Reader, header []string) (fill func(*In, []string) error, width int, err error) {
	if header == nil {
		first, err := c.Read()
		if errors.Is(err, io.EOF) {
			return func(*In, []string) error { return nil }, 0, nil // nothing at all: an empty batch
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%w: read the header: %w", kernel.ErrInvalid, err)
		}
		header = slices.Clone(first)
		header[0] = strings.TrimPrefix(header[0], "\ufeff")
	}
	for i, name := range header {
		if header[i] = strings.TrimSpace(name); header[i] == "" {
			return nil, 0, fmt.Errorf("%w: line 1: column %d has no name", kernel.ErrInvalid, i+1)
		}
		if slices.Contains(header[:i], header[i]) {
			return nil, 0, fmt.Errorf("%w: line 1: column %q is there twice", kernel.ErrInvalid, header[i])
		}
	}
	fill, err = filler[In](header)
	return fill, len(header), err
}

// filler decides by the type of an input how columns go into it.
func filler[In any](header []string) (func(*In, []string) error, error) {
	kind := reflect.TypeFor[In]()
	switch {
	case kind == reflect.TypeFor[json.RawMessage]():
		return func(in *In, record []string) error {
			data, err := json.Marshal(named(header, record))
			reflect.ValueOf(in).Elem().SetBytes(data)
			return err
		}, nil
	case kind.Kind() == reflect.Map && kind.Key().Kind() == reflect.String && kind.Elem().Kind() == reflect.String,
		kind == reflect.TypeFor[map[string]any](), kind.Kind() == reflect.Interface && kind.NumMethod() == 0:
		return func(in *In, record []string) error {
			data, err := json.Marshal(named(header, record))
			if err != nil {
				return err
			}
			return json.Unmarshal(data, in)
		}, nil
	case kind.Kind() == reflect.Struct:
		return structFiller[In](kind, header)
	}
	return nil, fmt.Errorf("%w: rows of CSV go into a struct or a map of strings, not into %s", kernel.ErrInvalid, kind)
}

func named(header, record []string) map[string]string {
	m := make(map[string]string, len(header))
	for i, name := range header {
		m[name] = record[i]
	}
	return m
}

// structFiller finds the field of each column.
func structFiller[In any](kind reflect.Type, header []string) (func(*In, []string) error, error) {
	fields := make([][]int, len(header))
	for i, name := range header {
		if fields[i] = findField(kind, name); fields[i] == nil {
			return nil, fmt.Errorf("%w: line 1: column %q has no field in %s", kernel.ErrInvalid, name, kind)
		}
	}
	return func(in *In, record []string) error {
		v := reflect.ValueOf(in).Elem()
		for i, text := range record {
			f, err := v.FieldByIndexErr(fields[i])
			if err == nil {
				err = setField(f, text)
			}
			if err != nil {
				return fmt.Errorf("column %q: %w", header[i], err)
			}
		}
		return nil
	}, nil
}

func findField(kind reflect.Type, column string) []int {
	for _, f := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if strings.EqualFold(name, column) {
			return f.Index
		}
	}
	return nil
}

// setField converts the text of a column. An empty text is the zero value of what is not a text.
func setField(f reflect.Value, text string) error {
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text == "" {
			return nil
		}
		return u.UnmarshalText([]byte(text))
	}
	if f.Kind() == reflect.String {
		f.SetString(text)
		return nil
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		return setField(f.Elem(), text)
	}
	return setNumber(f, text)
}

func setNumber(f reflect.Value, text string) (err error) {
	var is bool
	var whole int64
	var natural uint64
	var number float64
	switch f.Kind() {
	case reflect.Bool:
		is, err = strconv.ParseBool(text)
		f.SetBool(is)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		whole, err = strconv.ParseInt(text, 10, f.Type().Bits())
		f.SetInt(whole)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		natural, err = strconv.ParseUint(text, 10, f.Type().Bits())
		f.SetUint(natural)
	case reflect.Float32, reflect.Float64:
		number, err = strconv.ParseFloat(text, f.Type().Bits())
		f.SetFloat(number)
	default:
		return fmt.Errorf("a %s cannot be read from a column", f.Type())
	}
	if err != nil {
		return fmt.Errorf("%q is not a %s", text, f.Type())
	}
	return nil
}
