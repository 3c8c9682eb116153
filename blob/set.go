package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"strings"

	"github.com/outlast-go/outlast/seal"
)

// Ref is what a record keeps of a blob: where it is, and what it must be. It is written as JSON. With a Secret it opens what is
// sealed, so it belongs into what is sealed itself; it prints without the Secret.
type Ref struct {
	Store  string `json:"store"` // the name under which the store is registered
	Key    string `json:"key"`
	Size   int64  `json:"size"`             // of what was put
	SHA256 string `json:"sha256"`           // of what was put
	Secret []byte `json:"secret,omitempty"` // of a sealed blob: the key it is sealed under, which no other blob has
}

// Task returns the id of the task that the blob belongs to.
func (r Ref) Task() string { return Task(r.Key) }

// IsZero reports whether r refers to nothing.
func (r Ref) IsZero() bool { return r.Key == "" }

// String tells where the blob is, and nothing that would open it.
func (r Ref) String() string { return fmt.Sprintf("%s:%s (%d bytes)", r.Store, r.Key, r.Size) }

// GoString is String: a Ref may be printed by whatever verb.
func (r Ref) GoString() string { return r.String() }

// Format writes the Ref as String does, whatever the verb.
func (r Ref) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue is String.
func (r Ref) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Named is a store and the name under which it is registered. References keep the name: it must not change.
type Named struct {
	Name  string
	Store Store
}

// Set is the stores of a process. The last one writes, all of them read.
type Set struct {
	owner  string
	stores []Named
}

// NewSet registers stores. The owner is what tells the store of the tasks from all others: what it puts, it sweeps; without one it
// sweeps nothing. Names are 1 to 60 lower case letters, digits and - _, each once.
func NewSet(owner string, stores ...Named) (*Set, error) {
	s := &Set{owner: owner}
	for _, n := range stores {
		if n.Name == "" || len(n.Name) > 60 || strings.Trim(n.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return nil, fmt.Errorf("%w: a blob store is named %.80q; use 1 to 60 lower case letters, digits and - _", ErrInvalid, n.Name)
		}
		if n.Store == nil {
			return nil, fmt.Errorf("%w: blob store %s is nil", ErrInvalid, n.Name)
		}
		if s.find(n.Name) != nil {
			return nil, fmt.Errorf("%w: blob store %s is registered twice; give each a name of its own", ErrInvalid, n.Name)
		}
		s.stores = append(s.stores, n)
	}
	return s, nil
}

// Empty reports whether there is no store that could write.
func (s *Set) Empty() bool { return len(s.stores) == 0 }

func (s *Set) find(name string) Store {
	for _, n := range s.stores {
		if n.Name == name {
			return n.Store
		}
	}
	return nil
}

// Put streams what r gives to the last store, under a key that begins with the task's id, and returns how to find it. With sealed it
// is sealed on its way, under a key that only the Ref knows. The error is of the reader or of the store.
func (s *Set) Put(ctx context.Context, task string, r io.Reader, sealed bool) (Ref, error) {
	if s.Empty() {
		return Ref{}, fmt.Errorf("%w: there is none; register one in Config.Blobs", ErrUnknownStore)
	}
	to := s.stores[len(s.stores)-1]
	ref := Ref{Store: to.Name, Key: NewKey(s.owner, task)}
	if err := CheckKey(ref.Key); err != nil {
		return Ref{}, err
	}
	plain := &meter{r: r, sum: sha256.New()}
	var stored io.Reader = plain
	if sealed {
		var err error
		ref.Secret = seal.NewStreamKey()
		if stored, err = seal.SealStream(ref.Secret, ref.Key, plain); err != nil {
			return Ref{}, err
		}
	}
	if err := to.Store.Put(ctx, ref.Key, stored); err != nil {
		return Ref{}, fmt.Errorf("put blob into %s: %w", to.Name, err)
	}
	ref.Size, ref.SHA256 = plain.size, hex.EncodeToString(plain.sum.Sum(nil))
	return ref, nil
}

// Open returns a reader of a blob, which the caller closes. ErrUnknownStore and ErrNotFound come at once. The end of the reader
// is io.EOF only if everything was there, as it was put: otherwise it is ErrCorrupt, and what was read must not be used.
func (s *Set) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	if err := CheckKey(ref.Key); err != nil {
		return nil, err
	}
	from := s.find(ref.Store)
	if from == nil {
		return nil, fmt.Errorf("open blob %s: %w: register a store named %q", ref.Key, ErrUnknownStore, ref.Store)
	}
	stored, err := from.Get(ctx, ref.Key)
	if err != nil {
		return nil, fmt.Errorf("open blob %s of %s: %w", ref.Key, ref.Store, err)
	}
	var plain io.Reader = stored
	if ref.Secret != nil {
		if plain, err = seal.OpenStream(ref.Secret, ref.Key, stored); err != nil {
			return nil, fmt.Errorf("open blob %s: %w: %w", ref.Key, ErrCorrupt, err)
		}
	}
	return &checked{meter: meter{r: plain, sum: sha256.New()}, ref: ref, close: stored.Close}, nil
}

// Delete removes a blob before its time. There need not be one.
func (s *Set) Delete(ctx context.Context, ref Ref) error {
	if err := CheckKey(ref.Key); err != nil {
		return err
	}
	from := s.find(ref.Store)
	if from == nil {
		return fmt.Errorf("delete blob %s: %w: register a store named %q", ref.Key, ErrUnknownStore, ref.Store)
	}
	return from.Delete(ctx, ref.Key)
}

// meter counts and sums what is read through it.
type meter struct {
	r    io.Reader
	sum  hash.Hash
	size int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.size += int64(n)
	m.sum.Write(p[:n])
	return n, err
}

// checked lets a stream end well only if it was what its Ref says.
type checked struct {
	meter
	ref   Ref
	close func() error
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.meter.Read(p)
	switch {
	case c.size > c.ref.Size:
		return 0, fmt.Errorf("blob %s: %w: it is longer than the %d bytes that were put", c.ref.Key, ErrCorrupt, c.ref.Size)
	case err == nil:
		return n, nil
	case err != io.EOF: //nolint:errorlint // the bare word is the end; wrapped, it is somebody's error
		return n, fmt.Errorf("blob %s: %w", c.ref.Key, err)
	case c.size < c.ref.Size:
		return n, fmt.Errorf("blob %s: %w: it ends after %d of %d bytes", c.ref.Key, ErrCorrupt, c.size, c.ref.Size)
	case hex.EncodeToString(c.sum.Sum(nil)) != c.ref.SHA256:
		return n, fmt.Errorf("blob %s: %w: its digest is not the one of what was put", c.ref.Key, ErrCorrupt)
	}
	return n, io.EOF
}

func (c *checked) Close() error { return c.close() }
