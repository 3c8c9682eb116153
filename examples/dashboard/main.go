// Command dashboard is a small shop with something to look at: jobs that end, wait and fail, a saga that waits for a word, a batch that
// takes its time. Its dashboard is mounted beside the shop's own pages.
//
//	go run ./examples/dashboard        # then open http://127.0.0.1:8080/outlast/
//
// Everything lives in memory here: another store in memory.New's place, and the work outlasts the process.
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/web"
)

// Mail is quick, and fails now and then.
var Mail = job.Define("mail", func(ctx context.Context, customer int) (string, error) {
	if customer%23 == 0 {
		return "", job.Permanent(fmt.Errorf("customer %d has no address", customer))
	}
	return "sent", work(ctx, 20*time.Millisecond)
}, job.Config{})

// Report is slow, and tells how far it is.
var Report = job.Define("report", func(ctx context.Context, month string) (string, error) {
	for i := range int64(100) {
		job.From(ctx).Progress(i, 100, "summing up "+month)
		if err := work(ctx, 500*time.Millisecond); err != nil {
			return "", err
		}
	}
	return month + ".pdf", nil
}, job.Config{})

// Approve comes from the dashboard: open the saga, and send the signal with any text.
var Approve = saga.NewSignal[string]("approve")

// Order waits for a word before it ships.
var Order = saga.Define("order", func(b *saga.Builder[string]) *saga.Node[string] {
	stock := saga.Step1(b, "reserve", func(_ context.Context, item string) (string, error) { return "shelf of " + item, nil }, b.In()).
		Undo(func(context.Context, string) error { return nil })
	ok := saga.Wait(b, Approve).After(stock)
	return saga.Step2(b, "ship", func(_ context.Context, shelf, by string) (string, error) { return shelf + ", approved by " + by, nil }, stock, ok)
})

// Reprice is a batch of rows, some of which are no good.
var Reprice = batch.Define("reprice", batch.Processor[struct{}, int, int]{
	Row: func(ctx context.Context, _ struct{}, row batch.Row[int]) (batch.Result[int], error) {
		if row.Input%50 == 7 {
			return batch.Result[int]{Failed: true, Messages: []batch.Message{{Code: "too cheap"}}}, nil
		}
		return batch.Result[int]{Out: row.Input * 2}, work(ctx, 100*time.Millisecond)
	},
}, batch.Config{})

// work stands for what takes time.
func work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newSite is the shop's site: the dashboard is for those who know the word, everybody else may look.
func newSite(k *kernel.Kernel, word string, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/outlast/", web.Handler(k, web.Config{
		Base: "/outlast", Title: "Shop", Logger: logger, Sagas: []saga.Outline{Order.Outline()},
		Authorize: func(r *http.Request, a web.Action) error {
			_, got, _ := r.BasicAuth()
			if a.Verb == web.View || word == "" || subtle.ConstantTimeCompare([]byte(got), []byte(word)) == 1 {
				return nil
			}
			return errors.New("sign in to act")
		},
	}))
	mux.Handle("/", http.RedirectHandler("/outlast/", http.StatusSeeOther))
	return mux
}

// begin starts some of everything.
func begin(ctx context.Context, k *kernel.Kernel) error {
	for _, item := range []string{"tea", "milk"} {
		if _, err := Order.Start(ctx, k, item, saga.Options{}); err != nil {
			return err
		}
	}
	if _, err := Report.Start(ctx, k, "October", job.Options{}); err != nil {
		return err
	}
	rows := make([]int, 3000)
	for i := range rows {
		rows[i] = i
	}
	_, err := Reprice.Submit(ctx, k, batch.Inputs(rows...), batch.Options{})
	return err
}

// trade starts mails until ctx ends.
func trade(ctx context.Context, k *kernel.Kernel) error {
	for n := 0; ctx.Err() == nil; n++ {
		if _, err := Mail.Start(ctx, k, n, job.Options{}); err != nil {
			return err
		}
		_ = work(ctx, 100*time.Millisecond) // ends with ctx
	}
	return nil
}

func newKernel(logger *slog.Logger) (*kernel.Kernel, error) {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 20}, ShutdownTimeout: time.Second, Logger: logger})
	if err != nil {
		return nil, err
	}
	Mail.Serve(k)
	Report.Serve(k)
	Order.Serve(k)
	Reprice.Serve(k)
	return k, nil
}

func run(ctx context.Context, address, word string) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	k, err := newKernel(logger)
	if err != nil {
		return err
	}
	defer k.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newSite(k, word, logger), ReadHeaderTimeout: time.Minute}
	fmt.Printf("the dashboard is at http://%s/outlast/\n", listener.Addr())
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(listener) }) // ends with Close
	group.Go(func() {
		if err := errors.Join(begin(ctx, k), trade(ctx, k)); err != nil && ctx.Err() == nil {
			logger.Error("trade has ended", "err", err)
		}
	})
	err = k.Run(ctx)
	_ = server.Close() // pages that are open are told nothing more
	group.Wait()
	return err
}

func main() {
	address := flag.String("address", "127.0.0.1:8080", "where to listen")
	word := flag.String("word", "", "the password that acting needs; empty: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *word); err != nil {
		log.Fatal(err)
	}
}
