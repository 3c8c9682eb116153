package side

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// Names of contestants that send requests.
const (
	OursCall = "outlast call" // a queue whose submits are calls
	Plain    = "net/http"     // the standard library's client, which stores nothing
)

// hold is how long the server holds each request.
const hold = time.Second

// serve is the server that requests go to, in a process of its own. It says where it is and serves until its input ends.
func serve(ctx context.Context, _ part.Order, w *part.Wire) (part.Report, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return part.Report{}, err
	}
	body := make([]byte, 1024)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is asked does not matter
		<-time.After(hold)
		_, _ = out.Write(body) // who is gone needs no answer
	})}
	var group sync.WaitGroup
	group.Go(func() { err = s.Serve(l) })
	w.Say("http://%s/", l.Addr())
	w.Hear()
	_ = s.Close() // connections are cut
	group.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return part.Report{}, err
}

// measureCalls sends requests with so many in flight, and tells how many end a second and how much memory each takes.
func measureCalls(ctx context.Context, o part.Order, _ *part.Wire) (part.Report, error) {
	if o.Side == Plain {
		return plainCalls(ctx, o)
	}
	c, st, k, err := openCalls(ctx, o, &counted{})
	if err != nil {
		return part.Report{}, err
	}
	items := make([]call.Item, 0, 500)
	for range o.Tasks {
		items = append(items, call.Item{Request: call.Request{Method: http.MethodPost, URL: o.Target}})
		if len(items) == cap(items) {
			if _, err := c.call.StartMany(ctx, k, items); err != nil {
				return part.Report{}, err
			}
			items = items[:0]
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var ran error
	var group sync.WaitGroup
	r, err := part.Heap(o, func() error {
		group.Go(func() { ran = k.Run(ctx) })
		return c.wait(ctx, o.Tasks)
	})
	stop()
	group.Wait()
	k.Close()
	return r, errors.Join(err, ran, st.Close())
}

// counted counts what became of requests.
type counted struct {
	call   *call.Call
	ok     atomic.Int64
	failed atomic.Int64
	all    chan struct{}
	want   int64
}

func openCalls(ctx context.Context, o part.Order, c *counted) (*counted, store.Store, *kernel.Kernel, error) {
	st, err := engine.Open(ctx, o.URL)
	if err != nil {
		return nil, nil, nil, err
	}
	// A callback holds its slot from the call that claims it to the one that ends it, and 256 requests may end in each.
	slots := map[string]int{"calls": max(o.Slots, 1), "callbacks": max(o.Slots/10, 100)}
	k, err := kernel.New(st, kernel.Config{Slots: slots, Logger: quiet})
	if err != nil {
		return nil, nil, nil, err
	}
	c.all, c.want = make(chan struct{}), int64(o.Tasks-o.Tasks%500)
	c.call = call.Define("done", call.Callback{
		OnComplete: func(context.Context, *call.Response) error {
			if c.ok.Add(1) == c.want {
				close(c.all)
			}
			return nil
		},
		OnError: func(context.Context, *call.Error) error {
			c.failed.Add(1)
			return nil
		},
	}, call.Config{})
	c.call.Serve(k)
	return c, st, k, nil
}

func (c *counted) wait(ctx context.Context, n int) error {
	select {
	case <-c.all:
	case <-ctx.Done():
	case <-time.After(3 * time.Minute):
	}
	if ok, failed := c.ok.Load(), c.failed.Load(); ok != c.want || failed > 0 {
		return fmt.Errorf("of %d requests %d ended well and %d did not", n, ok, failed)
	}
	return nil
}

// plainCalls sends the same requests by goroutines with the standard library's client, HTTP/1.1.
func plainCalls(ctx context.Context, o part.Order) (part.Report, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: o.Slots, MaxIdleConnsPerHost: o.Slots}}
	defer client.CloseIdleConnections()
	var left atomic.Int64
	left.Store(int64(o.Tasks))
	return part.Heap(o, func() error {
		return part.Parallel(o.Slots, func(g int) error {
			<-time.After(time.Duration(g) * time.Second / 10_000) // so that the server's queue of connections is not overrun
			for left.Add(-1) >= 0 {
				if err := post(ctx, client, o.Target); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func post(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

// callQueue is a queue whose submits are calls; nothing is sent.
type callQueue struct {
	c  *counted
	st store.Store
	k  *kernel.Kernel
}

func openCallQueue(ctx context.Context, o part.Order) (part.Queue, error) {
	c, st, k, err := openCalls(ctx, o, &counted{})
	return &callQueue{c, st, k}, err
}

func (q *callQueue) Submit(ctx context.Context, _ int64) error {
	_, err := q.c.call.Post(ctx, q.k, "https://api.example.com/users", map[string]int{"n": 1}, call.Options{})
	return err
}

func (q *callQueue) SubmitMany(context.Context, int) error { return errors.ErrUnsupported }

func (q *callQueue) Work(context.Context, func(context.Context, int64)) error {
	return errors.ErrUnsupported
}

func (q *callQueue) Close() error {
	q.k.Close()
	return q.st.Close()
}
