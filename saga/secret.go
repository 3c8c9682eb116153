package saga

import (
	"bytes"
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

// Secret is a value that is not shown: it prints as [redacted], as JSON it is a reference that tells nothing. Inside a saga it
// is stored apart, sealed, and wiped when the saga has ended. It reads from plain JSON, so that an input can bring it along.
type Secret[T any] struct{ box *secretBox[T] }

type secretBox[T any] struct {
	id    string
	known bool
	value T
}

// NewSecret hides a value.
func NewSecret[T any](v T) Secret[T] {
	return Secret[T]{&secretBox[T]{id: newSecretID(), known: true, value: v}}
}

func newSecretID() string {
	var b [12]byte
	_, _ = crand.Read(b[:]) // never fails: it ends the process instead
	return hex.EncodeToString(b[:])
}

// Reveal returns the value. Of a secret that was wiped, and of the zero Secret, it is the zero value.
func (s Secret[T]) Reveal() T {
	if s.box == nil {
		return *new(T)
	}
	return s.box.value
}

const redacted = "[redacted]"

// String is [redacted].
func (s Secret[T]) String() string { return redacted }

// GoString is [redacted].
func (s Secret[T]) GoString() string { return redacted }

// Format prints [redacted], whatever the verb.
func (s Secret[T]) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue is [redacted].
func (s Secret[T]) LogValue() slog.Value { return slog.StringValue(redacted) }

type secretJSON struct {
	Ref *string `json:"$secret"`
}

// MarshalJSON writes a reference, never the value.
func (s Secret[T]) MarshalJSON() ([]byte, error) {
	if s.box == nil {
		return []byte("null"), nil
	}
	return json.Marshal(secretJSON{&s.box.id})
}

// UnmarshalJSON reads a reference, or a plain value that is to be hidden from now on.
func (s *Secret[T]) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		s.box = nil
		return nil
	}
	var ref secretJSON
	if json.Unmarshal(data, &ref) == nil && ref.Ref != nil {
		s.box = &secretBox[T]{id: *ref.Ref}
		return nil
	}
	s.box = &secretBox[T]{id: newSecretID(), known: true}
	if json.Unmarshal(data, &s.box.value) != nil {
		return fmt.Errorf("a secret does not decode as %s", reflect.TypeFor[T]()) // what it is stays untold
	}
	return nil
}

// secretRef is a Secret of any type.
type secretRef interface {
	secretID() string
	reveal() (json.RawMessage, error)
	resolve(data json.RawMessage) error
}

func (s Secret[T]) secretID() string {
	if s.box == nil {
		return ""
	}
	return s.box.id
}

func (s Secret[T]) reveal() (json.RawMessage, error) {
	if s.box == nil || !s.box.known {
		return nil, nil
	}
	return json.Marshal(s.box.value)
}

func (s Secret[T]) resolve(data json.RawMessage) error {
	if s.box == nil || s.box.known || data == nil {
		return nil
	}
	s.box.known = true
	return json.Unmarshal(data, &s.box.value)
}

// hasSecrets reports whether values of a type can hold secrets.
func hasSecrets(t reflect.Type) bool { return hasSecretsIn(t, map[reflect.Type]bool{}) }

func hasSecretsIn(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t.Implements(reflect.TypeFor[secretRef]()) {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasSecretsIn(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasSecretsIn(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// secretsOf calls fn for each secret in a value.
func secretsOf(v any, fn func(secretRef) error) error {
	if v == nil || !hasSecrets(reflect.TypeOf(v)) {
		return nil
	}
	return eachSecret(reflect.ValueOf(v), fn)
}

func eachSecret(v reflect.Value, fn func(secretRef) error) error {
	if v.IsValid() && v.CanInterface() {
		if s, ok := v.Interface().(secretRef); ok {
			if v.Kind() == reflect.Pointer && v.IsNil() {
				return nil
			}
			return fn(s)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return eachSecret(v.Elem(), fn)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := eachSecret(v.Index(i), fn); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := eachSecret(v.MapIndex(key), fn); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := eachSecret(v.Field(i), fn); err != nil {
				return err
			}
		}
	}
	return nil
}
