package endpoints_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

func TestTheClientStartsWaitsAndCancels(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{Principal: byHeader}}, func(t *testing.T, p *place) {
		g := newGate()
		cfg := endpoint.Config{Site: p.site}
		p.mux.Handle("POST /orders", Orders.Handler(p.k, cfg))
		p.mux.Handle("POST /gate", g.Handler(p.k, cfg))
		p.work(func(k *kernel.Kernel) { Orders.Serve(k); g.Serve(k) }, kernel.Config{})
		who := http.Header{"X-Who": {"ann"}}

		orders := &endpoint.Client[Order, Receipt]{URL: p.url + "/orders", Header: who}
		op, err := orders.Start(t.Context(), Order{Item: "tea", Count: 21}, "")
		if err != nil {
			t.Fatal(err)
		}
		if receipt, err := op.Wait(t.Context()); err != nil || receipt != (Receipt{"tea", 42}) {
			t.Errorf("Wait = %+v, %v; want the receipt", receipt, err)
		}
		first, err1 := orders.Start(t.Context(), Order{}, "k")
		second, err2 := orders.Start(t.Context(), Order{}, "k")
		if err1 != nil || err2 != nil || first.ID != second.ID {
			t.Errorf("two starts with one key: %v %v, %v %v; want one task", first, err1, second, err2)
		}
		var refused *endpoint.Problem
		if _, err := orders.Start(t.Context(), Order{Count: 1}, "k"); !errors.As(err, &refused) || refused.Status != 422 {
			t.Errorf("Start with a used key = %v, want the problem", err)
		}

		gated := &endpoint.Client[Order, Order]{URL: p.url + "/gate", Header: who}
		run, err := gated.Start(t.Context(), Order{}, "")
		if err != nil {
			t.Fatal(err)
		}
		g.arrive(p)
		if d, err := run.Status(t.Context()); err != nil || d.Status != endpoint.InProgress {
			t.Errorf("Status = %s, %v; want InProgress", d.Status, err)
		}
		if err := run.Cancel(t.Context()); err != nil {
			t.Errorf("Cancel = %v", err)
		}
		if _, err := run.Wait(t.Context()); !errors.Is(err, endpoint.ErrCanceled) {
			t.Errorf("Wait = %v, want ErrCanceled", err)
		}
	})
}

func TestTheClientTellsFailuresAndTakesBytes(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		tries := endpoint.Define("tries", func(context.Context, endpoint.Request[Order]) (endpoint.None, error) {
			return endpoint.None{}, &endpoint.Problem{Status: 409, Code: "taken"}
		})
		raw := endpoint.Define("raw", func(_ context.Context, in endpoint.Request[[]byte]) (endpoint.Response, error) {
			return endpoint.Response{Type: "text/x", Body: append(in.Body, '!')}, nil
		})
		p.mux.Handle("POST /tries", tries.Handler(p.k, endpoint.Config{Site: p.site}))
		p.mux.Handle("PUT /raw", raw.Handler(p.k, endpoint.Config{Site: p.site}))
		p.work(func(k *kernel.Kernel) { tries.Serve(k); raw.Serve(k) }, kernel.Config{})
		var refused *endpoint.Problem
		failing := &endpoint.Client[Order, endpoint.None]{URL: p.url + "/tries"}
		bad, err := failing.Start(t.Context(), Order{}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bad.Wait(t.Context()); !errors.As(err, &refused) || refused.Status != 409 || refused.Code != "taken" {
			t.Errorf("Wait = %v, want the problem of the function", err)
		}

		binary := &endpoint.Client[[]byte, []byte]{URL: p.url + "/raw", Method: "PUT"}
		file, err := binary.Start(t.Context(), []byte("hey"), "")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := file.Wait(t.Context()); err != nil || string(body) != "hey!" {
			t.Errorf("Wait = %q, %v; want the bytes", body, err)
		}
	})
}

// A client whose server is busy, breaks connections or loses answers starts one task and finds out how it ended.
func TestTheClientOutlastsATroubledServer(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
		p.work(Orders.Serve, kernel.Config{})
		target, err := url.Parse(p.url)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		var requests atomic.Int64
		trouble := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch requests.Add(1) % 4 {
			case 1:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
			case 2: // it is done, and the answer is lost
				proxy.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			case 3:
				w.WriteHeader(http.StatusBadGateway)
			default:
				proxy.ServeHTTP(w, r)
			}
		}))
		defer trouble.Close()
		client := &endpoint.Client[Order, Receipt]{URL: trouble.URL + "/orders", Poll: time.Second}
		begin := time.Now()
		op, err := client.Start(t.Context(), Order{Item: "tea"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(begin) < time.Second {
			t.Error("Start did not wait as Retry-After says")
		}
		if receipt, err := op.Wait(t.Context()); err != nil || receipt.Text != "tea" {
			t.Errorf("Wait = %+v, %v; want the receipt", receipt, err)
		}
		if n := len(p.tasks()); n != 1 {
			t.Errorf("%d tasks are stored, want 1", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		nobody := &endpoint.Client[Order, Receipt]{URL: "http://127.0.0.1:1/"}
		if _, err := nobody.Start(ctx, Order{}, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start at nobody's = %v, want the end of the context", err)
		}
		if _, err := (&endpoint.Client[Order, Receipt]{URL: "/orders"}).Start(t.Context(), Order{}, ""); err == nil || !strings.Contains(err.Error(), "with its host") {
			t.Errorf("Start without a host = %v, want an error that tells the fix", err)
		}
	})
}
