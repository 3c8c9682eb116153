package store_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outlast-go/outlast/store"
)

// What is read as an id is written as the same text, in lower case; what is not is ErrInvalid, and named in a short text.
func FuzzParseID(f *testing.F) {
	f.Add("0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c")
	f.Add("0197F1C2-7D1E-7B0A-9C55-3F0E8F6A1B2C")
	f.Add("00000000-0000-0000-0000-000000000000")
	f.Add("0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2\x00")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := store.ParseID(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) || !id.IsZero() || len(err.Error()) > 1000 {
				t.Errorf("ParseID(%q) = %v, %v; want the zero ID and a short ErrInvalid", text, id, err)
			}
			return
		}
		if !id.IsZero() && id.String() != strings.ToLower(text) {
			t.Errorf("ParseID(%q) = %v", text, id)
		}
		if again, err := store.ParseID(id.String()); err != nil || again != id {
			t.Errorf("ParseID of its own text = %v, %v; want %v", again, err, id)
		}
	})
}

// A name that passes can stand in a key, a path and a URL; a key that passes in a line of text. What is refused is told in a short text.
func FuzzNames(f *testing.F) {
	f.Add("mail.send")
	f.Add("../../etc/passwd\x00")
	f.Add("a\r\nb")
	f.Add("é")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, text string) {
		if err := store.CheckName("name", text); err == nil {
			if text == "" || len(text) > store.NameLimit || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\%?#&"'<>{}`, r) }) {
				t.Errorf("CheckName(%q) lets it pass", text)
			}
		} else if !errors.Is(err, store.ErrInvalid) || len(err.Error()) > 1000 {
			t.Errorf("CheckName(%q) = %v; want a short ErrInvalid", text, err)
		}
		if err := store.CheckKey("key", text); err == nil {
			if len(text) > store.KeyLimit || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\n\x7f") {
				t.Errorf("CheckKey(%q) lets it pass", text)
			}
		} else if !errors.Is(err, store.ErrInvalid) || len(err.Error()) > 1000 {
			t.Errorf("CheckKey(%q) = %v; want a short ErrInvalid", text, err)
		}
	})
}
