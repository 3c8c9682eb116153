package endpoint

import (
	"crypto/sha256"
	"encoding/base64"
	"unicode/utf8"

	"github.com/outlast-go/outlast/kernel"
)

// Labels of an endpoint's tasks.
const labelPrincipal = "endpoint.principal"

// newID makes an id for a task of a principal. Its last two bytes are made of the others and of the principal: so an id that
// is not on record tells by itself whether it was given to that principal and is gone, or was never given. A false yes
// comes once in 65,536 made-up ids, and tells nothing.
func newID(k *kernel.Kernel, principal string) kernel.ID {
	id := k.NewID()
	copy(id[14:], mark(id, principal))
	return id
}

// issued reports whether an id was made for a principal.
func issued(id kernel.ID, principal string) bool {
	return string(id[14:]) == string(mark(id, principal))
}

func mark(id kernel.ID, principal string) []byte {
	h := sha256.New()
	h.Write([]byte("endpoint id\x00"))
	h.Write(id[:14])
	h.Write([]byte(principal))
	return h.Sum(nil)[:2]
}

// label makes of a principal what can stand in a label: itself, or its hash.
func label(principal string) string {
	clean := len(principal) <= kernel.KeyLimit && utf8.ValidString(principal)
	for _, r := range principal {
		clean = clean && r >= ' ' && r != 0x7f
	}
	if clean {
		return principal
	}
	return "sha256:" + digest([]byte(principal))
}

// digest hashes parts that cannot be confused with each other.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256(p)
		h.Write(sum[:])
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
