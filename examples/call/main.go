// Command call asks a slow service for the weather of some cities: the requests are handed over at once, wait in flight side by
// side, survive a service in trouble, and come back as callbacks.
//
//	go run ./examples/call
//
// Everything lives in memory here: another store in memory.New's place, and the requests outlast the process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

// report collects what the callbacks have to say.
type report struct {
	mu    sync.Mutex
	lines []string
}

func (r *report) add(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	return nil
}

// Forecast is what the service answers.
type Forecast struct {
	Degrees int
}

// weather defines the call: what is asked for has a template, what comes back a callback.
func weather(r *report, service string) (*call.Call, error) {
	client, err := call.NewClient(call.ClientConfig{
		Timeouts: call.Timeouts{Total: 10 * time.Second},
		Retry:    kernel.Retry{Max: 3, Base: 20 * time.Millisecond},
		PerHost:  call.HostLimit{Running: 10},
		// A program whose URLs come from its users would set Guard here: it keeps them out of private networks.
	})
	if err != nil {
		return nil, err
	}
	return call.Define("weather", call.Callback{
		OnComplete: func(ctx context.Context, resp *call.Response) error {
			city, err := call.ArgsOf[string](resp)
			if err != nil {
				return err
			}
			var f Forecast
			if err := resp.JSON(ctx, &f); err != nil {
				return err
			}
			return r.add("%s: %d degrees, after %d failed attempts", city, f.Degrees, resp.Attempts)
		},
		OnError: func(_ context.Context, e *call.Error) error {
			city, err := call.ArgsOf[string](e)
			if err != nil {
				return err
			}
			return r.add("%s: no weather: %s, status %d", city, e.Type, e.Response.Status)
		},
	}, call.Config{Client: client, FailOnStatus: true, Template: call.Template{BaseURL: service + "/v1/"}}), nil
}

// ask starts a request per city, and waits until all callbacks have been called.
func ask(ctx context.Context, k *kernel.Kernel, c *call.Call, cities []string) error {
	var handles []*call.Handle
	for _, city := range cities {
		// The key keeps a second request for the same city out while the first is under way.
		h, err := c.Get(ctx, k, "weather/"+city, call.Options{Args: city, Key: city})
		if err != nil {
			return err
		}
		handles = append(handles, h)
	}
	for _, h := range handles {
		if err := h.WaitCallback(ctx); err != nil {
			return err
		}
	}
	return nil
}

// run is the life of a process: it serves the call, asks, and stops.
func run(ctx context.Context, k *kernel.Kernel, service string, out io.Writer) error {
	r := &report{}
	c, err := weather(r, service)
	if err != nil {
		return err
	}
	c.Serve(k)
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ran error
	running.Go(func() { ran = k.Run(ctx) })
	err = ask(ctx, k, c, []string{"berlin", "lisbon", "oslo", "atlantis"})
	stop() // no more is taken up; what is in flight may end
	running.Wait()
	slices.Sort(r.lines)
	for _, line := range r.lines {
		fmt.Fprintln(out, line)
	}
	return errors.Join(err, ran)
}

// service stands for a slow one that fails once per city, and does not know Atlantis.
func service() http.Handler {
	var mu sync.Mutex
	asked := map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		first := asked[r.URL.Path] == 1
		mu.Unlock()
		switch {
		case r.URL.Path == "/v1/weather/atlantis":
			w.WriteHeader(http.StatusNotFound)
		case first:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"degrees": %d}`, len(r.URL.Path))
		}
	})
}

func newKernel(logger *slog.Logger) (*kernel.Kernel, error) {
	return kernel.New(memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"calls": 1000, "callbacks": 10}, Logger: logger})
}

func main() {
	k, err := newKernel(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: service(), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	err = run(ctx, k, "http://"+listener.Addr().String(), os.Stdout)
	cancel()
	k.Close()
	_ = server.Close()
	serving.Wait()
	if err != nil {
		log.Fatal(err)
	}
}
