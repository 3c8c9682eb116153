package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// signer is the name under which the client knows the secrets of callbacks.
const signer = "callback"

// Calls makes the calls that the API is asked for, and tells their ends to a URL or to a kind of tasks.
type Calls struct {
	k                 *kernel.Kernel
	client            *call.Client
	signed            bool
	plain, back, told *call.Call // without a callback, with one, and the callbacks to URLs
}

// NewCalls makes them on a kernel, and serves them there: call it before the kernel runs, once. secrets, if there are any, sign what goes to
// callback URLs, as Standard Webhooks says.
func NewCalls(k *kernel.Kernel, cfg call.ClientConfig, secrets ...string) (*Calls, error) {
	if len(secrets) > 0 {
		cfg.Signers = map[string][]string{signer: secrets}
	}
	client, err := call.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	c := &Calls{k: k, client: client, signed: len(secrets) > 0}
	nothing := call.Callback{
		OnComplete: func(context.Context, *call.Response) error { return nil },
		OnError:    func(context.Context, *call.Error) error { return nil },
	}
	c.plain = call.Define("api.plain", nothing, call.Config{Client: client})
	c.told = call.Define("api.told", nothing, call.Config{Client: client, FailOnStatus: true})
	c.back = call.Define("api.back", call.Callback{
		OnComplete: func(ctx context.Context, r *call.Response) error {
			to, err := call.ArgsOf[Callback](r)
			if err != nil {
				return kernel.Permanent(err)
			}
			return c.tell(ctx, to, r.ID, answered(ctx, r))
		},
		OnError: func(ctx context.Context, e *call.Error) error {
			to, err := call.ArgsOf[Callback](e)
			if err != nil {
				return kernel.Permanent(err)
			}
			return c.tell(ctx, to, e.ID, lost(ctx, e))
		},
	}, call.Config{Client: client})
	for _, one := range []*call.Call{c.plain, c.told, c.back} {
		one.Serve(k)
	}
	return c, nil
}

// Client is what sends them: for its statistics.
func (c *Calls) Client() *call.Client { return c.client }

// Callback says who is told how a call ended: a URL, or a kind of tasks.
type Callback struct {
	URL   string          `json:"url,omitempty"`
	Kind  string          `json:"kind,omitempty"`
	Queue string          `json:"queue,omitempty"` // of the tasks of the kind
	Args  json.RawMessage `json:"args,omitempty"`  // handed on
}

// tell hands an end on. Its id is made of the call's: told twice, it comes once.
func (c *Calls) tell(ctx context.Context, to Callback, id kernel.ID, end CallEnd) error {
	end.Args = to.Args
	body, err := json.Marshal(end)
	if err != nil {
		return kernel.Permanent(err)
	}
	own := kernel.DeriveID("api.callback", id.String())
	if to.Kind != "" {
		_, err = c.k.Submit(ctx, kernel.Spec{ID: own, Kind: to.Kind, Queue: to.Queue, Args: body})
	} else {
		req := call.Request{Method: http.MethodPost, URL: to.URL, Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
		if c.signed {
			req.Sign = signer
		}
		_, err = c.told.Start(ctx, c.k, req, call.Options{ID: own, Correlation: id.String()})
	}
	if errors.Is(err, kernel.ErrInvalid) {
		return kernel.Permanent(err)
	}
	return err
}

// NewCall is a request to be sent. Only the URL is needed.
type NewCall struct {
	ID           string              `json:"id,omitempty"`
	Method       string              `json:"method,omitempty"`
	URL          string              `json:"url"`
	Header       map[string][]string `json:"header,omitempty"`
	Query        map[string][]string `json:"query,omitempty"`
	JSON         json.RawMessage     `json:"json,omitempty"` // the body
	Body         string              `json:"body,omitempty"` // the body, as text
	BodyBase64   []byte              `json:"bodyBase64,omitempty"`
	Timeout      Span                `json:"timeout,omitempty"` // in all
	Retry        *Retry              `json:"retry,omitempty"`
	FailOnStatus bool                `json:"failOnStatus,omitempty"` // an answer other than 200 to 299 is an error
	OnUnknown    string              `json:"onUnknown,omitempty"`    // auto, retry, fail: if it may have been sent by a process that died
	Sign         bool                `json:"sign,omitempty"`         // as Standard Webhooks says, with the daemon's secret
	Callback     *Callback           `json:"callback,omitempty"`
	Delay        Span                `json:"delay,omitempty"`
	DueAt        time.Time           `json:"dueAt,omitzero"`
	Key          string              `json:"key,omitempty"` // keeps a second call with it out until the first has ended
	Labels       map[string]string   `json:"labels,omitempty"`
	Correlation  string              `json:"correlation,omitempty"`
	Retention    Span                `json:"retention,omitempty"`
}

func (n *NewCall) request() call.Request {
	r := call.Request{
		Method: n.Method, URL: n.URL, Header: n.Header, Query: url.Values(n.Query), Timeouts: call.Timeouts{Total: time.Duration(n.Timeout)},
		OnUnknown: call.Unknown(n.OnUnknown),
	}
	switch {
	case len(n.JSON) > 0:
		r.JSON = n.JSON
	case n.Body != "":
		r.Body = []byte(n.Body)
	default:
		r.Body = n.BodyBase64
	}
	if n.Sign {
		r.Sign = signer
	}
	return r
}

// calls finds the calls of the namespace.
func (q *request) calls() (*Calls, error) {
	c := q.s.cfg.Calls
	if q.k != q.s.k {
		c = q.s.cfg.Spaces[q.who.namespace].Calls
	}
	if c == nil {
		return nil, problem(http.StatusNotImplemented, "no_calls", "this daemon makes no calls")
	}
	return c, nil
}

func startCall(q *request, in NewCall) (Submitted, error) {
	c, err := q.calls()
	if err != nil {
		return Submitted{}, err
	}
	id, err := parseID("id", in.ID)
	if err != nil {
		return Submitted{}, err
	}
	opts := call.Options{
		ID: id, FailOnStatus: in.FailOnStatus, Retry: in.Retry.policy(), Delay: time.Duration(in.Delay), At: in.DueAt, Key: in.Key, Labels: in.Labels,
		Correlation: in.Correlation, Retention: time.Duration(in.Retention),
	}
	with := c.plain
	if to := in.Callback; to != nil {
		if err := c.mayTell(q, to); err != nil {
			return Submitted{}, err
		}
		with, opts.Args = c.back, *to
	}
	h, err := with.Start(q, q.k, in.request(), opts)
	if err != nil {
		return Submitted{}, err
	}
	q.w.Header().Set("Location", "/v1/calls/"+h.ID().String())
	return Submitted{ID: h.ID().String(), Existed: h.Existed()}, nil
}

// mayTell finds what is wrong with a callback before anything is stored.
func (c *Calls) mayTell(ctx context.Context, to *Callback) error {
	if (to.URL == "") == (to.Kind == "") {
		return fmt.Errorf("%w: a callback needs a url or a kind, and not both", kernel.ErrInvalid)
	}
	if to.Kind != "" {
		queue := to.Queue
		if queue == "" {
			queue = kernel.DefaultQueue
		}
		spec := kernel.Spec{ID: c.k.NewID(), Kind: to.Kind, Queue: queue}
		return spec.Validate()
	}
	return c.told.Check(ctx, call.Request{Method: http.MethodPost, URL: to.URL})
}

// CallError is why there is no answer.
type CallError struct {
	Type    string `json:"type"`
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message"`
	Reason  string `json:"reason,omitempty"`
	MaySent bool   `json:"maySent"` // it, or a part of it, may have reached the server
}

// CallEnd is how a call ended: with an answer, an error, or both.
type CallEnd struct {
	ID         string              `json:"id"`
	Method     string              `json:"method,omitempty"`
	URL        string              `json:"url,omitempty"`
	Proto      string              `json:"proto,omitempty"` // of the answer: HTTP/1.1
	Status     int                 `json:"status,omitempty"`
	Header     map[string][]string `json:"header,omitempty"`
	Body       string              `json:"body,omitempty"`       // if it is text
	BodyBase64 []byte              `json:"bodyBase64,omitempty"` // if it is not
	Size       int64               `json:"size,omitempty"`       // of the whole body: one over a mebibyte is cut
	Attempts   int                 `json:"attempts"`             // that failed before
	Crashes    int                 `json:"crashes,omitempty"`
	Seconds    float64             `json:"seconds"` // of the last attempt
	Error      *CallError          `json:"error,omitempty"`
	Args       json.RawMessage     `json:"args,omitempty"` // of the callback
}

// Call is how a call stands.
type Call struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Host      string    `json:"host,omitempty"`
	Attempts  int       `json:"attempts"`
	CreatedAt time.Time `json:"createdAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	End       *CallEnd  `json:"end,omitempty"` // once it has ended
}

func getCall(q *request, id kernel.ID, _ none) (Call, error) {
	c, err := q.calls()
	if err != nil {
		return Call{}, err
	}
	wait, err := q.span("wait")
	if err != nil {
		return Call{}, err
	}
	if _, err := q.await(id, wait); errors.Is(err, kernel.ErrNotFound) {
		return Call{}, err
	}
	ctx, cancel := q.waiting(0)
	defer cancel()
	h := c.plain.Handle(q.k, id)
	s, err := h.Status(ctx)
	if err != nil {
		return Call{}, err
	}
	out := Call{ID: id.String(), State: string(s.State), Host: s.Host, Attempts: s.Attempts, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt}
	if !s.State.Terminal() {
		return out, nil
	}
	r, err := h.Wait(ctx)
	var failure *call.Error
	switch {
	case err == nil:
		end := answered(ctx, r)
		out.End = &end
	case errors.As(err, &failure):
		end := lost(ctx, failure)
		out.End = &end
	case !errors.Is(err, call.ErrForgotten):
		return Call{}, err
	}
	return out, nil
}
