package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
)

// ErrCanceled says that the task was canceled.
var ErrCanceled = errors.New("the task was canceled")

// Client starts tasks at an endpoint over HTTP and waits for them. T is the body, R the result: []byte or Response for what is
// not JSON, None for none. It may be used from any goroutine.
type Client[T, R any] struct {
	// URL of the endpoint.
	URL string
	// HTTP sends the requests. Default: http.DefaultClient.
	HTTP *http.Client
	// Method of the request that starts a task. Default POST.
	Method string
	// Header is sent with every request: Authorization, for example. Default: nothing.
	Header http.Header
	// Poll is how long one look at the status waits at the server. Default 30 s.
	Poll time.Duration
}

// Operation is a task that was started, seen over HTTP.
type Operation[R any] struct {
	ID   string
	URL  string // of the status
	conn conn
}

// Start starts a task and returns when the server has accepted it. It repeats the request under the same key, while the server is
// busy or does not answer, until ctx ends: it starts one task. An empty key is made. The error is a *Problem if the server refused.
func (c *Client[T, R]) Start(ctx context.Context, in T, key string) (*Operation[R], error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("start at %.80q: give the URL of the endpoint, with its host", c.URL)
	}
	conn := conn{http: cmp.Or(c.HTTP, http.DefaultClient), header: c.Header, poll: cmp.Or(c.Poll, 30*time.Second)}
	body, kind, err := clientBody(in)
	if err != nil {
		return nil, fmt.Errorf("start at %s: the body %w", c.URL, err)
	}
	header := http.Header{"Idempotency-Key": {strconv.Quote(cmp.Or(key, rand.Text()))}, "Prefer": {"respond-async"}}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	res, err := conn.persist(ctx, &call{method: cmp.Or(c.Method, http.MethodPost), url: c.URL, header: header, body: body})
	if err != nil {
		return nil, fmt.Errorf("start at %s: %w", c.URL, err)
	}
	var d Document
	if err := json.Unmarshal(res.body, &d); err != nil || res.status != http.StatusAccepted {
		return nil, fmt.Errorf("start at %s: the answer is no status (%d)", c.URL, res.status)
	}
	place, err := base.Parse(res.header.Get("Location"))
	if err != nil {
		return nil, fmt.Errorf("start at %s: the Location: %w", c.URL, err)
	}
	return &Operation[R]{ID: d.ID, URL: place.String(), conn: conn}, nil
}

// clientBody writes a body and tells its type.
func clientBody(in any) ([]byte, string, error) {
	switch v := in.(type) {
	case None:
		return nil, "", nil
	case []byte:
		return v, "application/octet-stream", nil
	}
	data, err := encode.JSON(in)
	return data, "application/json", err
}

// Status reads how the task stands.
func (o *Operation[R]) Status(ctx context.Context) (Document, error) { return o.look(ctx, "") }

func (o *Operation[R]) look(ctx context.Context, query string) (Document, error) {
	res, err := o.conn.persist(ctx, &call{method: http.MethodGet, url: o.URL + query})
	var d Document
	if err == nil {
		err = json.Unmarshal(res.body, &d)
	}
	if err != nil {
		return d, fmt.Errorf("status of %s: %w", o.URL, err)
	}
	d.wait = res.pause()
	return d, nil
}

// Wait returns the result once the task has ended. It waits at the server where that can be, and looks again as Retry-After
// says where it cannot; a server that is away is asked again until ctx ends. If the task failed the error is its *Problem; if it was
// canceled it is ErrCanceled.
func (o *Operation[R]) Wait(ctx context.Context) (R, error) {
	var none R
	for {
		begin := time.Now()
		d, err := o.look(ctx, "?wait="+o.conn.poll.String())
		if err != nil {
			return none, err
		}
		switch d.Status {
		case Completed:
			return o.result(ctx, &d)
		case Failed:
			return none, fmt.Errorf("task %s: %w", o.ID, d.Error)
		case Canceled:
			return none, fmt.Errorf("task %s: %w", o.ID, ErrCanceled)
		}
		if err := rest(ctx, d.wait-time.Since(begin)); err != nil {
			return none, err
		}
	}
}

// result reads the result, from the status if it is there.
func (o *Operation[R]) result(ctx context.Context, d *Document) (R, error) {
	var out R
	_, whole := any(out).(Response)
	_, raw := any(out).([]byte)
	if d.Result != nil && !whole && !raw {
		if err := json.Unmarshal(d.Result, &out); err == nil {
			return out, nil
		}
	}
	res, err := o.conn.persist(ctx, &call{method: http.MethodGet, url: o.URL + "/result"})
	if err != nil {
		return out, fmt.Errorf("result of %s: %w", o.URL, err)
	}
	switch into := any(&out).(type) {
	case *Response:
		*into = Response{Status: res.status, Type: res.header.Get("Content-Type"), Location: res.header.Get("Content-Location"), Body: res.body}
	case *[]byte:
		*into = res.body
	case *None:
	default:
		err = json.Unmarshal(res.body, into)
	}
	if err != nil {
		return out, fmt.Errorf("result of %s: %w", o.URL, err)
	}
	return out, nil
}

// Cancel asks the task to end. It may end otherwise before it hears of that; one that has is a *Problem with status 409.
func (o *Operation[R]) Cancel(ctx context.Context) error {
	if _, err := o.conn.persist(ctx, &call{method: http.MethodPost, url: o.URL + ":cancel"}); err != nil {
		return fmt.Errorf("cancel %s: %w", o.URL, err)
	}
	return nil
}

// conn sends requests, again and again if it must.
type conn struct {
	http   *http.Client
	header http.Header
	poll   time.Duration
}

type call struct {
	method, url string
	header      http.Header
	body        []byte
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

// pause returns how long the server wants to be left alone.
func (r *reply) pause() time.Duration {
	n, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil || n < 0 {
		return time.Second
	}
	return time.Duration(n) * time.Second
}

// persist repeats a request that got no answer, or one that asks for patience. Every request here may be repeated.
func (c *conn) persist(ctx context.Context, req *call) (*reply, error) {
	wait := 50 * time.Millisecond
	for {
		res, err := c.send(ctx, req)
		pause := wait
		switch {
		case err == nil && (res.status == http.StatusTooManyRequests || res.status == http.StatusServiceUnavailable):
			err, pause = refusal(res), res.pause()
		case err == nil && (res.status == http.StatusBadGateway || res.status == http.StatusGatewayTimeout):
			err = refusal(res)
		case err == nil && res.status >= 400:
			return nil, refusal(res)
		case err == nil:
			return res, nil
		}
		if rest(ctx, pause) != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func (c *conn) send(ctx context.Context, req *call) (*reply, error) {
	r, err := http.NewRequestWithContext(ctx, req.method, req.url, bytes.NewReader(req.body))
	if err != nil {
		return nil, err
	}
	for _, header := range []http.Header{c.header, req.header} {
		for name, values := range header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end, or is given up
	body, err := io.ReadAll(res.Body)
	return &reply{status: res.StatusCode, header: res.Header, body: body}, err
}

// refusal makes a problem of an answer.
func refusal(res *reply) error {
	p := &Problem{}
	if json.Unmarshal(res.body, p) != nil || p.Status == 0 {
		p = &Problem{}
	}
	p.Status = res.status
	return p
}

// rest waits, and returns why it was cut short.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
