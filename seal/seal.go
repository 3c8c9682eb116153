// Package seal encrypts what is stored: a ring of keys that seals short texts and opens them again, each bound to its place,
// and streams for what is large. A Ring is a kernel.Sealer; a user may bring another.
//
// A sealed text is
//
//	version (1 byte: 1) | key id (8) | salt (16) | nonce (12) | ciphertext | tag (16)
//
// The text is encrypted by AES-256-GCM with a random nonce, under a key of its own: HKDF-SHA-256 of the ring's key and the
// random salt. So one key of a ring may seal as many texts as a system ever has: two of them share key and nonce with a chance
// of 2^-224 for each pair. Version, key id and place are authenticated with it: a text that was moved to another task or field,
// changed or cut does not open. How long a text is, and that it is there, is not hidden; neither is an old text that was put
// back in its own place.
//
// The package is of the standard library alone. It keeps no keys: where the ring's file lies, and who may read it, is left to
// the operator.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// What a caller decides on.
var (
	// ErrUnknownKey says that a text was sealed under a key that this ring does not have. Another process may have it.
	ErrUnknownKey = errors.New("sealed under an unknown key")
	// ErrForged says that a text does not open though its key is there: it was changed, cut, or put into another place.
	ErrForged = errors.New("the seal is broken")
)

// Sealer is what seals and opens short texts. about binds a text to its place: it must be the same to open it.
type Sealer interface {
	Seal(about string, plain []byte) ([]byte, error)
	Open(about string, sealed []byte) ([]byte, error)
}

var _ Sealer = (*Ring)(nil)

const (
	version  = 1
	saltSize = 16
	headSize = 1 + idSize + saltSize
	// Overhead is how much longer a sealed text is than what is in it.
	Overhead = headSize + gcmOverhead

	gcmOverhead = 12 + 16
)

// Seal encrypts a text under the first key of the ring. The same text sealed twice looks different each time. An empty text is
// sealed as any other.
func (r *Ring) Seal(about string, plain []byte) ([]byte, error) {
	k := &r.keys[0]
	sealed := make([]byte, headSize, headSize+len(plain)+gcmOverhead)
	sealed[0] = version
	copy(sealed[1:], k.id[:])
	_, _ = rand.Read(sealed[1+idSize : headSize])
	return gcm(k.derive(sealed[1+idSize:headSize])).Seal(sealed, nil, plain, bind(sealed[:1+idSize], about)), nil
}

// Open decrypts what Seal made, under whichever key of the ring. ErrUnknownKey names the key that is missing; ErrForged says
// that no key can open it here.
func (r *Ring) Open(about string, sealed []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != version {
		return nil, fmt.Errorf("%w: it is not a sealed text of this version", ErrForged)
	}
	id := [idSize]byte(sealed[1:])
	k := r.byID[id]
	if k == nil {
		return nil, fmt.Errorf("%w: key %x is not among the %v of this process: add it below the first line of its key file", ErrUnknownKey, id, r)
	}
	plain, err := gcm(k.derive(sealed[1+idSize:headSize])).Open(nil, nil, sealed[headSize:], bind(sealed[:1+idSize], about))
	if err != nil {
		return nil, fmt.Errorf("%w: it was changed, or belongs elsewhere (key %x)", ErrForged, id)
	}
	if plain == nil {
		plain = []byte{} // an empty text is not an absent one
	}
	return plain, nil
}

// Stale reports whether a sealed text would be sealed under another key today. What is not a sealed text is stale, too: to
// open it tells why.
func (r *Ring) Stale(sealed []byte) bool {
	return len(sealed) < Overhead || sealed[0] != version || [idSize]byte(sealed[1:]) != r.keys[0].id
}

// derive makes the key of one text.
func (k *key) derive(salt []byte) []byte {
	return expand(k.bytes[:], "outlast seal text "+string(salt), keySize)
}

// bind is what is authenticated with a text: the head has a fixed length, so no two places look alike.
func bind(head []byte, about string) []byte {
	return append(append(make([]byte, 0, len(head)+len(about)), head...), about...)
}

func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the size is a constant of this package
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
}
