// Package webhook signs and verifies messages as Standard Webhooks v1 says: an HMAC-SHA256 over "id.timestamp.body", given in
// the headers webhook-id, webhook-timestamp and webhook-signature. A message may carry several signatures, one per secret, so
// that secrets can be rotated: a receiver accepts it if one of them fits one of its own.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Bounds of a secret, in bytes.
const (
	minSecret = 24
	maxSecret = 64
)

// Why a message is refused.
var (
	ErrHeaders   = errors.New("webhook headers are missing or malformed")
	ErrSignature = errors.New("no signature fits")
	ErrTimestamp = errors.New("the timestamp is outside the window")
	ErrSecret    = errors.New("a secret is base64 of 24 to 64 bytes, with or without whsec_ before it")
)

// Secret is one key. It does not show itself when it is printed.
type Secret struct{ key []byte }

// String hides the key.
func (Secret) String() string { return "whsec_***" }

// GoString hides the key.
func (Secret) GoString() string { return "webhook.Secret{***}" }

// ParseSecret reads a secret. The error does not repeat it.
func ParseSecret(text string) (Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(key) < minSecret || len(key) > maxSecret {
		return Secret{}, ErrSecret
	}
	return Secret{key: key}, nil
}

// Sign returns the value of webhook-signature: one signature per secret, the first one's first. An id must not be empty or have
// a dot in it.
func Sign(secrets []Secret, id string, at time.Time, body []byte) (string, error) {
	if id == "" || strings.Contains(id, ".") {
		return "", fmt.Errorf("sign: %w: the id is empty or has a dot in it", ErrHeaders)
	}
	if len(secrets) == 0 {
		return "", fmt.Errorf("sign: %w: there is none", ErrSecret)
	}
	list := make([]string, len(secrets))
	for i, s := range secrets {
		list[i] = "v1," + base64.StdEncoding.EncodeToString(s.mac(id, strconv.FormatInt(at.Unix(), 10), body))
	}
	return strings.Join(list, " "), nil
}

func (s Secret) mac(id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(id + "." + timestamp + "."))
	h.Write(body)
	return h.Sum(nil)
}

// Verified is what a message that was verified says of itself.
type Verified struct {
	ID        string    // the same for every attempt at a message
	At        time.Time // when it was signed: another one for each attempt
	Signature string    // the one that fitted
}

// Verify checks a message: one of its signatures must fit one of the secrets, and it must have been signed within window of now. It
// takes the same time whichever secret fits.
func Verify(secrets []Secret, h http.Header, body []byte, now time.Time, window time.Duration) (Verified, error) {
	id, timestamp, signature := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	if id == "" || timestamp == "" || signature == "" || strings.Contains(id, ".") {
		return Verified{}, ErrHeaders
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return Verified{}, ErrHeaders
	}
	// Once for each secret, and not for each signature: how many of those there are is for the sender to say.
	macs := make([][]byte, len(secrets))
	for i, s := range secrets {
		macs[i] = s.mac(id, timestamp, body)
	}
	fits := ""
	for _, given := range strings.Fields(signature) {
		version, text, _ := strings.Cut(given, ",")
		mac, err := base64.StdEncoding.DecodeString(text)
		if version != "v1" || err != nil {
			continue // another version is for another receiver
		}
		for _, want := range macs {
			if hmac.Equal(mac, want) {
				fits = text
			}
		}
	}
	if fits == "" {
		return Verified{}, ErrSignature
	}
	at := time.Unix(seconds, 0)
	if now.Sub(at) > window || at.Sub(now) > window {
		return Verified{}, ErrTimestamp
	}
	return Verified{ID: id, At: at, Signature: fits}, nil
}
