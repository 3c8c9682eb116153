package call_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// once is a policy without another attempt.
var once = call.Options{Retry: kernel.Retry{Max: 1}}

// raw serves connections by hand, until the test ends. Each is closed when fn returns.
func raw(t *testing.T, fn func(ctx context.Context, c net.Conn)) (url string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	env := kernel.Real()
	env.Go(func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			env.Go(func() {
				defer c.Close()
				fn(ctx, c)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// readRequest reads a request without a body.
func readRequest(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\r\n" {
			return
		}
	}
}

// drip writes a piece again and again until nobody listens.
func drip(ctx context.Context, w io.Writer, piece string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// PH-063, PH-104: each phase has its time, and the error names it.
func TestEachPhaseHasItsTime(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	silent := raw(t, func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
	short := 150 * time.Millisecond
	for _, c := range []struct {
		name  string
		url   string
		body  []byte
		times call.Timeouts
		phase call.Phase
	}{
		{"tls", "https" + strings.TrimPrefix(silent, "http"), nil, call.Timeouts{TLS: short}, call.PhaseTLS},
		{"no answer", silent, nil, call.Timeouts{FirstByte: short}, call.PhaseFirstByte},
		{"nobody reads", silent, make([]byte, 32<<20), call.Timeouts{Send: short}, call.PhaseSend},
		{"a header that drips", raw(t, func(ctx context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			drip(ctx, c, "X-A: b\r\n", 10*time.Millisecond)
		}), nil, call.Timeouts{FirstByte: short}, call.PhaseFirstByte},
		{"a body that stalls", raw(t, func(ctx context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, head+"some")
			<-ctx.Done()
		}), nil, call.Timeouts{Idle: short}, call.PhaseIdle},
		{"a body that drips for ever", raw(t, func(ctx context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, head)
			drip(ctx, c, "x", 20*time.Millisecond)
		}), nil, call.Timeouts{Idle: time.Minute, Total: 2 * short}, call.PhaseTotal},
		{"all of it", silent, nil, call.Timeouts{Total: short}, call.PhaseTotal},
	} {
		w := begin(t, setup{kernel: kernel.Config{MaxPayload: -1}})
		start := time.Now()
		e := w.failure(call.Request{Method: "POST", URL: c.url, Body: c.body, Timeouts: c.times}, once)
		if e.Type != call.TypeTimeout || e.Phase != c.phase || time.Since(start) > 30*time.Second || e.Duration < short {
			t.Errorf("%s: %v after %v, want a timeout of %s", c.name, e, time.Since(start), c.phase)
		}
		if sent := c.phase != call.PhaseTLS; e.MaySent != sent {
			t.Errorf("%s: MaySent = %v, want %v", c.name, e.MaySent, sent)
		}
	}
}

// A body that comes slowly, and keeps coming, is not idle.
func TestASlowBodyIsNotIdle(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 900*time.Millisecond)
		defer cancel()
		drip(ctx, flushing{w}, "x", 30*time.Millisecond)
	})
	w := begin(t, setup{})
	if r := w.answer(call.Request{URL: s.URL, Timeouts: call.Timeouts{Idle: 400 * time.Millisecond}}, once); len(r.Body) < 5 || r.Duration < 800*time.Millisecond {
		t.Errorf("%d bytes after %v, want all of it", len(r.Body), r.Duration)
	}
}

// flushing sends each piece at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	return n, errors.Join(err, http.NewResponseController(f.ResponseWriter).Flush())
}

// PH-104: a connection that is not made in time. The listener's queue is full, so that no further one is accepted.
func TestAConnectionThatIsNotMadeInTime(t *testing.T) {
	t.Parallel()
	// An address for documentation: nobody has it. Where a network refuses at once the error is another, and as true.
	w := begin(t, setup{client: call.ClientConfig{Timeouts: call.Timeouts{Connect: 200 * time.Millisecond}}})
	e := w.failure(call.Request{URL: "http://192.0.2.1:9"}, once)
	if timeout := e.Type == call.TypeTimeout && e.Phase == call.PhaseConnect; !timeout && e.Type != call.TypeConnect || e.MaySent {
		t.Errorf("%v, may be sent: %v; want a timeout to connect", e, e.MaySent)
	}
}

// PH-104: what goes wrong has a type, and the text tells nothing of the URL but its host.
func TestWhatGoesWrongHasAType(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewTLSServer(http.HandlerFunc(echo))
	t.Cleanup(untrusted.Close)
	untrusted.Config.ErrorLog = nil
	header := strings.Repeat("X-Filler: "+strings.Repeat("y", 990)+"\r\n", 9000)
	for _, c := range []struct {
		name string
		url  string
		want call.Type
	}{
		{"no such name", "http://no-such-name.invalid/hidden?token=hidden", call.TypeDNS},
		{"nobody there", "http://127.0.0.1:1/hidden?token=hidden", call.TypeConnect},
		{"a certificate of nobody", untrusted.URL + "/hidden", call.TypeTLS},
		{"no TLS", "https" + strings.TrimPrefix(server(t, echo).URL, "http") + "/hidden", call.TypeTLS},
		{"hung up at once", raw(t, func(context.Context, net.Conn) {}) + "/hidden", call.TypeLost},
		{"hung up after the request", raw(t, func(_ context.Context, c net.Conn) { readRequest(c) }) + "/hidden?token=hidden", call.TypeLost},
		{"hung up in the body", raw(t, func(_ context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome")
		}) + "/hidden", call.TypeLost},
		{"hung up in a chunk", raw(t, func(_ context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nsome")
		}) + "/hidden", call.TypeLost},
		{"no HTTP", raw(t, func(_ context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "SSH-2.0-hidden\r\n")
		}) + "/hidden", call.TypeLost},
		{"nine megabytes of header", raw(t, func(_ context.Context, c net.Conn) {
			readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+header)
		}) + "/hidden", call.TypeTooLarge},
	} {
		w := begin(t, setup{})
		h := w.start(call.Request{Method: "POST", URL: c.url, Body: []byte("hidden"), Timeouts: call.Timeouts{Total: 20 * time.Second}}, once)
		e := w.next().e
		if e == nil || e.Type != c.want || e.URL != c.url || e.Method != "POST" || e.Duration <= 0 || e.Message == "" {
			t.Errorf("%s: %+v, want type %s", c.name, e, c.want)
			continue
		}
		status, err := h.Status(t.Context())
		if err != nil || status.ErrorType != c.want || strings.Contains(status.Error+e.Error(), "hidden") {
			t.Errorf("%s: status %+v, %v; want the type, and nothing of the URL but the host", c.name, status, err)
		}
	}
}

func compress(t *testing.T, encoding string, data io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	var z io.WriteCloser
	switch encoding {
	case "gzip":
		z = gzip.NewWriter(&b)
	case "deflate":
		z = zlib.NewWriter(&b)
	case "bare":
		z, _ = flate.NewWriter(&b, 9)
	}
	if _, err := io.Copy(z, data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PH-054: compressed answers are decompressed.
func TestCompressedAnswersAreDecompressed(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("text ", 5000)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip, deflate" {
			t.Errorf("Accept-Encoding = %q", r.Header.Get("Accept-Encoding"))
		}
		encoding := strings.TrimPrefix(r.URL.Path, "/")
		w.Header().Set("Content-Encoding", map[string]string{"bare": "deflate", "br": "br", "empty": "gzip"}[encoding])
		switch encoding {
		case "br":
			fmt.Fprint(w, "as it came")
		case "empty":
		default:
			if encoding != "bare" {
				w.Header().Set("Content-Encoding", encoding)
			}
			_, _ = w.Write(compress(t, encoding, strings.NewReader(text)))
		}
	})
	w := begin(t, setup{})
	for _, encoding := range []string{"gzip", "deflate", "bare"} {
		r := w.answer(call.Request{URL: s.URL + "/" + encoding}, call.Options{})
		if string(r.Body) != text || r.Header.Get("Content-Encoding") != "" || r.Header.Get("Content-Length") != "" || r.Size != int64(len(text)) {
			t.Errorf("%s: %d bytes, header %v", encoding, len(r.Body), r.Header)
		}
	}
	if r := w.answer(call.Request{URL: s.URL + "/br"}, call.Options{}); string(r.Body) != "as it came" || r.Header.Get("Content-Encoding") != "br" {
		t.Errorf("an encoding that is not known: %q %v, want it as it came", r.Body, r.Header)
	}
	if r := w.answer(call.Request{URL: s.URL + "/empty"}, call.Options{}); len(r.Body) != 0 {
		t.Errorf("an empty body is %q", r.Body)
	}
}

// What does not decompress, or does so without end, ends as an error in bounded memory.
func TestBombsAndBrokenStreamsAreErrors(t *testing.T) {
	t.Parallel()
	bomb := compress(t, "gzip", io.LimitReader(endless{}, 300<<20))
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/bomb":
			_, _ = w.Write(bomb)
		case "/twice":
			w.Header().Set("Content-Encoding", "gzip, gzip")
			_, _ = w.Write(bomb)
		case "/broken":
			_, _ = w.Write(append(bomb[:200:200], "and then something else entirely"...))
		case "/none":
			fmt.Fprint(w, "this is no gzip")
		}
	})
	w := begin(t, setup{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for path, want := range map[string]call.Type{
		"/bomb": call.TypeTooLarge, "/twice": call.TypeDecode, "/broken": call.TypeDecode, "/none": call.TypeDecode,
	} {
		if e := w.failure(call.Request{URL: s.URL + path, MaxResponse: 1 << 20}, call.Options{}); e.Type != want {
			t.Errorf("%s: %v, want %s", path, e, want)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 100<<20 {
		t.Errorf("%d MiB were allocated for answers of 1 MiB at most", grown>>20)
	}
}

// PH-060, PH-061, PH-062: an answer may have exactly as many bytes as allowed, and no more, whether it says so before or not.
func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		n := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(make([]byte, n))
	})
	for _, c := range []struct {
		name    string
		client  call.ClientConfig
		request int64
		bound   int
	}{
		{"default", call.ClientConfig{}, 0, 1 << 20},
		{"client", call.ClientConfig{MaxResponse: 1000}, 0, 1000},
		{"request", call.ClientConfig{MaxResponse: 1000}, 5000, 5000},
	} {
		w := begin(t, setup{client: c.client})
		for _, path := range []string{"/", "/chunked"} {
			r := w.answer(call.Request{URL: fmt.Sprintf("%s%s?n=%d", s.URL, path, c.bound), MaxResponse: c.request}, call.Options{})
			if len(r.Body) != c.bound || r.Size != int64(c.bound) {
				t.Errorf("%s %s: %d bytes, want %d", c.name, path, len(r.Body), c.bound)
			}
			e := w.failure(call.Request{URL: fmt.Sprintf("%s%s?n=%d", s.URL, path, c.bound+1), MaxResponse: c.request}, call.Options{})
			if e.Type != call.TypeTooLarge || e.Attempts != 1 {
				t.Errorf("%s %s: one byte more: %v after %d attempts, want too_large after 1", c.name, path, e, e.Attempts)
			}
		}
	}
}

// A store that takes less than an answer may have says so.
func TestAnAnswerThatDoesNotFitIntoTheStoreIsAnError(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3000)) })
	w := begin(t, setup{kernel: kernel.Config{MaxPayload: 2000, Slots: map[string]int{"calls": 5, "callbacks": 5}}})
	if e := w.failure(call.Request{URL: s.URL}, call.Options{}); e.Type != call.TypeTooLarge || !strings.Contains(e.Message, "MaxPayload") {
		t.Errorf("%v, want too_large", e)
	}
	if e := w.failure(call.Request{URL: s.URL}, call.Options{}); errors.Is(e, call.ErrRefused) {
		t.Errorf("%v is ErrRefused", e)
	}
}

// A connection that the server has closed meanwhile costs no attempt: the request is sent over another, with its body.
func TestAConnectionThatWasClosedMeanwhileCostsNothing(t *testing.T) {
	t.Parallel()
	url := raw(t, func(_ context.Context, c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		_, _ = in.ReadByte() // the next request on this connection is not answered
	})
	w := begin(t, setup{})
	for range 4 {
		r := w.answer(call.Request{Method: "POST", URL: url, Body: []byte("body")}, once)
		if string(r.Body) != "body" || r.Attempts != 0 {
			t.Errorf("%q after %d failed attempts", r.Body, r.Attempts)
		}
	}
}
