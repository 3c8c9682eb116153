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
	in := newInline(t)
	got, h, err := in.send(t, call.Request{Method: "POST", URL: s.URL, Reader: strings.NewReader("b")}, call.Options{Args: 1})
	if err != nil || got.r == nil || string(got.r.Body) != "b" || string(got.r.Args) != "1" || got.r.ID != h.ID() {
		t.Fatalf("Start = %v, told %+v", err, got)
	}
	if r, err := h.Wait(t.Context()); err != nil || string(r.Body) != "b" || h.WaitCallback(t.Context()) != nil || h.Cancel(t.Context(), "") != nil {
		t.Errorf("Wait = %+v, %v", r, err)
	}
	for path, check := range map[string]func(told) bool{
		"/404":  func(g told) bool { return g.r != nil && g.r.Status == 404 },
		"/slow": func(g told) bool { return g.e != nil && g.e.Type == call.TypeTimeout },
		"/302":  func(g told) bool { return g.r != nil && len(g.r.Redirects) == 1 },
	} {
		if got, _, err := in.send(t, call.Request{URL: s.URL + path}, call.Options{}); err != nil || !check(got) {
			t.Errorf("%s: Start = %v, told %+v", path, err, got)
		}
	}
	in.failures(t, s.URL)
	if in.order[0] != "hook" || in.order[1] != "callback" {
		t.Errorf("order %v, want the hook first", in.order)
	}
}

var errByCallback = errors.New("refused by the callback")

// inline is a call that is sent within Start, and what its callback was told.
type inline struct {
	call  *call.Call
	got   []told
	order []string
}

func newInline(t *testing.T) *inline {
	t.Helper()
	in := &inline{}
	client, err := call.NewClient(call.ClientConfig{
		Inline: true, Timeouts: call.Timeouts{Total: 200 * time.Millisecond},
		BeforeComplete: []func(context.Context, *call.Response) error{func(context.Context, *call.Response) error {
			in.order = append(in.order, "hook")
			return nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in.call = call.Define("inline", call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error {
			in.got, in.order = append(in.got, told{r: r}), append(in.order, "callback")
			if r.Header.Get("X-Path") == "/refuse" {
				return errByCallback
			}
			return nil
		},
		OnError: func(_ context.Context, e *call.Error) error { in.got = append(in.got, told{e: e}); return nil },
	}, call.Config{Client: client})
	return in
}

// send sends a request, and returns what the callback was told last.
func (in *inline) send(t *testing.T, r call.Request, o call.Options) (told, *call.Handle, error) {
	t.Helper()
	in.got = append(in.got, told{})
	h, err := in.call.Start(t.Context(), nil, r, o)
	return in.got[len(in.got)-1], h, err
}

func (in *inline) failures(t *testing.T, url string) {
	t.Helper()
	got, h, err := in.send(t, call.Request{URL: url + "/404"}, call.Options{FailOnStatus: true})
	if err != nil || got.e == nil || got.e.Response.Status != 404 {
		t.Fatalf("FailOnStatus: %v, told %+v", err, got)
	}
	if st, err := h.Status(t.Context()); err != nil || st.ErrorType != call.TypeHTTP {
		t.Errorf("Status = %+v, %v", st, err)
	}
	if got, _, err := in.send(t, call.Request{URL: "http://127.0.0.1:1"}, call.Options{}); err != nil || got.e == nil || got.e.Type != call.TypeConnect || got.e.Attempts != 1 {
		t.Errorf("nobody there: %v, told %+v", err, got.e)
	}
	if _, _, err := in.send(t, call.Request{URL: url + "/refuse"}, call.Options{}); !errors.Is(err, errByCallback) {
		t.Errorf("a callback that fails: Start = %v, want its error", err)
	}
	if _, _, err := in.send(t, call.Request{URL: "no scheme"}, call.Options{}); !errors.Is(err, kernel.ErrInvalid) {
		t.Errorf("Start = %v, want ErrInvalid", err)
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
