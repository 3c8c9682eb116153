package call_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

type Order struct {
	ID int
}

// Charged is defined once, where all processes that serve or start it see it.
var Charged = call.Define("charged", call.Callback{
	OnComplete: func(_ context.Context, r *call.Response) error {
		order, err := call.ArgsOf[Order](r)
		fmt.Printf("order %d: %d %s\n", order.ID, r.Status, r.Body)
		return err
	},
	OnError: func(_ context.Context, e *call.Error) error {
		order, err := call.ArgsOf[Order](e)
		fmt.Printf("order %d: %s\n", order.ID, e.Type)
		return err
	},
}, call.Config{})

func ExampleDefine() {
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "paid, key has %d letters", len(r.Header.Get("Idempotency-Key")))
	}))
	defer bank.Close()
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{
		Slots: map[string]int{"calls": 1000, "callbacks": 10}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	Charged.Serve(k) // this process sends requests and calls back
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })

	h, err := Charged.Post(ctx, k, bank.URL, map[string]int{"cents": 1200}, call.Options{Args: Order{ID: 7}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.WaitCallback(ctx); err != nil { // only to see the end of it here
		fmt.Println(err)
	}
	h, err = Charged.Get(ctx, k, "http://127.0.0.1:1", call.Options{Args: Order{ID: 8}, Retry: kernel.Retry{Max: 1}})
	if err == nil {
		err = h.WaitCallback(ctx)
	}
	if err != nil {
		fmt.Println(err)
	}

	stop() // Run drains and returns
	running.Wait()
	// Output:
	// order 7: 200 paid, key has 36 letters
	// order 8: connect
}
