package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// calls are those scenarios that package call drives.
var calls = []scenario{
	{"call", callIs(call.Request{Method: http.MethodPost, URL: "http://bank.test/pay", JSON: 7}, func(x *exchange) {})},
	{"call, tried again", callIs(call.Request{URL: "http://bank.test/balance"}, func(x *exchange) { x.troubles = 1 })},
	{"call, failed", callIs(call.Request{URL: "http://bank.test/balance"}, func(x *exchange) { x.troubles, x.fails = 1<<20, true })},
	{"call, sent once", callIs(call.Request{Method: http.MethodPost, URL: "http://bank.test/pay", NoIdempotencyKey: true, OnUnknown: call.FailUnknown}, func(x *exchange) { x.once = true })},
	{"call, cancelled", callIs(call.Request{URL: "http://bank.test/slow"}, func(x *exchange) { x.takes, x.cancel = 500*ms, true })},
}

// exchange is a request, the server that it goes to, and who is told of its end.
type exchange struct {
	w        *workload
	id       store.ID
	takes    time.Duration
	troubles int  // so many requests are answered with 503
	fails    bool // an answer other than 200 is an error
	once     bool // it must not reach the server twice
	cancel   bool

	requests int
	keys     tally // what the server was told
	told     tally // what the callback was told
	last     string
}

// callIs starts a request, waits for its callback, and compares what server, callback and record say.
func callIs(req call.Request, edit func(x *exchange)) func(w *workload) {
	return func(w *workload) {
		x := &exchange{w: w, id: w.id(), takes: 20 * ms, keys: tally{}, told: tally{}}
		edit(x)
		starter := x.define(nil)
		w.serves = append(w.serves, func(p *process, k *kernel.Kernel) { x.define(p).Serve(k) })
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			_, err := starter.Start(ctx, k, req, call.Options{ID: x.id, Args: "args", FailOnStatus: x.fails})
			return err
		})
		if x.cancel {
			w.then(100*ms, func(ctx context.Context, k *kernel.Kernel) error { return starter.Handle(k, x.id).Cancel(ctx, "") })
		}
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error { return starter.Handle(k, x.id).WaitCallback(ctx) })
		w.judge(x.judge)
	}
}

// define makes the call as a process has it; without a process it is for starting alone.
func (x *exchange) define(p *process) *call.Call {
	none := call.NoTimeout // the client's clock is the real one; the wire bounds what it carries
	client, err := call.NewClient(call.ClientConfig{
		Queue: kernel.DefaultQueue, CallbackQueue: kernel.DefaultQueue, Retry: kernel.Retry{Max: 3, Base: 50 * ms, Cap: 100 * ms},
		Timeouts:  call.Timeouts{Connect: none, TLS: none, Send: none, FirstByte: none, Idle: none, Total: none},
		Transport: wire{p, x}, Breaker: call.Breaker{Failures: -1}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err) // a mistake in these lines
	}
	return call.Define("told", call.Callback{
		OnComplete: func(ctx context.Context, r *call.Response) error {
			return x.tell(ctx, fmt.Sprintf("answered %d %s %s", r.Status, r.Body, r.Args))
		},
		OnError: func(ctx context.Context, e *call.Error) error { return x.tell(ctx, "failed "+string(e.Type)) },
	}, call.Config{Client: client, CallbackRetry: kernel.Retry{Max: 3, Base: 50 * ms}})
}

// tell is the callback: its effect comes first, then it takes a while.
func (x *exchange) tell(ctx context.Context, what string) error {
	x.told[what]++
	x.last = what
	if !x.w.s.travel(ctx, 5*ms) {
		return context.Cause(ctx)
	}
	return nil
}

// serve is the server. A request reaches it also when its sender has died meanwhile.
func (x *exchange) serve(r *http.Request) (status int, body string) {
	x.requests++
	x.keys[r.Header.Get("X-Request-Id")+" "+r.Header.Get("Idempotency-Key")]++
	if x.requests <= x.troubles {
		return http.StatusServiceUnavailable, "later"
	}
	return http.StatusOK, "paid"
}

// judge compares in the end what everybody has seen.
func (x *exchange) judge() {
	s, t := x.w.s, x.w.s.eye.look(x.id)
	calls := 0
	for _, n := range x.told {
		calls += n
	}
	switch {
	case len(x.told) != 1:
		s.fail("C1", "the callback of request %v was told %v; one outcome is to be told", x.id, x.told)
	case calls > 1+x.w.faults():
		s.fail("C1", "the callback of request %v was called %d times", x.id, calls)
	case len(x.keys) > 1:
		s.fail("C2", "the server was told more than one id or key for one request: %v", x.keys)
	case x.once && x.requests > 1:
		s.fail("C3", "a request that must not be sent twice reached the server %d times", x.requests)
	case x.last[0] == 'a' && x.requests == 0:
		s.fail("C1", "the callback was told %q, and nothing has reached the server", x.last)
	case (x.last[0] == 'a') != (t.State == store.Done):
		s.fail("C1", "the callback was told %q, and the request is %s", x.last, t.State)
	case x.w.faults() == 0 && x.last != x.wants():
		s.fail("C1", "the callback was told %q, want %q", x.last, x.wants())
	}
}

// wants is what the callback is told where nothing goes wrong.
func (x *exchange) wants() string {
	switch {
	case x.cancel:
		return "failed " + string(call.TypeCancelled)
	case x.fails:
		return "failed " + string(call.TypeHTTP)
	}
	return `answered 200 paid "args"`
}

// wire carries requests of a process to the server. What befalls calls of the store befalls these as well.
type wire struct {
	p *process
	x *exchange
}

var errSlow = errors.New("the server is too slow")

// RoundTrip is one request and its answer.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn(r.URL.Host)
	trace.GotConn(httptrace.GotConnInfo{})
	trace.WroteHeaders() // from here on nobody knows whether it has arrived
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	limited, cancel := env{w.p}.WithTimeout(r.Context(), 2*time.Second, errSlow)
	defer cancel()
	var status int
	var body string
	err := w.p.call(limited, "HTTP", func() error {
		status, body = w.x.serve(r)
		return nil
	})
	if err == nil && !w.p.sim.travel(limited, w.x.takes) {
		err = limited.Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}, nil
}
