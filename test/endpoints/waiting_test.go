package endpoints_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// counting counts the calls of a store that ask or write anything about tasks.
type counting struct {
	store.Store
	calls, follows atomic.Int64
}

func (c *counting) Get(ctx context.Context, id store.ID) (store.Task, error) {
	c.calls.Add(1)
	return c.Store.Get(ctx, id)
}

func (c *counting) List(ctx context.Context, f store.Filter, p store.PageRequest) (store.Page[store.Task], error) {
	c.calls.Add(1)
	return c.Store.List(ctx, f, p)
}

func (c *counting) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	c.calls.Add(1)
	return c.Store.Queues(ctx)
}

func (c *counting) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	c.calls.Add(1)
	return c.Store.Load(ctx, id, names...)
}

func (c *counting) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	c.calls.Add(1)
	return c.Store.Submit(ctx, req)
}

func (c *counting) Now(ctx context.Context) (time.Time, error) {
	c.calls.Add(1)
	return c.Store.Now(ctx)
}

func (c *counting) Follow(id store.ID) {
	c.follows.Add(1)
	c.Store.Follow(id)
}

// 2,000 clients that wait cost no call of the store while nothing changes, and all are told when something does.
func TestWaitingClientsCostNoQuery(t *testing.T) {
	const clients, tasks = 2000, 100
	var s setup
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { // alone: 2,000 connections are enough at a time
			var st *counting
			s.wrap = func(inner store.Store) store.Store { st = &counting{Store: inner}; return st }
			p := newPlace(t, s, e.open(t, store.Timing{}))
			p.mux.Handle("POST /orders", Orders.Handler(p.k, endpoint.Config{Site: p.site}))
			locations := make([]string, tasks)
			for i := range locations {
				locations[i] = p.accepted("/orders", `{}`).Header.Get("Location")
			}
			var polling sync.WaitGroup
			var told atomic.Int64
			for i := range clients {
				polling.Go(func() {
					a, err := p.try(t.Context(), "GET", locations[i%tasks]+"?wait=60s", "")
					if err != nil || a.StatusCode != 200 || a.doc.Status != endpoint.Canceled {
						t.Errorf("client %d: %v, %+v; want to be told of the end", i, err, a)
						return
					}
					told.Add(1)
				})
			}
			p.soon("every client waits", func() bool { return st.follows.Load() == clients })
			last := int64(-1)
			p.soon("every client has looked", func() bool {
				before := last
				last = st.calls.Load()
				pause(300 * time.Millisecond)
				return before == last
			})
			pause(6 * time.Second)
			if n := st.calls.Load() - last; n != 0 {
				t.Errorf("%d clients cost %d calls of the store in 6 s in which nothing changed, want none", clients, n)
			}
			begin := time.Now()
			for _, location := range locations {
				p.want(p.send("POST", location+":cancel", ""), 200, "cancel")
			}
			polling.Wait()
			t.Logf("%s: %d clients were told of %d changes within %v", e.name, told.Load(), tasks, time.Since(begin).Round(time.Millisecond))
		})
	}
}

// event is one server-sent event.
type event struct {
	id, name string
	doc      endpoint.Document
}

// listen reads events until the stream ends.
func (p *place) listen(ctx context.Context, path, last string) (<-chan event, *http.Response) {
	p.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", p.url+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	events := make(chan event, 100)
	beside(p, func() {
		defer close(events)
		defer res.Body.Close()
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e.doc); err != nil {
					p.Errorf("event %q: %v", value, err)
				}
			case "":
				if strings.HasPrefix(lines.Text(), ":") {
					e = event{name: "heartbeat"}
				}
				if e.name != "" {
					events <- e
				}
				e = event{}
			}
		}
	})
	return events, res
}

func (p *place) next(events <-chan event) event {
	p.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			p.Fatal("the stream has ended")
		}
		return e
	case <-time.After(20 * time.Second):
		p.Fatal("no event came")
	}
	return event{}
}

func TestEventsTellEachChangeAndEndWithTheTask(t *testing.T) {
	everywhere(t, setup{site: endpoint.Site{Heartbeat: 200 * time.Millisecond}}, func(t *testing.T, p *place) {
		g := newGate()
		p.mux.Handle("POST /gate", g.Handler(p.k, endpoint.Config{Site: p.site}))
		location := p.accepted("/gate", `{}`).Header.Get("Location")
		ctx, hangUp := context.WithCancel(t.Context())
		events, res := p.listen(ctx, location+"/events", "")
		if res.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("the headers are %v, want a stream", res.Header)
		}
		first := p.next(events)
		if first.name != "status" || first.doc.Status != endpoint.Queued {
			t.Errorf("the first event is %+v, want how it stands", first)
		}
		if e := p.next(events); e.name != "heartbeat" {
			t.Errorf("the next event is %+v, want a heartbeat", e)
		}
		p.work(g.Serve, kernel.Config{Beat: 50 * time.Millisecond, DeadAfter: 5 * time.Second})
		var last event
		p.soon("an event with the progress", func() bool { // of its own, or with the status if both came at once
			e := p.next(events)
			if e.name == "heartbeat" {
				return false
			}
			if e.doc.Status != endpoint.InProgress || e.name == "progress" && last.name == "" {
				t.Errorf("an event is %+v, want InProgress, told as status first", e)
			}
			last = e
			return e.doc.Progress != nil
		})
		if pr := last.doc.Progress; pr == nil || pr.Done != 1 || pr.Total != 2 || pr.Note != "at the gate" {
			t.Errorf("the progress is %+v, want what the function said", pr)
		}
		hangUp()

		events, _ = p.listen(t.Context(), location+"/events", last.id)
		if e := p.next(events); e.name != "heartbeat" {
			t.Errorf("who comes back is told %+v, want nothing that it knows", e)
		}
		again, _ := p.listen(t.Context(), location+"/events", first.id)
		if e := p.next(again); e.doc.Status != endpoint.InProgress || e.id != last.id {
			t.Errorf("who missed something is told %+v, want how it stands", e)
		}
		close(g.open)
		var end event
		for e := range events {
			end = e
		}
		if end.name != "status" || end.doc.Status != endpoint.Completed || string(end.doc.Result) == "" {
			t.Errorf("the last event is %+v, want the end with its result", end)
		}
		if a := p.send("GET", location+"/events", "", "Last-Event-ID", end.id); a.StatusCode != http.StatusNoContent {
			t.Errorf("who knows the end is answered %d, want 204", a.StatusCode)
		}
		events, _ = p.listen(t.Context(), location+"/events", "")
		if e := p.next(events); e.doc.Status != endpoint.Completed {
			t.Errorf("who comes late is told %+v, want the end", e)
		}
	})
}

// The status of a task that is watched from beginning to end only moves forward.
func TestAStatusOnlyMovesForward(t *testing.T) {
	everywhere(t, setup{}, func(t *testing.T, p *place) {
		tries := endpoint.Define("tries", func(ctx context.Context, _ endpoint.Request[Order]) (string, error) {
			if endpoint.From(ctx).Attempt() < 3 {
				return "", fmt.Errorf("not yet")
			}
			return "done", nil
		})
		p.mux.Handle("POST /tries", tries.Handler(p.k, endpoint.Config{Site: p.site, RetryBase: 50 * time.Millisecond}))
		location := p.accepted("/tries", `{}`).Header.Get("Location")
		events, _ := p.listen(t.Context(), location+"/events", "")
		first := p.next(events)
		p.watch(kernel.Config{RecoverEvery: 100 * time.Millisecond})
		p.die()
		p.work(tries.Serve, kernel.Config{RecoverEvery: 100 * time.Millisecond})
		seen, last := []string{first.doc.Status.String()}, first
		for e := range events {
			if e.name == "heartbeat" {
				continue
			}
			if e.doc.Attempt < last.doc.Attempt || e.doc.UpdatedAt.Before(last.doc.UpdatedAt) || last.doc.Status.Ended() {
				t.Errorf("after %+v came %+v", last.doc, e.doc)
			}
			seen, last = append(seen, e.doc.Status.String()), e
		}
		if last.doc.Status != endpoint.Completed || last.doc.Attempt != 3 {
			t.Errorf("the stream told %v, want it to end completed at the third attempt", seen)
		}
	})
}
