// Command batch invoices the meter readings of a month: a CSV text becomes a batch, each row an invoice, bad readings are told by their line, and
// the invoices are written to a file in the order of the rows.
//
//	go run ./examples/batch
//
// Everything lives in memory here: another store in memory.New's place, and the batch outlasts the process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

// Reading is a row.
type Reading struct {
	Customer string `json:"customer"`
	KWh      int    `json:"kwh"`
}

// Invoice is what comes of it.
type Invoice struct {
	Cents int `json:"cents"`
}

// Tariff is what all rows need: a table that is read once per process.
type Tariff struct{ centsPerKWh int }

// Prices is made when the first row needs it. Several operations may share it.
var Prices = batch.Init(func(context.Context) (*Tariff, error) { return &Tariff{centsPerKWh: 31}, nil })

// Bill makes an invoice of each reading.
var Bill = batch.Define("energy/bill", batch.Processor[*Tariff, Reading, Invoice]{
	Init: Prices,
	Row: func(_ context.Context, t *Tariff, row batch.Row[Reading]) (batch.Result[Invoice], error) {
		if row.Input.KWh < 0 { // no further attempt can mend that
			return batch.Result[Invoice]{Failed: true, Messages: []batch.Message{{Code: "negative", Field: "kwh", Vals: []string{fmt.Sprint(row.Input.KWh)}}}}, nil
		}
		cents := row.Input.KWh * t.centsPerKWh
		return batch.Result[Invoice]{
			Out:   Invoice{Cents: cents},
			Files: map[string]string{"invoices.txt": fmt.Sprintf("%s %d.%02d", row.Input.Customer, cents/100, cents%100)},
		}, nil
	},
	Done: func(ctx context.Context, _ *Tariff, sum batch.Summary) error {
		batch.From(ctx).Logger().Info("month closed", "state", string(sum.State), "rows", sum.Rows)
		return nil
	},
}, batch.Config{Files: true})

const readings = `customer,kwh
ann,120
bob,-3
cid,80
`

// month submits the readings of a month, waits, and writes what came of it.
func month(ctx context.Context, k *kernel.Kernel, out io.Writer, name, text string) error {
	// The key makes the same month the same batch, however often the button is pressed and whatever dies in between.
	h, err := Bill.Submit(ctx, k, batch.CSV[Reading](strings.NewReader(text), batch.CSVConfig{}), batch.Options{Key: name})
	if err != nil {
		return err
	}
	s, err := h.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, %d good, %d bad, submitted before: %v\n", name, s.State, s.Success, s.Failed, h.Existed())
	for row, err := range h.All(ctx, batch.Failed) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "line %d: %s %s\n", row.Line, row.Messages[0].Code, row.Messages[0].Field)
	}
	file, err := h.OpenFile(ctx, "invoices.txt")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return errors.Join(err, file.Close())
}

// run is the life of a process: it serves the operation, bills a month twice, and stops.
func run(ctx context.Context, k *kernel.Kernel, out io.Writer) error {
	Bill.Serve(k)
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ran error
	running.Go(func() { ran = k.Run(ctx) })
	err := month(ctx, k, out, "2026-08", readings)
	if err == nil {
		err = month(ctx, k, out, "2026-08", readings)
	}
	if err == nil { // nothing of this is submitted
		if bad := month(ctx, k, out, "2026-09", "customer,kwh\nann,many\n"); bad != nil {
			fmt.Fprintln(out, bad)
		}
	}
	stop() // no more is taken up; what runs may end
	running.Wait()
	return errors.Join(err, ran)
}

func newKernel(logger *slog.Logger) (*kernel.Kernel, error) {
	return kernel.New(memory.New(memory.Config{}), kernel.Config{Logger: logger})
}

func main() {
	k, err := newKernel(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err = run(ctx, k, os.Stdout)
	cancel()
	k.Close()
	if err != nil {
		log.Fatal(err)
	}
}
