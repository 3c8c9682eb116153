package call

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/outlast-go/outlast/internal/webhook"
)

// VerifierConfig says which messages a Verifier lets through. Secrets are needed.
type VerifierConfig struct {
	// Secrets of the sender, old and new: one must fit.
	Secrets []string
	// Window is how old or how far ahead a signature may be. Default 5 minutes.
	Window time.Duration
	// MaxBody bounds the body. Default 1 MiB.
	MaxBody int64
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Verifier lets signed requests through, as Standard Webhooks v1 says. A copy of a request that it has let through is refused for as
// long as its signature is valid: another attempt of the sender is signed anew. It remembers that in memory; the id of a message, which
// stays the same, is for the receiver to remember.
type Verifier struct {
	secrets []webhook.Secret
	cfg     VerifierConfig

	mu   sync.Mutex
	seen map[string]time.Time // signatures, and until when they are valid
}

// NewVerifier makes a verifier. The error is an *InvalidError.
func NewVerifier(cfg VerifierConfig) (*Verifier, error) {
	if cfg.Window < 0 || cfg.MaxBody < 0 {
		return nil, invalid("Verifier", "has a negative Window or MaxBody")
	}
	all, err := parseSigners(map[string][]string{"Verifier": cfg.Secrets})
	if err != nil {
		return nil, err
	}
	cfg.Window = firstOf(cfg.Window, 5*time.Minute)
	cfg.MaxBody = firstOf(cfg.MaxBody, 1<<20)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Verifier{secrets: all["Verifier"], cfg: cfg, seen: map[string]time.Time{}}, nil
}

// Handler answers 401 to what is not signed, signed by others, too old or a copy, 413 to what is too large, and hands the rest to
// next with its body unread. MessageID finds the id in the request's context.
func (v *Verifier) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, v.cfg.MaxBody))
		if err != nil {
			var large *http.MaxBytesError
			status := http.StatusBadRequest
			if errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, http.StatusText(status), status)
			return
		}
		now := v.cfg.Now()
		message, err := webhook.Verify(v.secrets, r.Header, body, now, v.cfg.Window)
		if err != nil || !v.first(message, now) {
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), messageKey{}, message.ID))
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// first reports whether a message is seen for the first time, and forgets those that are refused by their age.
func (v *Verifier) first(m webhook.Verified, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, copied := v.seen[m.Signature]; copied {
		return false
	}
	if len(v.seen)%1024 == 0 {
		for s, until := range v.seen {
			if now.After(until) {
				delete(v.seen, s)
			}
		}
	}
	v.seen[m.Signature] = m.At.Add(v.cfg.Window)
	return true
}

type messageKey struct{}

// MessageID returns the id of a verified message; empty: ctx is not of one.
func MessageID(ctx context.Context) string {
	id, _ := ctx.Value(messageKey{}).(string)
	return id
}
