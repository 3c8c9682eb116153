package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/internal/failpoint"
	"github.com/outlast-go/outlast/internal/webhook"
	"github.com/outlast-go/outlast/kernel"
)

// Headers that each request carries unless it has its own.
const (
	headerRequestID = "X-Request-Id"
	headerAttempt   = "Outlast-Attempt"
	headerKey       = "Idempotency-Key"
)

// attempt is one try at a request.
type attempt struct {
	client  *Client
	request wireRequest
	body    []byte // unless the request has a Ref
	id      kernel.ID
	key     string
	number  int
	place   string // where Bodies keeps a large answer
	watch   *watch
	hop     *hop
	left    []string // URLs left behind
	begun   time.Time
}

// answer is what came of an attempt that was answered.
type answer struct {
	wireResponse
	body []byte
}

// run makes the attempt: it follows redirects and reads the body. Exactly one of both is returned.
func (a *attempt) run(ctx context.Context) (*answer, *Error) {
	a.begun = time.Now()
	ctx, w, stop := newWatch(ctx, a.request.Timeouts)
	defer stop()
	a.watch = w
	ans, err := a.follow(ctx)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	ans.Duration, ans.Redirects = time.Since(a.begun), a.left
	return ans, nil
}

func (a *attempt) follow(ctx context.Context) (*answer, error) {
	first, err := a.first(ctx)
	if err != nil {
		return nil, err
	}
	for a.hop = first; ; {
		resp, err := a.send(ctx)
		if err != nil {
			return nil, err
		}
		failpoint.Hit("call.answered")
		next, err := a.hop.next(resp, a.left, a.maxRedirects())
		if err != nil {
			_ = resp.Body.Close() // nobody wants it
			return nil, err
		}
		if next == nil {
			return a.read(ctx, resp)
		}
		drain(resp)
		a.left = append(a.left, a.hop.url.String())
		a.hop = next
	}
}

func (a *attempt) maxRedirects() int {
	if a.request.MaxRedirects != 0 {
		return a.request.MaxRedirects
	}
	return a.client.cfg.MaxRedirects
}

// first makes the first request of the chain.
func (a *attempt) first(ctx context.Context) (*hop, error) {
	u, err := url.Parse(a.request.URL)
	if err != nil {
		return nil, errFrame
	}
	h := a.request.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	for name, value := range map[string]string{
		headerRequestID: a.id.String(), headerAttempt: strconv.Itoa(a.number), headerKey: a.key,
		"User-Agent": a.client.cfg.UserAgent, "Accept-Encoding": "gzip, deflate",
	} {
		if len(h.Values(name)) == 0 && value != "" {
			h.Set(name, value)
		}
	}
	if u.User != nil && h.Get("Authorization") == "" {
		password, _ := u.User.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	u.User = nil
	if err := a.sign(ctx, h); err != nil {
		return nil, err
	}
	return &hop{method: a.request.Method, url: u, header: h, body: len(a.body) > 0 || a.request.Ref != ""}, nil
}

// sign signs this attempt: the id stays, the time is its own. Only a body that is at hand can be signed.
func (a *attempt) sign(ctx context.Context, h http.Header) error {
	if a.request.Sign == "" {
		return nil
	}
	body := a.body
	if a.request.Ref != "" {
		r, _, err := a.open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // only read
		if body, err = io.ReadAll(r); err != nil {
			return &bodyError{err}
		}
	}
	now := time.Now()
	signature, err := webhook.Sign(a.client.signers[a.request.Sign], a.id.String(), now, body)
	if err != nil {
		return &signError{err}
	}
	h.Set(webhook.HeaderID, a.id.String())
	h.Set(webhook.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	h.Set(webhook.HeaderSignature, signature)
	return nil
}

// bodyError says that the body of the request is not where it was kept.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "the body of the request cannot be read: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// signError says that this process cannot sign the request.
type signError struct{ err error }

func (e *signError) Error() string { return "the request cannot be signed here: " + e.err.Error() }

// open returns the body from its beginning.
func (a *attempt) open(ctx context.Context) (io.ReadCloser, int64, error) {
	if a.request.Ref == "" {
		return io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body)), nil
	}
	if a.client.cfg.Bodies == nil {
		return nil, 0, &bodyError{fmt.Errorf("this process has no Bodies")}
	}
	r, err := a.client.cfg.Bodies.Get(ctx, a.request.Ref)
	if err != nil {
		return nil, 0, &bodyError{err}
	}
	return r, a.request.Size, nil
}

// send makes one request of the chain.
func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	h := a.hop
	if err := a.client.transport.allows(ctx, h.url); err != nil {
		return nil, err
	}
	r := (&http.Request{
		Method: h.method, URL: h.url, Host: h.url.Host, Header: h.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(httptrace.WithClientTrace(context.WithValue(ctx, watchKey{}, a.watch), a.watch.trace()))
	if h.body {
		body, size, err := a.open(ctx)
		if err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = body, size
		r.GetBody = func() (io.ReadCloser, error) {
			body, _, err := a.open(ctx)
			return body, err
		}
	}
	failpoint.Hit("call.sending")
	return a.client.transport.RoundTrip(r)
}

// read takes in the body of the last answer.
func (a *attempt) read(ctx context.Context, resp *http.Response) (*answer, error) {
	defer func() { _ = resp.Body.Close() }() // it was read, or has failed
	a.watch.enter(PhaseIdle, limit(a.request.Timeouts.Idle))
	ans := &answer{wireResponse: wireResponse{Status: resp.StatusCode, URL: a.hop.url.String(), Proto: resp.Proto}}
	most, spill := a.bounds()
	r, err := decodeBody(resp, a.watch, max(most, spill))
	if err != nil {
		return nil, err
	}
	ans.Header = resp.Header
	inline := most
	if a.client.cfg.Bodies != nil {
		inline = min(most, int64(a.client.cfg.BodyThreshold))
	}
	body, rest, err := peek(r, int(inline))
	if err != nil {
		return nil, err
	}
	ans.body, ans.Size = body, int64(len(body))
	if rest != nil {
		counted := &counter{r: rest}
		ans.Ref, err = a.client.cfg.Bodies.Put(ctx, a.place, counted)
		if err != nil {
			return nil, err
		}
		ans.Size = counted.n
	}
	failpoint.Hit("call.read")
	return ans, nil
}

// bounds returns how much of an answer is taken, and how much if it goes to Bodies; 0: no more than that.
func (a *attempt) bounds() (most, spill int64) {
	most = a.client.cfg.MaxResponse
	if a.request.MaxResponse > 0 {
		most = a.request.MaxResponse
	}
	return most, a.client.cfg.MaxSpill
}

// drain closes an answer that nobody wants. A short rest is read, so that the connection can be used again.
func drain(resp *http.Response) {
	if resp.ContentLength > 0 && resp.ContentLength <= 4<<10 {
		_, _ = io.CopyN(io.Discard, resp.Body, resp.ContentLength)
	}
	_ = resp.Body.Close() // nobody wants it
}
