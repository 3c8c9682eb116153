package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// handlers are the jobs of the shop.
func handlers() map[string]kernel.Handler {
	ok := func(context.Context, *kernel.Run) (kernel.Outcome, error) {
		return kernel.Done([]byte(`{"sent":true}`)), nil
	}
	return map[string]kernel.Handler{
		"job.welcome": ok, "job.invoice": ok, "job.thumbnail": ok, "job.sync": ok,
		"job.refund": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Outcome{}, kernel.Permanent(kernel.Typed("bank", errors.New("the bank has closed this account")))
		},
		"job.report": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			if err := r.Save(ctx, map[string][]byte{"rows": []byte(`{"read":4200}`)}); err != nil {
				return kernel.Outcome{}, err
			}
			r.Progress(4200, 10_000, "summing up October")
			<-ctx.Done()
			return kernel.Outcome{}, context.Cause(ctx)
		},
	}
}

// placeOrder is a saga that waits for a word. An order on the card "bad" fails, and what it has reserved cannot be let go.
func placeOrder() *saga.Def[order, string] {
	text := func(s string) func(context.Context, order) (string, error) {
		return func(context.Context, order) (string, error) { return s, nil }
	}
	return saga.Define("place-order", func(b *saga.Builder[order]) *saga.Node[string] {
		in := b.In()
		price := saga.Step1(b, "price", text("12.50"), in).Pure()
		stock := saga.Step1(b, "reserve", text("shelf 7"), in).Undo(func(_ context.Context, s string) error {
			return saga.Permanent(errors.New("the shelf is locked"))
		})
		pay := saga.Step2(b, "charge", func(_ context.Context, o order, _ string) (string, error) {
			if o.Card == "bad" {
				return "", saga.Permanent(errors.New("the card is refused"))
			}
			return "p-77", nil
		}, in, price).After(stock).Async("payments").Undo(func(context.Context, string) error { return nil })
		ok := saga.Wait(b, approve).After(pay)
		parcel := saga.Step2(b, "ship", func(_ context.Context, o order, _ string) (string, error) { return "parcel of " + o.Item, nil }, in, pay).After(ok).Pivot()
		return saga.Step2(b, "receipt", func(_ context.Context, p, parcel string) (string, error) { return parcel + " paid by " + p, nil }, pay, parcel).Pure()
	})
}

type price struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

var prices = batch.Define("shop/reprice", batch.Processor[struct{}, price, string]{
	Row: func(ctx context.Context, _ struct{}, row batch.Row[price]) (batch.Result[string], error) {
		if row.Input.Cents%9 == 0 {
			return batch.Result[string]{Failed: true, Messages: []batch.Message{{Code: "too cheap", Field: "cents"}}}, nil
		}
		return batch.Result[string]{Out: fmt.Sprint(row.Input.Cents * 2), Files: map[string]string{"new prices.csv": fmt.Sprintf("%s,%d", row.Input.Item, row.Input.Cents*2)}}, nil
	},
}, batch.Config{Files: true})

var orders = endpoint.Define("orders", func(_ context.Context, in endpoint.Request[order]) (string, error) {
	if in.Body.Cents == 0 {
		return "", &endpoint.Problem{Status: http.StatusConflict, Code: "free", Detail: "nothing is for free"}
	}
	return "accepted", nil
})

// work lets the shop do some of everything.
func (w *world) work(t *testing.T, notify *call.Call) {
	t.Helper()
	ctx, k := t.Context(), w.k
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	submit := func(s kernel.Spec) kernel.ID {
		t.Helper()
		got, err := k.Submit(ctx, s)
		must(err)
		return got.ID
	}
	w.slow = submit(kernel.Spec{Kind: "job.report", Queue: "reports", Args: []byte(`{"month":"2026-10","token":"s3cr3t"}`), Labels: map[string]string{"month": "2026-10"}})
	w.dead = submit(kernel.Spec{Kind: "job.refund", Args: []byte(`{"customer":17}`), Retry: kernel.Retry{Max: 1}})
	for i := range 8 {
		submit(kernel.Spec{Kind: "job.refund", Args: fmt.Appendf(nil, `{"customer":%d}`, i), Retry: kernel.Retry{Max: 1}})
		submit(kernel.Spec{Kind: "job.export", Queue: "exports", Lane: fmt.Sprintf("tenant-%d", i%3), Limit: "warehouse"})
		submit(kernel.Spec{Kind: "job.welcome", Delay: time.Duration(i+1) * time.Hour})
	}
	_, err := k.PutLimit(ctx, kernel.Limit{Key: "warehouse", Running: 4, Rates: []kernel.Rate{{N: 100, Per: time.Minute}}})
	must(err)
	must(k.Pause(ctx, kernel.Scope{Queue: "exports", Lane: "tenant-2"}, time.Hour, "moving house"))
	for _, s := range []kernel.Schedule{{Name: "nightly-report", Rule: "every 24h"}, {Name: "warm-cache", Rule: "every 5m"}, {Name: "old-import", Rule: "every 1h", Paused: true}} {
		s.Task = kernel.Spec{Kind: "job.sync"}
		_, err := k.PutSchedule(ctx, s)
		must(err)
	}
	w.sagas(t)
	var rows []price
	for i := range 400 {
		rows = append(rows, price{fmt.Sprintf("item %d", i), i})
	}
	b, err := prices.Submit(ctx, k, batch.Inputs(rows...), batch.Options{})
	must(err)
	w.batch = b.ID()
	_, err = b.Wait(ctx)
	must(err)
	w.calls(t, notify)
	_, err = k.Wait(ctx, w.dead)
	must(err)
}

func (w *world) sagas(t *testing.T) {
	t.Helper()
	start := func(o order) kernel.ID {
		h, err := w.saga.Start(t.Context(), w.k, o, saga.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return h.ID()
	}
	w.open, w.done, w.stuck = start(order{"tea", 1250, "ok"}), start(order{"milk", 150, "ok"}), start(order{"gold", 99, "bad"})
	if err := approve.Send(t.Context(), w.k, w.done, map[string]string{"by": "Ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.k.Wait(t.Context(), w.done); err != nil {
		t.Fatal(err)
	}
	if _, err := w.k.WaitFor(t.Context(), w.stuck, func(t *kernel.Task) bool { return t.State == "held" }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.k.WaitFor(t.Context(), w.open, func(t *kernel.Task) bool { return t.State == "parked" && t.Epoch > 1 }); err != nil {
		t.Fatal(err)
	}
}

// calls sends requests to a service and takes orders.
func (w *world) calls(t *testing.T, notify *call.Call) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/broken"):
			rw.WriteHeader(http.StatusBadGateway)
		default:
			_, _ = rw.Write([]byte(`{"ok":true}`))
		}
	}))
	t.Cleanup(service.Close)
	var last *call.Handle
	for i := range 24 {
		where := service.URL + "/hook"
		if i%6 == 5 {
			where = service.URL + "/broken"
		}
		h, err := notify.Post(t.Context(), w.k, where, map[string]int{"order": i}, call.Options{})
		if err != nil {
			t.Fatal(err)
		}
		last = h
	}
	site := httptest.NewServer(orders.Handler(w.k, endpoint.Config{}))
	t.Cleanup(site.Close)
	client := &endpoint.Client[order, string]{URL: site.URL}
	for i := range 6 {
		op, err := client.Start(t.Context(), order{Item: "tea", Cents: i}, fmt.Sprint("order ", i))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = op.Wait(t.Context()) // one of them is refused, as it should be
	}
	if err := last.WaitCallback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
