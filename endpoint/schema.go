package endpoint

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// schemas makes JSON Schemas of Go types, as encoding/json writes them. Named structs are described once, and referred to.
type schemas struct {
	all  map[string]any          // components/schemas
	seen map[reflect.Type]string // their names
}

func newSchemas() *schemas {
	return &schemas{all: map[string]any{}, seen: map[reflect.Type]string{}}
}

type object = map[string]any

// given are types whose JSON is not what their fields say.
var given = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():       {"type": "string", "format": "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[State](): {"type": "string", "enum": []any{
		"Queued", "Scheduled", "InProgress", "Completed", "Failed", "Canceled",
	}},
	reflect.TypeFor[Problem](): {"$ref": "#/components/schemas/Problem"},
}

// of returns the schema of a type.
func (g *schemas) of(t reflect.Type) object {
	if s, ok := given[t]; ok {
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
		return object{"type": []any{"object", "null"}, "additionalProperties": g.of(t.Elem())}
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
func (g *schemas) orNull(t reflect.Type) object {
	s := g.of(t)
	if word, ok := s["type"].(string); ok {
		s = object(clone(s))
		s["type"] = []any{word, "null"}
		return s
	}
	if len(s) == 0 {
		return s
	}
	return object{"anyOf": []any{s, object{"type": "null"}}}
}

func clone(s object) object {
	c := object{}
	for k, v := range s {
		c[k] = v
	}
	return c
}

func (g *schemas) list(t reflect.Type) object {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return object{"type": []any{"string", "null"}, "contentEncoding": "base64"}
	}
	if t.Kind() == reflect.Array {
		return object{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	}
	return object{"type": []any{"array", "null"}, "items": g.of(t.Elem())}
}

var oddLetters = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// refer describes a struct under its name, and returns the way there. One without a name stands where it is used.
func (g *schemas) refer(t reflect.Type) object {
	if t.Name() == "" {
		return g.fields(t)
	}
	name, known := g.seen[t]
	if !known {
		name = strings.Trim(oddLetters.ReplaceAllString(t.Name(), "_"), "_")
		for n := 2; g.all[name] != nil; n++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(name, "0123456789"), n)
		}
		g.seen[t] = name
		g.all[name] = object{} // a type that holds itself finds its name
		g.all[name] = g.fields(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields describes the fields of a struct. One that can be left out is not required.
func (g *schemas) fields(t reflect.Type) object {
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
		s := g.of(f.Type)
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
