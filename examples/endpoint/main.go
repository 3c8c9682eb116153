// Command endpoint is a small server that makes yearly reports in the background: POST /reports answers 202 at once, /tasks/… tells
// how the report stands, and /openapi.json describes it all. docs/endpoints.md talks to it with curl.
//
//	go run ./examples/endpoint -addr localhost:8080
//
// Everything lives in memory here: another store in memory.New's place, and the work outlasts the process; serving and
// working can then be different processes too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

// Order says which report is wanted.
type Order struct {
	Year   int  `json:"year"`
	Months int  `json:"months,omitempty"` // how many to count; 0: twelve
	CSV    bool `json:"csv,omitempty"`
}

// Reports makes a report. It tells how far it is, and heeds its context.
var Reports = endpoint.Define("reports", func(ctx context.Context, in endpoint.Request[Order]) (endpoint.Response, error) {
	if in.Body.Year == 2013 {
		return endpoint.Response{}, &endpoint.Problem{Status: http.StatusNotFound, Code: "no_books", Detail: "the books of 2013 were lost"}
	}
	months, sum := in.Body.Months, 0
	if months == 0 {
		months = 12
	}
	for m := 1; m <= months; m++ {
		if err := count(ctx); err != nil {
			return endpoint.Response{}, err // the attempt is tried again, here or elsewhere
		}
		sum += in.Body.Year * m
		endpoint.From(ctx).Progress(int64(m), int64(months), "months counted")
	}
	if in.Body.CSV {
		return endpoint.Response{Type: "text/csv", Body: fmt.Appendf(nil, "year,sum\n%d,%d\n", in.Body.Year, sum)}, nil
	}
	return endpoint.Response{Type: "application/json", Body: fmt.Appendf(nil, `{"year":%d,"sum":%d}`, in.Body.Year, sum)}, nil
}).Validate(func(_ http.ResponseWriter, _ *http.Request, in endpoint.Request[Order]) error {
	if in.Body.Year < 1990 {
		return errors.New("there are no books before 1990")
	}
	return nil
})

// count takes the time that counting a month takes.
func count(ctx context.Context) error {
	timer := time.NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// routes mounts everything.
func routes(k *kernel.Kernel, site endpoint.Site) http.Handler {
	mux, api := http.NewServeMux(), &endpoint.API{Title: "Reports"}
	api.Mount(mux, "POST /reports", Reports.Handler(k, endpoint.Config{Site: site, MaxRetries: 5, MaxWaiting: 10_000}))
	status := endpoint.Status(k, site)
	api.Mount(mux, "/tasks/", status)
	mux.Handle("/tasks", status)
	mux.Handle("GET /openapi.json", api)
	return mux
}

func main() {
	addr := flag.String("addr", "localhost:8080", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, l, slog.Default()); err != nil {
		log.Fatal(err)
	}
}

// serve accepts and works until ctx ends.
func serve(ctx context.Context, l net.Listener, logger *slog.Logger) error {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Logger: logger})
	if err != nil {
		return err
	}
	defer k.Close()
	Reports.Serve(k)
	// Requests that wait for a task end with this context, so that a shutdown does not wait for them.
	waiting, end := context.WithCancel(context.WithoutCancel(ctx))
	srv := &http.Server{
		Handler: routes(k, endpoint.Site{Logger: logger}), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return waiting },
	}
	srv.RegisterOnShutdown(end)
	var parts sync.WaitGroup
	var running, shutting error
	parts.Go(func() { running = k.Run(ctx) })
	parts.Go(func() {
		<-ctx.Done()
		// The caller's context has ended; what is under way gets a moment of its own.
		moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		shutting = srv.Shutdown(moment)
	})
	logger.Info("listening", "addr", l.Addr().String())
	err = srv.Serve(l)
	parts.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, running, shutting)
}
