package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/outlast-go/outlast/kernel"
)

// Bounds of what is shown of one payload.
const (
	shownMost = 16 << 10
	hidden    = "•••• hidden"
)

// secretName matches names of what must not be shown: headers, fields and parameters.
var secretName = regexp.MustCompile(`(?i)(authorization|cookie|passw|secret|token|api[-_]?key|apikey|credential|private[-_]?key|session|signature|^(pwd|pin|cvv|cvc|iban|card|ssn)$)`)

// payload is something a task carries, as it is shown.
type payload struct {
	Text   string
	Size   int
	Sealed bool // and not shown
	Cut    bool // only the beginning is
	None   bool
}

// payload makes of what a task carries what may be shown of it.
func (q *request) payload(t *kernel.Task, field string, data []byte) payload {
	switch {
	case q.sealed(t) && len(data) > 0:
		return payload{Sealed: true, Size: len(data)}
	case len(data) == 0:
		return payload{None: true}
	}
	p := payload{Size: len(data)}
	text := readable(data)
	if q.h.cfg.Redact != nil {
		text = q.h.cfg.Redact(*t, field, text)
	}
	if len(text) > shownMost {
		text, p.Cut = strings.ToValidUTF8(text[:shownMost], ""), true
	}
	p.Text = text
	return p
}

// sealed reports whether what a task carries stays unseen.
func (q *request) sealed(t *kernel.Task) bool { return !t.Sealed.IsZero() && !q.h.cfg.Reveal }

// readable makes text of bytes: JSON with its secrets taken out, one value or several; else text as it is; else what it is. It ends
// soon after what is shown of it.
func readable(data []byte) string {
	var text strings.Builder
	for {
		part, rest := readOne(data)
		text.WriteString(part)
		if len(rest) == 0 || text.Len() > shownMost {
			return text.String()
		}
		text.WriteString("\n\n")
		data = rest
	}
}

// readOne makes text of the first of several values, and returns the others.
func readOne(data []byte) (text string, others []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err == nil {
		out, err := indent(withoutSecrets(v))
		rest := bytes.TrimSpace(data[dec.InputOffset():])
		switch {
		case err != nil:
		case len(rest) == 0:
			return out, nil
		case data[dec.InputOffset()] == '\n': // a record of a call: JSON, and behind it the body
			return out, rest
		}
	}
	if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
		return withoutUsers(string(data)), nil
	}
	return fmt.Sprintf("%d bytes that are no text, beginning with % x", len(data), data[:min(len(data), 32)]), nil
}

// indent writes JSON for people: the template escapes it anyway.
func indent(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// withoutSecrets replaces what is called a secret, however deep.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if secretName.MatchString(name) && !empty(value) {
				v[name] = hidden
				continue
			}
			v[name] = withoutSecrets(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	case string:
		return cleanURL(v)
	}
	return v
}

func empty(v any) bool {
	_, flag := v.(bool)
	return v == nil || v == "" || flag
}

// userOf is the user and the password of a URL, wherever in a text it stands.
var userOf = regexp.MustCompile(`://[^/?#\s@"]*@`)

// withoutUsers takes users and passwords out of the URLs in a text.
func withoutUsers(text string) string { return userOf.ReplaceAllString(text, "://hidden@") }

// cleanURL takes users, passwords and secret parameters out of a URL. Of what is no URL it takes out what looks like users.
func cleanURL(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return withoutUsers(text)
	}
	changed := false
	if u.User != nil {
		u.User, changed = url.User("hidden"), true
	}
	query := u.Query()
	for name := range query {
		if secretName.MatchString(name) || strings.EqualFold(name, "sig") || strings.EqualFold(name, "key") {
			query[name], changed = []string{"hidden"}, true
		}
	}
	if !changed {
		return text
	}
	u.RawQuery = query.Encode()
	return u.String()
}
