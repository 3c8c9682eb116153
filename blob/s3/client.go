package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// tries is how often a request is sent in all, if the server is busy or away.
const tries = 5

// failure is what a server says when it does not do what was asked for.
type failure struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

func (f *failure) Error() string { return fmt.Sprintf("%d %s: %s", f.Status, f.Code, f.Message) }

// is reports whether err is a failure with one of these codes.
func is(err error, codes ...string) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	for _, code := range codes {
		if f.Code == code {
			return true
		}
	}
	return false
}

// request is one call of the server. Its body can be sent again.
type request struct {
	method string
	key    string // below the prefix; empty: the bucket itself
	query  url.Values
	body   []byte
}

// do sends a request until it is answered, and returns an answer of 2xx whose body the caller closes. What a server says of
// itself to be busy is tried again, with growing pauses; so is a connection that breaks before the answer.
func (s *Store) do(ctx context.Context, r request) (*http.Response, error) {
	for n := 1; ; n++ {
		res, err := s.once(ctx, r)
		if err == nil || n == tries || !passing(err) || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("%s %s: %w", r.method, s.bucket, err)
			}
			return res, err
		}
		pause := time.NewTimer(time.Duration((0.5 + rand.Float64()) * float64(s.pause<<n))) // full of jitter: a fleet comes back at once
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, fmt.Errorf("%s %s: %w", r.method, s.bucket, errors.Join(context.Cause(ctx), err))
		}
	}
}

// passing reports whether the same request may be answered otherwise a moment later.
func passing(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return true // no answer came
	}
	switch f.Status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return f.Code == "RequestTimeout" || f.Code == "SlowDown" || f.Code == "InternalError"
}

func (s *Store) once(ctx context.Context, r request) (*http.Response, error) {
	u := *s.base
	u.Path += "/" + s.bucket
	if r.key != "" {
		u.Path += "/" + s.prefix + r.key
	}
	u.RawPath = escapePath(u.Path)
	u.RawQuery = canonicalQuery(r.query)
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	credentials, err := s.credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	digest := sha256.Sum256(r.body)
	sign(req, credentials, s.region, hex.EncodeToString(digest[:]), time.Now())
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	return nil, readFailure(res)
}

// readFailure reads what the server says, and closes the answer.
func readFailure(res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	f := &failure{}
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil || xml.Unmarshal(text, f) != nil || f.Code == "" {
		f.Code, f.Message = http.StatusText(res.StatusCode), "" // a proxy's page, or the answer to HEAD
	}
	f.Status = res.StatusCode
	return f
}

// call is do for answers that are XML, or that are not looked at if into is nil.
func (s *Store) call(ctx context.Context, r request, into any) (http.Header, error) {
	res, err := s.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, s.bucket, err)
	}
	if into == nil {
		return res.Header, nil
	}
	f := &failure{Status: res.StatusCode} // a request that takes long is answered by 200 first, and may fail then
	if xml.Unmarshal(text, &struct {
		XMLName xml.Name `xml:"Error"`
		*failure
	}{failure: f}) == nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, s.bucket, f)
	}
	if err := xml.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("%s %s: the answer is not what S3 answers: %w", r.method, s.bucket, err)
	}
	return res.Header, nil
}
