package api

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Token is what is on record of a token: never the token itself, but a hash of it. The secret has 160 random bits, so a plain hash
// is enough.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Scopes    []Scope   `json:"scopes"`
	Namespace string    `json:"namespace,omitempty"` // empty: the daemon's own
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // zero: never
	Hash      string    `json:"hash,omitempty"`
	Revoked   bool      `json:"revoked,omitempty"`
}

// Why a token is refused.
var (
	ErrBadToken = errors.New("the token is not known, or was revoked")
	ErrExpired  = errors.New("the token has expired")
)

// tokenMark begins every token, so that tools that look for leaked secrets find it.
const tokenMark = "olt_"

// Tokens are the tokens of a file: one line of JSON each, appended, so that two who write at the same time do not undo each other. A later
// line of the same id stands for the earlier one. A daemon reads the file again when it has changed.
type Tokens struct {
	path string
	now  func() time.Time

	mu    sync.Mutex
	seen  time.Time // when the file was last looked at
	size  int64
	at    time.Time
	known map[string]Token
	order []string
}

// lookEvery is how often a file that has changed is noticed by who asks for a token that is known.
const lookEvery = 100 * time.Millisecond

// look returns what is known of a token. The file is looked at, unless that was a moment ago and the token is known. t.mu is held.
func (t *Tokens) look(id string) (Token, bool, error) {
	if one, known := t.known[id]; known && time.Since(t.seen) < lookEvery {
		return one, true, nil
	}
	if err := t.read(); err != nil {
		return Token{}, false, err
	}
	t.seen = time.Now()
	one, known := t.known[id]
	return one, known, nil
}

// OpenTokens reads the tokens of a file. One that is not there holds none yet.
func OpenTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path, now: time.Now}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t, t.read()
}

// read takes in the file if it has changed. t.mu is held.
func (t *Tokens) read() error {
	info, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) {
		t.known, t.order, t.size = map[string]Token{}, nil, 0
		return nil
	}
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	if t.known != nil && info.Size() == t.size && info.ModTime().Equal(t.at) {
		return nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("read tokens: %s can be read by others; chmod 600 it", t.path)
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	known, order := map[string]Token{}, []string(nil)
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		var one Token
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil || one.ID == "" {
			return fmt.Errorf("read tokens: line %d of %s is no token", n, t.path)
		}
		if _, again := known[one.ID]; !again {
			order = append(order, one.ID)
		}
		known[one.ID] = one
	}
	t.known, t.order, t.size, t.at = known, order, info.Size(), info.ModTime()
	return lines.Err()
}

// List lists the tokens that were not revoked, oldest first, without their hashes.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.read(); err != nil {
		return nil, err
	}
	var list []Token
	for _, id := range t.order {
		if one := t.known[id]; !one.Revoked {
			one.Hash = ""
			list = append(list, one)
		}
	}
	return list, nil
}

// Create makes a token and returns its text, which is told once and kept nowhere.
func (t *Tokens) Create(one Token) (text string, err error) {
	if len(one.Scopes) == 0 {
		return "", errors.New("a token needs a scope")
	}
	for _, s := range one.Scopes {
		if !slices.Contains(Scopes(), s) {
			return "", fmt.Errorf("the scope %q is not known", s)
		}
	}
	var random [26]byte
	_, _ = rand.Read(random[:]) // it never fails
	one.ID, one.Revoked, one.CreatedAt = hex.EncodeToString(random[:6]), false, t.now().UTC().Truncate(time.Second)
	secret := hex.EncodeToString(random[6:])
	one.Hash = hashOf(secret)
	return tokenMark + one.ID + "_" + secret, t.append(one)
}

// Revoke ends a token. False: there is none of that id.
func (t *Tokens) Revoke(id string) (bool, error) {
	t.mu.Lock()
	err := t.read()
	one, ok := t.known[id]
	t.mu.Unlock()
	if err != nil || !ok || one.Revoked {
		return false, err
	}
	one.Revoked, one.Hash = true, ""
	return true, t.append(one)
}

func (t *Tokens) append(one Token) error {
	line, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.seen = time.Time{} // what this process has written it sees at once
	}()
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}

// Check finds the token that a text is. What cannot be read any more lets nobody in.
func (t *Tokens) Check(text string) (Token, error) {
	rest, ok := strings.CutPrefix(text, tokenMark)
	id, secret, both := strings.Cut(rest, "_")
	t.mu.Lock()
	one, known, err := t.look(id)
	t.mu.Unlock()
	if err != nil {
		return Token{}, errors.New("the tokens of this daemon cannot be read")
	}
	// Compared also where there is nothing to compare with: the time tells nothing.
	fits := subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(one.Hash)) == 1
	switch {
	case !ok || !both || !known || one.Revoked || !fits:
		return Token{}, ErrBadToken
	case !one.ExpiresAt.IsZero() && !t.now().Before(one.ExpiresAt):
		return Token{}, ErrExpired
	}
	return one, nil
}

// Standing returns the token of an id, if it is neither revoked nor expired: for who was let in by it before.
func (t *Tokens) Standing(id string) (Token, error) {
	t.mu.Lock()
	one, known, err := t.look(id)
	t.mu.Unlock()
	switch {
	case err != nil:
		return Token{}, errors.New("the tokens of this daemon cannot be read")
	case !known || one.Revoked:
		return Token{}, ErrBadToken
	case !one.ExpiresAt.IsZero() && !t.now().Before(one.ExpiresAt):
		return Token{}, ErrExpired
	}
	one.Hash = ""
	return one, nil
}

// May reports whether the token's scopes are enough for what needs one.
func (t Token) May(want Scope) bool { return allows(t.Scopes, want) }

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
