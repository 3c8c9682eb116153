package api

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// streams makes a line of the table whose answer are server-sent events.
func streams(scope Scope, pattern, what string, do func(q *request) error) route {
	return texts(eventStream, scope, pattern, what, do)
}

// texts makes a line of the table that writes its answer itself.
func texts(media string, scope Scope, pattern, what string, do func(q *request) error) route {
	r := on(scope, pattern, what, func(*request, none) (string, error) { return "", nil })
	r.media = media
	r.do = func(q *request) (any, error) { return nil, do(q) }
	return r
}

// The types of answers that are not JSON.
const (
	eventStream = "text/event-stream"
	plainText   = "text/plain; charset=utf-8"
)

// begin turns an answer into a stream.
func (q *request) begin() bool {
	h := q.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("X-Accel-Buffering", "no") // proxies that gather would hold events back
	q.w.WriteHeader(http.StatusOK)
	return q.send("retry: 2000\n\n")
}

// send writes at once, and reports whether the client is there.
func (q *request) send(text string) bool {
	extend(q.w, 2*q.s.cfg.Heartbeat+writeTimeout)
	_, err := q.w.Write([]byte(text))
	return err == nil && http.NewResponseController(q.w).Flush() == nil
}

// streamTask tells each change of a task, with its version as id, until it has ended. Who comes back is told what is newer; 204 tells who
// comes back after the end to stay away.
func streamTask(q *request) error {
	id, err := q.id()
	if err != nil {
		return err
	}
	follower := q.k.Follow(id)
	defer follower.Close()
	t, err := q.await(id, 0)
	if err != nil && t.ID.IsZero() {
		return err
	}
	last, err := strconv.ParseInt(q.r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		last = -1
	}
	if t.State.Terminal() && t.Version <= last {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	for ok := q.begin(); ok; {
		if t.Version > last {
			data, err := json.Marshal(taskOf(&t, false))
			if err != nil {
				return nil
			}
			last = t.Version
			ok = q.send(fmt.Sprintf("id: %d\nevent: task\ndata: %s\n\n", t.Version, data))
		}
		if t.State.Terminal() || !ok {
			return nil
		}
		if !follower.Wait(q.r.Context(), q.s.cfg.Heartbeat) {
			if ok = q.r.Context().Err() == nil && q.send(": still here\n\n"); !ok {
				return nil
			}
		}
		ctx, cancel := q.waiting(0)
		t, err = q.k.Get(ctx, id)
		cancel()
		if err != nil && t.ID.IsZero() {
			return nil // it was deleted, or the store is away: the client comes back and is told
		}
	}
	return nil
}

// boardSize is how many events of this process are kept for those who come back.
const boardSize = 4096

// board keeps what happened lately in this process.
type board struct {
	run string // names this process: ids of another one mean nothing here

	mu      sync.Mutex
	first   int64 // number of the oldest one kept
	kept    []posted
	changed chan struct{}
	waited  bool // somebody has been given changed
}

// posted is an event and the namespace it happened in.
type posted struct {
	space string
	event kernel.Event
}

func newBoard() *board { return &board{run: rand.Text()[:8], changed: make(chan struct{})} }

// Observe takes in an event of a kernel, for /v1/events and /metrics. It does not block: give it to kernel.Config.Observe.
func (s *Server) Observe(namespace string, e kernel.Event) {
	s.counters.add(namespace, e)
	s.events.post(namespace, e)
}

func (b *board) post(space string, e kernel.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, posted{space, e})
	if len(b.kept) > 2*boardSize {
		b.first += boardSize
		b.kept = slices.Clone(b.kept[boardSize:])
	}
	if b.waited {
		close(b.changed)
		b.changed, b.waited = make(chan struct{}), false
	}
}

// after returns what came after a number, the number of the next, and what is closed when there is more. missed says that some are gone.
func (b *board) after(n int64) (list []posted, next int64, more chan struct{}, missed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := b.first + int64(len(b.kept))
	missed, b.waited = n < b.first, true
	n = min(max(n, b.first), end)
	return slices.Clone(b.kept[n-b.first:]), end, b.changed, missed
}

// from reads where a client wants to go on. One that is new begins now; one that comes from another process has missed something.
func (b *board) from(id string) (n int64, missed bool) {
	_, end, _, _ := b.after(1 << 62)
	if id == "" {
		return end, false
	}
	run, number, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || run != b.run {
		return 0, true
	}
	return n, false
}

// Happening is one event of this daemon.
type Happening struct {
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Task    string    `json:"task,omitempty"`
	Kind    string    `json:"kind,omitempty"`
	Queue   string    `json:"queue,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	State   string    `json:"state,omitempty"`
	Count   int       `json:"count,omitempty"`
}

// streamEvents tells what happens in this daemon. Who comes back in time misses nothing; an event "missed" says that something was.
func streamEvents(q *request) error {
	b, space := q.s.events, q.k.Store().Namespace
	n, missed := b.from(q.r.Header.Get("Last-Event-ID"))
	for ok := q.begin(); ok; {
		list, next, more, gone := b.after(n)
		if missed || gone {
			ok = q.send("event: missed\ndata: {}\n\n")
		}
		missed = false
		begin := next - int64(len(list))
		for i, p := range list {
			if p.space != space || !ok {
				continue
			}
			e := p.event
			data, err := json.Marshal(Happening{
				At: e.At.UTC(), Event: string(e.Kind), Task: idText(e.Task), Kind: e.Name, Queue: e.Queue, Worker: e.Worker, Attempt: e.Attempt,
				State: string(e.State), Count: e.Count,
			})
			if err != nil {
				return nil
			}
			ok = q.send(fmt.Sprintf("id: %s-%d\nevent: %s\ndata: %s\n\n", b.run, begin+int64(i)+1, e.Kind, data))
		}
		n = next
		if !ok {
			return nil
		}
		beat := time.NewTimer(q.s.cfg.Heartbeat)
		select {
		case <-more:
		case <-beat.C:
			ok = q.send(": still here\n\n")
		case <-q.r.Context().Done():
			ok = false
		}
		beat.Stop()
	}
	return nil
}
