package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
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
	keeper  *keeper // of large bodies; may be nil
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
	return &hop{method: a.request.Method, url: u, header: h, body: len(a.body) > 0 || a.request.Ref != nil}, nil
}

// sign signs this attempt: the id stays, the time is its own. Only a body that is at hand can be signed.
func (a *attempt) sign(ctx context.Context, h http.Header) error {
	if a.request.Sign == "" {
		return nil
	}
	body := a.body
	if a.request.Ref != nil {
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

// bodyError says that a body cannot be kept, or is not where it was kept.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "a body that is not in the record: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// signError says that this process cannot sign the request.
type signError struct{ err error }

func (e *signError) Error() string { return "the request cannot be signed here: " + e.err.Error() }

// open returns the body from its beginning.
func (a *attempt) open(ctx context.Context) (io.ReadCloser, int64, error) {
	if a.request.Ref == nil {
		return io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body)), nil
	}
	if a.keeper == nil {
		return nil, 0, &bodyError{errors.New("this process has no blobs")}
	}
	r, err := a.keeper.k.OpenBlob(ctx, *a.request.Ref)
	if err != nil {
		return nil, 0, &bodyError{err}
	}
	return r, a.request.Ref.Size, nil
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
	if a.keeper != nil {
		inline = min(most, a.keeper.over)
	}
	body, rest, err := peek(r, int(inline))
	if err != nil {
		return nil, err
	}
	ans.body, ans.Size = body, int64(len(body))
	if rest != nil {
		noted := &noting{r: rest}
		ans.Ref, err = a.keeper.put(ctx, a.id, noted)
		if noted.err != nil {
			return nil, noted.err // of the connection, not of the keeper
		}
		if err != nil {
			return nil, &bodyError{err}
		}
		ans.Size = ans.Ref.Size
	}
	failpoint.Hit("call.read")
	return ans, nil
}

// noting remembers how reading ended, unless well.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	count, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return count, err
}

// bounds returns how much of an answer is taken, and how much if it goes to the keeper; 0: no more than that.
func (a *attempt) bounds() (most, spill int64) {
	most = a.client.cfg.MaxResponse
	if a.request.MaxResponse > 0 {
		most = a.request.MaxResponse
	}
	if a.keeper == nil {
		return most, 0
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
