package seal

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

const (
	keySize   = 32
	idSize    = 8
	fileLimit = 1 << 20
)

// ErrKeys says that a key ring cannot be used as it is written. The text names the line and the fix, and shows no key.
var ErrKeys = errors.New("bad key ring")

// key is one key of a ring. Its id is made of its bytes: the same key has the same id everywhere, and a line whose key was
// mistyped does not match its id.
type key struct {
	id    [idSize]byte
	bytes [keySize]byte
}

// Ring is an ordered set of keys: the first one seals, all of them open. It is never changed, and may be used from any
// goroutine. It prints as the ids of its keys, and never as the keys.
type Ring struct {
	keys []key
	byID map[[idSize]byte]*key
}

// NewKey makes a key and returns it as one line of a key file: its id, a colon, and the key in base64.
func NewKey() string {
	var k key
	_, _ = rand.Read(k.bytes[:]) // never fails: it ends the program instead
	k.id = idOf(k.bytes)
	return hex.EncodeToString(k.id[:]) + ":" + base64.StdEncoding.EncodeToString(k.bytes[:])
}

// NewFile is the text of a new key file with one new key.
func NewFile() string {
	return "# Keys of Outlast. The first one seals, all of them open. Whoever reads this file can read what is stored;\n" +
		"# whoever loses it cannot. To rotate: outlast keys new --file, keys use, keys rotate.\n" + NewKey() + "\n"
}

func idOf(bytes [keySize]byte) (id [idSize]byte) {
	copy(id[:], expand(bytes[:], "outlast seal key id", idSize))
	return id
}

// expand derives bytes from a key for one purpose. The keys are uniformly random, so there is nothing to extract first.
func expand(key []byte, purpose string, size int) []byte {
	out, err := hkdf.Expand(sha256.New, key, purpose, size)
	if err != nil {
		panic(err) // sizes are constants of this package
	}
	return out
}

// FromFile reads a key file: one key per line, as NewKey writes them; empty lines and those that begin with # do not count. A
// file that strangers may read or change is refused: the error says which mode to set.
func FromFile(path string) (*Ring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if err := checkMode(path, info.Mode()); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, fileLimit+1))
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if len(text) > fileLimit {
		return nil, fmt.Errorf("key file %s: %w: it has more than %d bytes; is it the right file?", path, ErrKeys, fileLimit)
	}
	ring, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return ring, nil
}

// checkMode refuses a key file that others than its owner and group may read, or others than its owner may change.
func checkMode(path string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return fmt.Errorf("key file %s: %w: it is not a regular file", path, ErrKeys)
	}
	if runtime.GOOS == "windows" || mode.Perm()&0o027 == 0 {
		return nil
	}
	return fmt.Errorf("key file %s: %w: its mode is %04o, so strangers may read or change it: chmod 600 %s (640 is fine, too)",
		path, ErrKeys, mode.Perm(), path)
}

// FromEnv reads keys from an environment variable: as in a file, with spaces, commas or line ends between them.
func FromEnv(name string) (*Ring, error) {
	text, ok := os.LookupEnv(name)
	if !ok {
		return nil, fmt.Errorf("environment variable %s: %w: it is not set", name, ErrKeys)
	}
	ring, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", name, err)
	}
	return ring, nil
}

// Parse reads the text of a key file.
func Parse(text string) (*Ring, error) {
	r := &Ring{byID: map[[idSize]byte]*key{}}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == ',' }) {
			k, err := parseKey(word)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if r.byID[k.id] != nil {
				return nil, fmt.Errorf("line %d: %w: key %x is there twice; remove one", i+1, ErrKeys, k.id)
			}
			r.keys, r.byID[k.id] = append(r.keys, k), &k
		}
	}
	if len(r.keys) == 0 {
		return nil, fmt.Errorf("%w: there is no key in it; make one with `outlast keys new`", ErrKeys)
	}
	return r, nil
}

// parseKey reads one key. Its errors show nothing of it: what does not parse may still be most of a key.
func parseKey(word string) (k key, err error) {
	name, code, ok := strings.Cut(word, ":")
	if !ok || len(name) != 2*idSize {
		return k, fmt.Errorf("%w: a key looks like id:base64, with an id of %d hexadecimal digits; make one with `outlast keys new`", ErrKeys, 2*idSize)
	}
	if _, err := hex.Decode(k.id[:], []byte(name)); err != nil {
		return k, fmt.Errorf("%w: the id of the key is not hexadecimal", ErrKeys)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(code)
	if err != nil || len(raw) != keySize {
		return k, fmt.Errorf("%w: key %x is not %d bytes of base64", ErrKeys, k.id, keySize)
	}
	k.bytes = [keySize]byte(raw)
	if idOf(k.bytes) != k.id {
		return k, fmt.Errorf("%w: key %x does not match its id; it was mistyped or cut", ErrKeys, k.id)
	}
	return k, nil
}

// IDs lists the ids of the keys, the one that seals first.
func (r *Ring) IDs() []string {
	ids := make([]string, len(r.keys))
	for i, k := range r.keys {
		ids[i] = hex.EncodeToString(k.id[:])
	}
	return ids
}

// String lists the ids of the keys, and nothing of the keys themselves.
func (r *Ring) String() string { return "keys " + strings.Join(r.IDs(), " ") }

// GoString is String: a ring may be printed by whatever verb.
func (r *Ring) GoString() string { return r.String() }

// Format writes the ring as String does, whatever the verb.
func (r *Ring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue is String.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(r.String()) }
