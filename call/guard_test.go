package call_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
)

func portOf(t *testing.T, text string) int {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// What must not be called is refused at Start, and nothing is stored.
func TestTheGuardRefusesAtStart(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{idle: true, client: call.ClientConfig{Guard: &call.Guard{Ports: []int{80, 443, 8080}}}})
	for _, url := range []string{
		"http://127.0.0.1", "http://127.0.0.1:8080/x", "http://localhost", "http://LOCALHOST.", "http://10.0.0.1", "http://192.168.0.1",
		"http://169.254.169.254/latest/meta-data", "http://100.64.0.1", "http://0.0.0.0", "http://[::1]", "http://[::ffff:127.0.0.1]",
		"http://[::ffff:7f00:1]", "http://[64:ff9b::7f00:1]", "http://[2002:7f00:1::]", "http://[fd00:ec2::254]", "http://[fe80::1%25lo]",
		"http://8.8.8.8:22", "http://8.8.8.8:6379",
	} {
		_, err := w.call.Start(t.Context(), w.k, call.Request{URL: url}, call.Options{})
		if !errors.Is(err, call.ErrRefused) || !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("Start(%s) = %v, want ErrRefused", url, err)
		}
	}
	if n := len(kerneltest.Tasks(t, w.k, "call.send")); n != 0 {
		t.Errorf("%d tasks were stored, want none", n)
	}
	if _, err := w.call.Start(t.Context(), w.k, call.Request{URL: "http://8.8.8.8"}, call.Options{}); err != nil {
		t.Errorf("a public address: Start = %v", err)
	}
}

// Every hop is looked at, at the moment it is dialled; nobody who must not be called hears of it.
func TestTheGuardLooksAtEveryHop(t *testing.T) {
	t.Parallel()
	var victims seen
	victim := server(t, func(_ http.ResponseWriter, r *http.Request) { victims.add(r) })
	hop, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatalf("a second address of the loopback is needed (macOS: sudo ifconfig lo0 alias 127.0.0.2): %v", err)
	}
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", victim.URL)
		w.WriteHeader(302)
	})}
	kernel.Real().Go(func() { _ = front.Serve(hop) })
	t.Cleanup(func() { front.Close() })
	guard := &call.Guard{
		Nets:  []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")},
		Ports: []int{hop.Addr().(*net.TCPAddr).Port, portOf(t, victim.URL)},
	}
	w := begin(t, setup{client: call.ClientConfig{Guard: guard}})
	e := w.failure(call.Request{URL: "http://" + hop.Addr().String()}, call.Options{})
	if e.Type != call.TypeRefused || !errors.Is(e, call.ErrRefused) || e.Attempts != 1 || len(e.Redirects) != 1 {
		t.Errorf("%v after %v, want refused at the second hop", e, e.Redirects)
	}
	if victims.count() != 0 {
		t.Error("the victim was called")
	}
	guard.Nets = append(guard.Nets, netip.MustParsePrefix("127.0.0.1/32"))
	w = begin(t, setup{client: call.ClientConfig{Guard: guard}})
	if r := w.answer(call.Request{URL: "http://" + hop.Addr().String()}, call.Options{}); r.Status != 200 || victims.count() != 1 {
		t.Errorf("with the net allowed: %d", r.Status)
	}
}

// nameServer answers A questions, the nth with the nth address, the last one for ever; others with nothing.
func nameServer(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	pc, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	var asked atomic.Int64
	kernel.Real().Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(nameAnswer(buf[:n], addresses, &asked), from)
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func nameAnswer(q []byte, addresses []string, asked *atomic.Int64) []byte {
	end := 12
	for q[end] != 0 {
		end += int(q[end]) + 1
	}
	end += 5 // the zero, the type, the class
	kind := binary.BigEndian.Uint16(q[end-4:])
	a := append([]byte(nil), q[:end]...)
	a[2], a[3] = 0x81, 0x80 // an answer, without an error
	binary.BigEndian.PutUint16(a[6:], 0)
	binary.BigEndian.PutUint16(a[8:], 0)
	binary.BigEndian.PutUint16(a[10:], 0)
	if kind != 1 {
		return a
	}
	i := min(int(asked.Add(1))-1, len(addresses)-1)
	ip := netip.MustParseAddr(addresses[i]).As4()
	binary.BigEndian.PutUint16(a[6:], 1)
	a = append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(a, ip[:]...)
}

// A name that is public when it is looked at and private when it is dialled is refused.
func TestANameThatRebindsIsRefused(t *testing.T) {
	t.Parallel()
	var victims seen
	victim := server(t, func(_ http.ResponseWriter, r *http.Request) { victims.add(r) })
	port := portOf(t, victim.URL)
	client := call.ClientConfig{Guard: &call.Guard{Ports: []int{port}}, Resolver: nameServer(t, "8.8.8.8", "127.0.0.1")}
	w := begin(t, setup{client: client})
	url := "http://rebind.test:" + strconv.Itoa(port)
	h, err := w.call.Start(t.Context(), w.k, call.Request{URL: url}, call.Options{})
	if err != nil {
		t.Fatalf("Start = %v, want it to pass: the name is public so far", err)
	}
	if e := w.next().e; e == nil || e.Type != call.TypeRefused || e.ID != h.ID() || e.Attempts != 1 {
		t.Errorf("%+v, want refused when it was dialled", e)
	}
	if _, err := w.call.Start(t.Context(), w.k, call.Request{URL: url}, call.Options{}); !errors.Is(err, call.ErrRefused) {
		t.Errorf("Start once the name is private = %v, want ErrRefused", err)
	}
	if victims.count() != 0 {
		t.Error("the victim was called")
	}
}

// A name that does not resolve now may do so later: it is stored, tried, and its error is the resolver's.
func TestANameThatIsNotThereIsNotRefused(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{client: call.ClientConfig{Guard: &call.Guard{}}})
	if e := w.failure(call.Request{URL: "http://not-there.invalid"}, call.Options{}); e.Type != call.TypeDNS || e.Attempts != 3 {
		t.Errorf("%v after %d attempts, want dns after 3", e, e.Attempts)
	}
}

// proxy forwards plain requests and answers CONNECT by a tunnel; it keeps what it was asked for.
func proxy(t *testing.T, got *seen) *url.URL {
	t.Helper()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		got.add(r)
		if r.Method == http.MethodConnect {
			tunnel(w, r)
			return
		}
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, rest, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	kernel.Real().Go(func() {
		_, _ = io.Copy(there, rest)
		there.Close()
	})
	_, _ = io.Copy(here, there)
	here.Close()
}

// (proxy_url): requests go through the proxy, with its password, for http and https.
func TestRequestsGoThroughTheProxy(t *testing.T) {
	t.Parallel()
	var asked seen
	p := proxy(t, &asked)
	p.User = url.UserPassword("user", "word")
	plain := server(t, echo)
	secure, roots := secureServer(t, echo, false)
	w := begin(t, setup{client: call.ClientConfig{Proxy: p.String(), TLS: roots}})
	for _, target := range []string{plain.URL, secure.URL} {
		if r := w.answer(call.Request{Method: "POST", URL: target, Body: []byte("b")}, call.Options{}); string(r.Body) != "b" {
			t.Errorf("%s: %q", target, r.Body)
		}
	}
	reqs := asked.all()
	if len(reqs) != 2 || reqs[1].Method != http.MethodConnect {
		t.Fatalf("the proxy got %d requests, want a POST and a CONNECT", len(reqs))
	}
	for _, r := range reqs {
		if !strings.HasPrefix(r.Header.Get("Proxy-Authorization"), "Basic ") {
			t.Errorf("%s without the password", r.Method)
		}
	}
	if e := begin(t, setup{client: call.ClientConfig{Proxy: "http://127.0.0.1:1"}}).failure(call.Request{URL: plain.URL}, once); e.Type != call.TypeConnect {
		t.Errorf("a proxy that is not there: %v, want connect", e)
	}
}

// Behind a proxy the target is looked at before the proxy is asked for it, and the proxy itself may be private.
func TestTheGuardHoldsBehindAProxy(t *testing.T) {
	t.Parallel()
	var asked seen
	p := proxy(t, &asked)
	s := server(t, echo)
	ports := []int{portOf(t, s.URL), 80}
	w := begin(t, setup{client: call.ClientConfig{Proxy: p.String(), Guard: &call.Guard{Ports: ports}}})
	if _, err := w.call.Start(t.Context(), w.k, call.Request{URL: "http://169.254.169.254/"}, call.Options{}); !errors.Is(err, call.ErrRefused) {
		t.Errorf("Start = %v, want ErrRefused", err)
	}
	// A name that turns private between Start and the request.
	w = begin(t, setup{client: call.ClientConfig{
		Proxy: p.String(), Guard: &call.Guard{Ports: ports}, Resolver: nameServer(t, "8.8.8.8", "169.254.169.254"),
	}})
	if e := w.failure(call.Request{URL: "http://rebind.test"}, call.Options{}); e.Type != call.TypeRefused {
		t.Errorf("%v, want refused", e)
	}
	if asked.count() != 0 {
		t.Errorf("the proxy was asked %d times, want never", asked.count())
	}
	allowed := &call.Guard{Ports: ports, Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	w = begin(t, setup{client: call.ClientConfig{Proxy: p.String(), Guard: allowed}})
	if r := w.answer(call.Request{URL: s.URL}, call.Options{}); r.Status != 200 || asked.count() != 1 {
		t.Errorf("an allowed target: %d, asked %d times", r.Status, asked.count())
	}
}
