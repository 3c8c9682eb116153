package call

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A request that is accepted goes over the wire as one request, with the headers it was given and none besides; one that is not is an
// *InvalidError that repeats neither the URL's secrets nor a header's value.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "https://h/v1/", "x?y=1", "X-A", "value", []byte("{}"))
	f.Add("GET", "", "http://u:hunter2hunter2@[::1%25lo]:80/", "Authorization", "Bearer x\r\nHost: evil", []byte(nil))
	f.Add("GET /\r\nX: y", "", "http://h\r\n/", "Transfer-Encoding", "chunked", []byte("x"))
	f.Add("PUT", "http://127.0.0.1:1/", "//evil/../x", "Content-Length", "0", []byte("body"))
	f.Add("M-SEARCH", "http://h", "?a b", "x y", "", []byte{0})
	f.Fuzz(func(t *testing.T, method, base, address, name, value string, body []byte) {
		const secret = "hunter2hunter2"
		c := &Client{}
		d, err := c.draft(Template{BaseURL: base}, Request{
			Method: method, URL: address, Header: http.Header{name: {value + secret}}, Body: body, Query: url.Values{"q": {value}},
		})
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || strings.Contains(err.Error(), secret) && !strings.Contains(name+method, secret) {
				t.Errorf("draft = %v; want an InvalidError without a secret", err)
			}
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), d.request.Method, d.request.URL, bytes.NewReader(d.body))
		if err != nil {
			t.Fatalf("what was accepted cannot be sent: %v", err)
		}
		req.Header = d.request.Header
		var wire bytes.Buffer
		if err := req.Write(&wire); err != nil {
			t.Fatalf("what was accepted cannot be sent: %v", err)
		}
		in := bufio.NewReader(&wire)
		got, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("what was sent cannot be read: %v", err)
		}
		sent, err := io.ReadAll(got.Body)
		if err != nil || !bytes.Equal(sent, body) || got.Method != d.request.Method || in.Buffered() > 0 {
			t.Errorf("sent %s with %q, and %d bytes behind it, %v; want %s with %q", got.Method, sent, in.Buffered(), err, d.request.Method, body)
		}
		for have := range got.Header {
			if have != http.CanonicalHeaderKey(name) && have != "User-Agent" && have != "Content-Length" && have != "Authorization" {
				t.Errorf("it came with the header %q", have)
			}
		}
	})
}

// A wait is never negative, and never longer than it is allowed to be.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"3", "-1", "1e300", "NaN", "Inf", "Sun, 06 Nov 2094 08:49:37 GMT", "1900000000", "1h", "-5m", "0x10", "999999999999999999999"} {
		f.Add(text, int64(1_800_000_000), 429)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64, status int) {
		now := time.Unix(unix%1e11, 0)
		for _, name := range []string{"Retry-After", "X-RateLimit-Reset"} {
			d := retryAfter(&Response{Status: status, Header: http.Header{name: {text}}}, now)
			if d < 0 || name != "Retry-After" && status != http.StatusTooManyRequests && d != 0 {
				t.Errorf("%s: %q with status %d = %v", name, text, status, d)
			}
		}
	})
}

// A redirect leads nowhere but to http or https, never from https to http, and takes no secret to another origin.
func FuzzRedirect(f *testing.F) {
	f.Add("https://a/x", "/y", 302)
	f.Add("https://a/x", "//b/y", 307)
	f.Add("https://a/x", "http://a/y", 301)
	f.Add("http://a:80/", "http://A/z", 308)
	f.Add("http://a/", "file:///etc/passwd", 303)
	f.Add("http://a/", "http://u:p@a\x00b/", 302)
	f.Fuzz(func(t *testing.T, from, location string, status int) {
		u, err := url.Parse(from)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return
		}
		h := &hop{method: "POST", url: u, header: http.Header{"Authorization": {"x"}, "Cookie": {"x"}, "Accept": {"x"}, "Content-Type": {"x"}}, body: true}
		n, err := h.next(&http.Response{StatusCode: status, Header: http.Header{"Location": {location}}}, nil, 5)
		switch {
		case err != nil:
			if !errors.Is(err, errRedirect) || n != nil {
				t.Errorf("next = %v, %v; want errRedirect alone", n, err)
			}
		case n == nil:
		case n.url.Scheme != "http" && n.url.Scheme != "https", u.Scheme == "https" && n.url.Scheme != "https", n.url.User != nil, n.url.Hostname() == "":
			t.Errorf("%q leads from %q to %q", location, from, n.url)
		case !strings.EqualFold(n.url.Hostname(), u.Hostname()) && (n.header.Get("Authorization") != "" || n.header.Get("Cookie") != ""):
			t.Errorf("%q takes secrets from %q to %q", location, from, n.url)
		}
	})
}

// What is stored of a call is read as it was written; other bytes are an error that repeats nothing of them.
func FuzzUnframe(f *testing.F) {
	f.Add([]byte(`{"method":"GET","url":"http://h"}`+"\nbody"), []byte("x\ny"))
	f.Add([]byte("hunter2hunter2"), []byte(nil))
	f.Fuzz(func(t *testing.T, data, body []byte) {
		var head wireRequest
		if _, err := unframe(data, &head); err != nil && !errors.Is(err, errFrame) {
			t.Errorf("unframe = %v; want errFrame", err)
		}
		framed, err := frame(wireOutcome{Error: &wireError{Message: string(data)}}, body)
		if err != nil {
			t.Fatal(err)
		}
		var out wireOutcome
		if got, err := unframe(framed, &out); err != nil || !bytes.Equal(got, body) || out.Error == nil {
			t.Errorf("unframe = %q, %v; want %q", got, err, body)
		}
	})
}

// Of an answer never more is read than is allowed, whatever it decompresses to.
func FuzzDecodeBody(f *testing.F) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 1<<16))
	z.Close()
	f.Add(bomb.Bytes(), "gzip", uint16(1000))
	f.Add([]byte{0x78, 0x9c, 1}, "deflate", uint16(9))
	f.Add([]byte("plain"), "br, gzip", uint16(3))
	f.Add([]byte("plain"), "", uint16(5))
	f.Fuzz(func(t *testing.T, body []byte, encoding string, limit uint16) {
		_, w, stop := newWatch(t.Context(), Timeouts{})
		defer stop()
		resp := &http.Response{Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1}
		r, err := decodeBody(resp, w, int64(limit))
		if err != nil {
			return
		}
		got, err := io.ReadAll(r)
		if len(got) > int(limit)+1 || len(got) > int(limit) && !errors.Is(err, errTooLarge) {
			t.Errorf("read %d bytes of at most %d, %v", len(got), limit, err)
		}
	})
}
