package saga

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// unstorable returns the part of a type that JSON cannot hold, or that would come back as something else; empty: there is none.
func unstorable(t reflect.Type, path string) string {
	return unstorableIn(t, path, map[reflect.Type]bool{})
}

func unstorableIn(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	if seen[t] || encodesItself(t) {
		return ""
	}
	seen[t] = true
	at := path + " (" + t.String() + ")"
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128, reflect.Uintptr:
		return at
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return at
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unstorableIn(t.Elem(), path, seen)
	case reflect.Map:
		if k := t.Key(); !keyable(k) {
			return path + " (a map with keys of type " + k.String() + ")"
		}
		return unstorableIn(t.Elem(), path, seen)
	case reflect.Struct:
		return unstorableField(t, path, seen)
	}
	return ""
}

func unstorableField(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	exported := 0
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		exported++
		if found := unstorableIn(f.Type, path+"."+f.Name, seen); found != "" {
			return found
		}
	}
	if exported == 0 && t.NumField() > 0 {
		return path + " (" + t.String() + " has no exported field)"
	}
	return ""
}

func keyable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// encodesItself reports whether a type brings its own JSON.
func encodesItself(t reflect.Type) bool {
	for _, by := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(by) || reflect.PointerTo(t).Implements(by) {
			return true
		}
	}
	return false
}

// shape writes down how a type looks as JSON: names and kinds, not the names of types.
func shape(t reflect.Type) string { return shapeIn(t, nil) }

func shapeIn(t reflect.Type, above []reflect.Type) string {
	for i, a := range above {
		if a == t {
			return fmt.Sprintf("^%d", len(above)-i) // a type inside itself
		}
	}
	if t.Implements(reflect.TypeFor[secretRef]()) {
		return "secret"
	}
	if encodesItself(t) {
		return t.String()
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Pointer:
		return shapeIn(t.Elem(), above)
	case reflect.Slice, reflect.Array:
		return "[" + shapeIn(t.Elem(), above) + "]"
	case reflect.Map:
		return "map[" + shapeIn(t.Key(), above) + "]" + shapeIn(t.Elem(), above)
	case reflect.Struct:
		var b strings.Builder
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() && !f.Anonymous || name == "-" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			fmt.Fprintf(&b, "%s %s;", name, shapeIn(f.Type, above))
		}
		return "{" + b.String() + "}"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "int"
	case reflect.Float32, reflect.Float64:
		return "float"
	}
	return t.Kind().String()
}

// mark names a shape in few letters.
func mark(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// fingerprint names what matters to sagas under way: steps, edges and shapes. How often a step is tried, how long it may take, in which
// queue it runs and how it is undone can change under them.
func (g *graph) fingerprint() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s\n", g.name, shape(g.in))
	for _, n := range g.nodes {
		fmt.Fprintf(&b, "%s %s %s <", n.kind, n.name, shape(n.out))
		for _, d := range n.deps() {
			b.WriteString(" " + d.name)
		}
		if n.child != nil {
			b.WriteString(" @" + n.child.hash)
		}
		b.WriteString("\n")
	}
	return mark(b.String())
}
