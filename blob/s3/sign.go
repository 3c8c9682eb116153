package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credentials sign requests. They print as nothing.
type Credentials struct {
	AccessKey, SecretKey string
	SessionToken         string // of temporary ones
}

// String shows nothing of them.
func (Credentials) String() string { return "(credentials)" }

// GoString is String.
func (Credentials) GoString() string { return "(credentials)" }

// sign signs a request by AWS Signature Version 4, the payload included by its SHA-256.
func sign(req *http.Request, c Credentials, region, payload string, now time.Time) {
	at := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", at)
	req.Header.Set("X-Amz-Content-Sha256", payload)
	if c.SessionToken != "" {
		req.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	names, headers := canonicalHeaders(req)
	scope := at[:8] + "/" + region + "/s3/aws4_request"
	text := strings.Join([]string{req.Method, escapePath(req.URL.Path), canonicalQuery(req.URL.Query()), headers, names, payload}, "\n")
	digest := sha256.Sum256([]byte(text))
	key := []byte("AWS4" + c.SecretKey)
	for _, part := range []string{at[:8], region, "s3", "aws4_request", "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + hex.EncodeToString(digest[:])} {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.AccessKey+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalHeaders are those that are signed: the host, and all that this package sets.
func canonicalHeaders(req *http.Request) (names, lines string) {
	values := map[string]string{"host": req.URL.Host}
	for name, value := range req.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") || lower == "content-type" || lower == "range" {
			values[lower] = strings.TrimSpace(value[0])
		}
	}
	var list []string
	for name := range values {
		list = append(list, name)
	}
	slices.Sort(list)
	var text strings.Builder
	for _, name := range list {
		text.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(list, ";"), text.String()
}

func canonicalQuery(q url.Values) string {
	var parts []string
	for name, values := range q {
		for _, v := range values {
			parts = append(parts, escape(name, false)+"="+escape(v, false))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

func escapePath(path string) string { return escape(path, true) }

// escape writes every byte but the unreserved ones as %XX, as the signature wants it.
func escape(s string, slash bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~', c == '/' && slash:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
