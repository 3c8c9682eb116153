// Package schema makes JSON Schemas of Go types, as encoding/json writes them, for OpenAPI documents.
package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Object is a JSON object.
type Object = map[string]any

type object = Object

// Set makes schemas. Named structs are described once, and referred to.
type Set struct {
	// All are the described ones, by name: components/schemas.
	All map[string]any

	given map[reflect.Type]Object
	seen  map[reflect.Type]string // names
}

// New makes an empty set. given are types whose JSON is not what their fields say.
func New(given map[reflect.Type]Object) *Set {
	s := &Set{All: map[string]any{}, seen: map[reflect.Type]string{}, given: map[reflect.Type]Object{
		reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
	}}
	maps.Copy(s.given, given)
	return s
}

// Of returns the schema of a type.
func (g *Set) Of(t reflect.Type) Object {
	if s, ok := g.given[t]; ok {
		return s
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return g.orNull(t.Elem())
	case implements[json.Marshaler](t):
		return object{} // whatever it writes
	case implements[encoding.TextMarshaler](t):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice, reflect.Array:
		return g.list(t)
	case reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": g.Of(t.Elem())}
	case reflect.Struct:
		return g.refer(t)
	}
	return object{}
}

func implements[I any](t reflect.Type) bool {
	want := reflect.TypeFor[I]()
	return t.Implements(want) || reflect.PointerTo(t).Implements(want)
}

// orNull is the schema of a pointer.
func (g *Set) orNull(t reflect.Type) object {
	s := g.Of(t)
	if word, ok := s["type"].(string); ok {
		s = maps.Clone(s)
		s["type"] = []any{word, "null"}
		return s
	}
	if len(s) == 0 {
		return s
	}
	return object{"anyOf": []any{s, object{"type": "null"}}}
}

func (g *Set) list(t reflect.Type) object {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return object{"type": []any{"string", "null"}, "contentEncoding": "base64"}
	}
	if t.Kind() == reflect.Array {
		return object{"type": "array", "items": g.Of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	}
	return object{"type": []any{"array", "null"}, "items": g.Of(t.Elem())}
}

var oddLetters = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// refer describes a struct under its name, and returns the way there. One without a name stands where it is used.
func (g *Set) refer(t reflect.Type) object {
	if t.Name() == "" {
		return g.fields(t)
	}
	name, known := g.seen[t]
	if !known {
		name = strings.Trim(oddLetters.ReplaceAllString(t.Name(), "_"), "_")
		for n := 2; g.All[name] != nil; n++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(name, "0123456789"), n)
		}
		g.seen[t] = name
		g.All[name] = object{} // a type that holds itself finds its name
		g.All[name] = g.fields(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields describes the fields of a struct. One that can be left out is not required.
func (g *Set) fields(t reflect.Type) object {
	properties, required := object{}, []any{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" || len(f.Index) > 1 && hidden(t, f) || f.Anonymous && name == "" && flat(f.Type) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := g.Of(f.Type)
		if strings.Contains(options, "string") && s["type"] != nil {
			s = object{"type": "string"}
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// flat reports whether the fields of an embedded type stand beside those of the struct.
func flat(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// hidden reports whether a promoted field comes through an embedded one that has a name of its own.
func hidden(t reflect.Type, f reflect.StructField) bool {
	for i := 1; i < len(f.Index); i++ {
		outer := t.FieldByIndex(f.Index[:i])
		if name, _, _ := strings.Cut(outer.Tag.Get("json"), ","); name != "" || !flat(outer.Type) {
			return true
		}
	}
	return false
}
