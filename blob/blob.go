// Package blob keeps payloads that are too large for a record: streams of bytes under keys, in a store of their own, with a Ref
// in the record. Several stores may be registered under names in a Set: the last one writes, all of them read, so that one can
// move from one to the next without copying.
//
// A blob is written once, under a key that is made for it and begins with the id of its task, and is never changed. It is
// there as a whole or not at all. It lives as long as the record of its task: what nobody refers to any more is found by List,
// and removed by Sweep. A key has a mark of its owner, the store of the tasks: two of those may share a folder or a bucket,
// and neither sweeps away what is the other's. Bytes are checked when they are read: against their SHA-256, and against the seal if the blob is
// sealed. Nothing here holds more of a blob in memory than a part of it.
//
// The stores: blob/file for a folder, blob/instore for the store of the tasks itself, blob/s3 for S3 and what speaks like it.
// blob/blobtest is what each of them must pass.
package blob

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// What a caller decides on.
var (
	// ErrNotFound says that there is no blob under the key.
	ErrNotFound = errors.New("blob not found")
	// ErrCorrupt says that a blob is not what was put: it was cut, lengthened or changed.
	ErrCorrupt = errors.New("blob is corrupt")
	// ErrUnknownStore says that a Ref names a store that is not registered here.
	ErrUnknownStore = errors.New("blob store is not registered")
	// ErrInvalid says that a key, a name or a Ref can never be meant.
	ErrInvalid = errors.New("invalid")
)

// Store keeps blobs. Its methods may be called from any goroutine.
type Store interface {
	// Put stores what r gives, and returns when all of it is durable. After an error nothing is found under the key, save if an answer
	// was lost. The key was not used before; what is under it already may be replaced or kept.
	Put(ctx context.Context, key string, r io.Reader) error
	// Get returns a reader of a blob, which the caller closes. ErrNotFound if there is none.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes a blob. There need not be one. A reader of it may go on or fail.
	Delete(ctx context.Context, key string) error
	// List pages through what is stored, in an order of the store's own: up to limit entries after the cursor of the page before, which
	// is empty at first, and on the last page.
	List(ctx context.Context, cursor string, limit int) (Page, error)
	// Tidy removes what puts that never ended have left behind, if it is older than that.
	Tidy(ctx context.Context, older time.Duration) (removed int, err error)
}

// Page is a part of a list.
type Page struct {
	Items  []Info
	Cursor string
}

// Info tells what is stored under a key.
type Info struct {
	Key string
	Age time.Duration // since it was put, on the clock of what keeps it
}

const (
	taskSize  = 36 // an id, written as a UUID
	ownerSize = 10
	keySize   = taskSize + 1 + ownerSize + 16
)

// NewKey makes the key of a new blob: the id of its task, a slash, a mark of its owner, and a word that occurs once.
func NewKey(owner, task string) string {
	return strings.ToLower(task + "/" + mark(owner) + rand.Text()[:16])
}

// Task returns the id of the task that a key begins with.
func Task(key string) string { return key[:min(taskSize, len(key))] }

// ownedBy reports whether a key has the mark of an owner.
func ownedBy(owner, key string) bool {
	return len(key) == keySize && key[taskSize+1:taskSize+1+ownerSize] == mark(owner)
}

// mark is a short word for an owner, whatever its name looks like.
func mark(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:ownerSize])
}

// CheckKey says what is wrong with a key. Whatever passes it is a safe name for a file, below a folder, and in a URL.
func CheckKey(key string) error {
	if len(key) != keySize || key[taskSize] != '/' {
		return fmt.Errorf("%w: %.80q is not the key of a blob", ErrInvalid, key)
	}
	for i, c := range []byte(key) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		digit := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || i > taskSize && c >= 'g' && c <= 'z'
		if i != taskSize && (dash != (c == '-') || !dash && !digit) {
			return fmt.Errorf("%w: %.80q is not the key of a blob", ErrInvalid, key)
		}
	}
	return nil
}
