package batch_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

type Name struct {
	First string `json:"first"`
	Last  string `json:"last"`
}

// Greet is defined once, where all processes that serve it or submit to it see it.
var Greet = batch.Define("greet", batch.Processor[struct{}, Name, string]{
	Row: func(_ context.Context, _ struct{}, row batch.Row[Name]) (batch.Result[string], error) {
		if row.Input.Last == "" {
			return batch.Result[string]{Failed: true, Messages: []batch.Message{{Code: "missing", Field: "last"}}}, nil
		}
		return batch.Result[string]{Out: "hello " + row.Input.First + " " + row.Input.Last}, nil
	},
}, batch.Config{})

func ExampleDefine() {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	Greet.Serve(k) // this process runs it
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })

	names := strings.NewReader("first,last\nAda,Lovelace\nCher,\n")
	h, err := Greet.Submit(ctx, k, batch.CSV[Name](names, batch.CSVConfig{}), batch.Options{Key: "names-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := h.Wait(ctx)
	fmt.Println(status.State, status.Success, status.Failed, err)
	for row, err := range h.All(ctx) {
		fmt.Println(row.Line, row.State, row.Out, row.Messages, err)
	}

	stop() // Run drains and returns
	running.Wait()
	// Output:
	// failed 1 1 <nil>
	// 2 success hello Ada Lovelace [] <nil>
	// 3 failed  [{0 missing last []}] <nil>
}
