package call

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Event is something that happened in this process. It carries no payload, and of the URL the host alone.
type Event struct {
	Kind     EventKind
	ID       kernel.ID
	Host     string
	Method   string
	Attempt  int
	Status   int           // of an answer
	Type     Type          // of an error
	Duration time.Duration // of an attempt, or of a pause
}

// EventKind names an Event.
type EventKind string

// The events.
const (
	RequestStarted   EventKind = "started"
	RequestAnswered  EventKind = "answered"
	RequestFailed    EventKind = "failed"    // this attempt: another may follow
	RequestAbandoned EventKind = "abandoned" // given back: the process stops, or has lost it
	CircuitOpened    EventKind = "circuit opened"
	CircuitClosed    EventKind = "circuit closed"
)

// observe tells the observers. One that panics takes neither a request nor the other observers with it.
func (c *Client) observe(e Event) {
	for _, fn := range c.cfg.Observers {
		func() {
			defer func() {
				if p := recover(); p != nil {
					c.log.Error("observer panicked", "err", fmt.Sprint(p))
				}
			}()
			fn(e)
		}()
	}
}

// Stats is what a process has sent since it began, or since ResetStats. What the fleet has done is for kernel.Stats to say.
type Stats struct {
	State    kernel.State // of the kernel
	InFlight int          // requests under way
	Capacity int          // that may be: the slots of the queue
	Requests int64        // attempts that were answered or failed
	Errors   int64        // attempts that failed
	Released int64        // attempts that were given back
	Types    map[Type]int64
	Statuses map[int]int64
	Duration time.Duration // of all attempts together
}

// Mean returns how long an attempt took on average.
func (s Stats) Mean() time.Duration {
	if s.Requests == 0 {
		return 0
	}
	return s.Duration / time.Duration(s.Requests)
}

// Use returns which part of the capacity is in use, from 0 to 1.
func (s Stats) Use() float64 {
	if s.Capacity == 0 {
		return 0
	}
	return float64(s.InFlight) / float64(s.Capacity)
}

// Stats returns what this process has sent. A nil kernel leaves State and Capacity out.
func (c *Client) Stats(k *kernel.Kernel) Stats {
	s := c.stats.read()
	if k != nil {
		s.State, s.Capacity = k.State(), k.Slots(c.cfg.Queue)
	}
	return s
}

// ResetStats begins the totals anew. What is under way stays under way.
func (c *Client) ResetStats() {
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	c.stats.total = Stats{InFlight: c.stats.total.InFlight}
}

type stats struct {
	mu    sync.Mutex
	total Stats
}

func (s *stats) read() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.total
	t.Types, t.Statuses = maps.Clone(t.Types), maps.Clone(t.Statuses)
	return t
}

func (s *stats) begin(c *Client, a *attempt, host string) {
	s.mu.Lock()
	s.total.InFlight++
	s.mu.Unlock()
	c.observe(Event{Kind: RequestStarted, ID: a.id, Host: host, Method: a.request.Method, Attempt: a.number})
}

func (s *stats) abandon(c *Client, a *attempt, host string) {
	s.mu.Lock()
	s.total.InFlight--
	s.total.Released++
	s.mu.Unlock()
	c.observe(Event{Kind: RequestAbandoned, ID: a.id, Host: host, Method: a.request.Method, Attempt: a.number, Duration: time.Since(a.begun)})
}

func (s *stats) end(c *Client, a *attempt, host string, ans *answer, failure *Error) {
	e := Event{Kind: RequestAnswered, ID: a.id, Host: host, Method: a.request.Method, Attempt: a.number, Duration: time.Since(a.begun)}
	s.mu.Lock()
	t := &s.total
	t.InFlight--
	t.Requests++
	t.Duration += e.Duration
	if failure != nil {
		e.Kind, e.Type = RequestFailed, failure.Type
		t.Errors++
		if t.Types == nil {
			t.Types = map[Type]int64{}
		}
		t.Types[failure.Type]++
	} else {
		e.Status = ans.Status
		if t.Statuses == nil {
			t.Statuses = map[int]int64{}
		}
		t.Statuses[ans.Status]++
	}
	s.mu.Unlock()
	c.observe(e)
}
