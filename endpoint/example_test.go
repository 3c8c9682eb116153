package endpoint_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

type Order struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

type Receipt struct {
	Text string `json:"text"`
}

// Orders is defined once, where all processes that accept or work see it.
var Orders = endpoint.Define("orders", func(ctx context.Context, in endpoint.Request[Order]) (Receipt, error) {
	if in.Body.Count < 1 {
		return Receipt{}, &endpoint.Problem{Status: http.StatusConflict, Code: "sold_out", Detail: "nothing is left"}
	}
	return Receipt{fmt.Sprintf("%d × %s for shop %s", in.Body.Count, in.Body.Item, in.Params["shop"])}, nil
})

func ExampleDefine() {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	Orders.Serve(k) // this process works
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })

	mux := http.NewServeMux() // and accepts, and tells
	mux.Handle("POST /shops/{shop}/orders", Orders.Handler(k, endpoint.Config{}))
	mux.Handle("/tasks/", endpoint.Status(k, endpoint.Site{}))
	srv := httptest.NewServer(mux)
	defer srv.Close()

	client := &endpoint.Client[Order, Receipt]{URL: srv.URL + "/shops/7/orders"}
	for _, order := range []Order{{"tea", 2}, {"milk", 0}} {
		op, err := client.Start(ctx, order, "order of "+order.Item) // the same again is the same task
		if err != nil {
			fmt.Println(err)
			continue
		}
		receipt, err := op.Wait(ctx)
		if err != nil {
			status, _ := op.Status(ctx)
			fmt.Println(status.Status, status.Error.Code, status.Error.Status)
			continue
		}
		fmt.Println(receipt.Text)
	}

	stop() // Run drains and returns
	running.Wait()
	// Output:
	// 2 × tea for shop 7
	// Failed sold_out 409
}
