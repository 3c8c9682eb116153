// Package encode writes values as JSON and tells which part of a value cannot be written.
package encode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// JSON writes a value as JSON. The error names the part that cannot be written.
func JSON(v any) ([]byte, error) {
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
