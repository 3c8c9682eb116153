package job

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// encode writes a value as JSON. The error names the part that cannot be written.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil {
		return data, nil
	}
	where := strings.TrimPrefix(culprit(reflect.ValueOf(v), map[spot]bool{}), ".")
	if where == "" {
		return nil, fmt.Errorf("does not encode as JSON: %w", err)
	}
	return nil, fmt.Errorf("does not encode as JSON at %s: %w", where, err)
}

// spot is where a pointer, a map or a slice lies.
type spot struct {
	kind reflect.Kind
	at   uintptr
}

// culprit returns the path to the innermost part of v that does not encode, by trying its parts one by one. A spot that was
// seen ends a cycle.
func culprit(v reflect.Value, seen map[spot]bool) string {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		here := spot{v.Kind(), v.Pointer()}
		if v.IsNil() || seen[here] {
			return ""
		}
		seen[here] = true
	case reflect.Invalid:
		return ""
	}
	if encodesItself(v.Type()) {
		return ""
	}
	if v.Kind() == reflect.Pointer {
		return culprit(v.Elem(), seen)
	}
	for name, part := range parts(v) {
		if !part.CanInterface() {
			continue
		}
		if _, err := json.Marshal(part.Interface()); err != nil {
			return name + culprit(part, seen)
		}
	}
	return ""
}

func encodesItself(t reflect.Type) bool {
	for _, by := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(by) || reflect.PointerTo(t).Implements(by) {
			return true
		}
	}
	return false
}

// parts walks the fields, elements or values that v is written by.
func parts(v reflect.Value) func(yield func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if f.Tag.Get("json") != "-" && !yield("."+f.Name, v.Field(i)) {
					return
				}
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				if !yield(fmt.Sprintf("[%d]", i), v.Index(i)) {
					return
				}
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				if !yield(fmt.Sprintf("[%v]", key), v.MapIndex(key)) {
					return
				}
			}
		}
	}
}

// decode reads what encode wrote. The error has the type "decode" and repeats nothing of what was read, as it is stored and logged
// where the data may be sealed; run is nil where it is neither.
func decode(run *kernel.Run, data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	var broken *json.SyntaxError
	text := err.Error()
	switch {
	case errors.As(err, &wrong):
		kind, _, _ := strings.Cut(wrong.Value, " ") // after a number comes its value
		text = fmt.Sprintf("%s is a JSON %s and the program has %s", place(wrong.Field), kind, wrong.Type)
	case errors.As(err, &broken):
		text = fmt.Sprintf("it is not JSON (offset %d of %d)", broken.Offset, len(data))
	case run != nil && !run.Task().Sealed.IsZero():
		text = fmt.Sprintf("the task is sealed, and so is the %T", err)
	}
	return kernel.Typed("decode", fmt.Errorf("does not decode: %s", text))
}

func place(field string) string {
	if field == "" {
		return "it"
	}
	return field
}
