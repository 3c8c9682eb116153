package call_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// PH-144: inline, a request is sent and called back for within Start, without a kernel.
func TestInlineSendsWithinStart(t *testing.T) {
	t.Parallel()
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			w.WriteHeader(404)
		case "/slow":
			<-r.Context().Done()
		case "/302":
			http.Redirect(w, r, "/end", http.StatusFound)
		default:
			echo(w, r)
		}
	})
	var got []told
	var order []string
	client, err := call.NewClient(call.ClientConfig{
		Inline: true, Timeouts: call.Timeouts{Total: 200 * time.Millisecond},
		BeforeComplete: []func(context.Context, *call.Response) error{func(context.Context, *call.Response) error { order = append(order, "hook"); return nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused by the callback")
	c := call.Define("inline", call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error {
			got, order = append(got, told{r: r}), append(order, "callback")
			if r.Header.Get("X-Path") == "/refuse" {
				return refused
			}
			return nil
		},
		OnError: func(_ context.Context, e *call.Error) error { got = append(got, told{e: e}); return nil },
	}, call.Config{Client: client})
	send := func(r call.Request, o call.Options) (*call.Handle, error) { return c.Start(t.Context(), nil, r, o) }

	h, err := send(call.Request{Method: "POST", URL: s.URL, Reader: strings.NewReader("b")}, call.Options{Args: 1})
	if err != nil || len(got) != 1 || string(got[0].r.Body) != "b" || string(got[0].r.Args) != "1" || got[0].r.ID != h.ID() {
		t.Fatalf("Start = %v, told %+v", err, got)
	}
	if r, err := h.Wait(t.Context()); err != nil || string(r.Body) != "b" || h.WaitCallback(t.Context()) != nil || h.Cancel(t.Context(), "") != nil {
		t.Errorf("Wait = %+v, %v", r, err)
	}
	for path, check := range map[string]func(told, *call.Handle) bool{
		"/404":  func(g told, _ *call.Handle) bool { return g.r != nil && g.r.Status == 404 },
		"/slow": func(g told, _ *call.Handle) bool { return g.e != nil && g.e.Type == call.TypeTimeout },
		"/302":  func(g told, _ *call.Handle) bool { return g.r != nil && len(g.r.Redirects) == 1 },
	} {
		h, err := send(call.Request{URL: s.URL + path}, call.Options{})
		if err != nil || !check(got[len(got)-1], h) {
			t.Errorf("%s: Start = %v, told %+v", path, err, got[len(got)-1])
		}
	}
	if h, err := send(call.Request{URL: s.URL + "/404"}, call.Options{FailOnStatus: true}); err != nil || got[len(got)-1].e == nil || got[len(got)-1].e.Response.Status != 404 {
		t.Errorf("FailOnStatus: %v, told %+v", err, got[len(got)-1])
	} else if st, err := h.Status(t.Context()); err != nil || st.ErrorType != call.TypeHTTP {
		t.Errorf("Status = %+v, %v", st, err)
	}
	if _, err := send(call.Request{URL: "http://127.0.0.1:1"}, call.Options{}); err != nil || got[len(got)-1].e.Type != call.TypeConnect || got[len(got)-1].e.Attempts != 1 {
		t.Errorf("nobody there: %v, told %+v", err, got[len(got)-1].e)
	}
	if _, err := send(call.Request{URL: s.URL + "/refuse"}, call.Options{}); !errors.Is(err, refused) {
		t.Errorf("a callback that fails: Start = %v, want its error", err)
	}
	if _, err := send(call.Request{URL: "no scheme"}, call.Options{}); !errors.Is(err, kernel.ErrInvalid) {
		t.Errorf("Start = %v, want ErrInvalid", err)
	}
	if order[0] != "hook" || order[1] != "callback" {
		t.Errorf("order %v, want the hook first", order)
	}
}

// PH-148: the handler of the process is registered once, removed by who registered it, and starts requests by the name of their callback.
func TestTheHandlerOfTheProcess(t *testing.T) { // not parallel: there is one per process
	s := server(t, echo)
	w := begin(t, setup{})
	req := call.Request{URL: s.URL}
	if _, err := call.Send(t.Context(), "test", req, call.Options{}); !errors.Is(err, call.ErrNoHandler) {
		t.Errorf("Send = %v, want ErrNoHandler", err)
	}
	h := w.client.Handler(w.k)
	remove, err := call.Register(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Register(h); !errors.Is(err, call.ErrRegistered) {
		t.Errorf("a second Register = %v, want ErrRegistered", err)
	}
	if _, err := call.Register(nil); !errors.Is(err, kernel.ErrInvalid) {
		t.Errorf("Register(nil) = %v, want ErrInvalid", err)
	}
	started, err := call.Send(t.Context(), "test", req, call.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.next(); got.r == nil || got.r.ID != started.ID() {
		t.Errorf("told %+v", got)
	}
	if _, err := call.Send(t.Context(), "other", req, call.Options{}); !errors.Is(err, call.ErrUnknownCallback) {
		t.Errorf("Send to a callback that was not defined = %v, want ErrUnknownCallback", err)
	}
	remove()
	again, err := call.Register(h)
	if err != nil {
		t.Fatalf("Register after remove = %v", err)
	}
	remove() // of the first: it must not take the second away
	if _, err := call.Send(t.Context(), "test", req, call.Options{}); err != nil {
		t.Errorf("Send = %v", err)
	}
	again()
	if _, err := call.Send(t.Context(), "test", req, call.Options{}); !errors.Is(err, call.ErrNoHandler) {
		t.Errorf("Send after remove = %v, want ErrNoHandler", err)
	}
}
