package endpoint

import (
	"net/http"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// keyLimit is how long a key may be.
const keyLimit = 255

// keyOf reads the key by which a client marks repeats of one request: Idempotency-Key, a string in quotes as the draft has it or
// bare, or else X-Async-Request-Id, a UUID. Of the latter, what is no UUID is ignored, as its first users have it.
func keyOf(r *http.Request) (string, *Problem) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) > 1 {
		return "", badKey("there is more than one")
	}
	if len(values) == 0 {
		id, err := kernel.ParseID(r.Header.Get("X-Async-Request-Id"))
		if err != nil {
			return "", nil //nolint:nilerr // one that is no UUID is ignored
		}
		return id.String(), nil
	}
	key := strings.TrimSpace(values[0])
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = quoted(key); !ok {
			return "", badKey("it begins with a quote and is no string of structured fields")
		}
	}
	switch {
	case key == "":
		return "", badKey("it is empty")
	case len(key) > keyLimit:
		return "", badKey("it is longer than 255 bytes")
	}
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return "", badKey("it has bytes other than printable ASCII")
		}
	}
	return key, nil
}

func badKey(why string) *Problem {
	return problem(http.StatusBadRequest, "bad_key", "the Idempotency-Key cannot be used: %s", why)
}

// quoted reads a string of structured fields (RFC 9651): in quotes, with \" and \\.
func quoted(text string) (string, bool) {
	var b strings.Builder
	rest := text[1:]
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; c {
		case '"':
			tail := strings.TrimSpace(rest[i+1:])
			return b.String(), tail == "" || strings.HasPrefix(tail, ";") // parameters mean nothing here
		case '\\':
			i++
			if i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return "", false
			}
			b.WriteByte(rest[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// unique makes the kernel's key of a client's: it meets that of no other principal, and, as kinds do not share keys, of no
// other endpoint. It stays with the record, however the task ended.
func unique(principal, key string) kernel.Unique {
	if key == "" {
		return kernel.Unique{}
	}
	return kernel.Unique{Key: digest([]byte(principal), []byte(key)), For: kernel.KeyStays}
}
