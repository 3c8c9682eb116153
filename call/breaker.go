package call

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Breaker pauses a host that fails. The pause is in the store: the whole fleet leaves the host alone, also after a restart, and what waits
// for it spends no attempt. When the pause is over the host is tried with a few requests; the first that succeeds ends it, one
// that fails doubles the pause. What speaks against a host: it cannot be reached, does not answer in time, breaks off, or
// answers 429 or 500 and above.
//
// While a circuit is broken the limit of the host is the breaker's; when it is mended, what ClientConfig says is put back.
type Breaker struct {
	// Failures in a row, as one process sees them, break the circuit. Default 10; negative: never.
	Failures int
	// OpenFor is the first pause. Default 10 s. MaxOpen is the longest. Default 5 minutes.
	OpenFor, MaxOpen time.Duration
	// Probes is how many requests of the fleet try a host at the same time after a pause. Default 1.
	Probes int
}

func (b Breaker) withDefaults() Breaker {
	b.Failures = cmp.Or(b.Failures, 10)
	b.OpenFor = cmp.Or(b.OpenFor, 10*time.Second)
	b.MaxOpen = cmp.Or(b.MaxOpen, max(5*time.Minute, b.OpenFor))
	b.Probes = cmp.Or(b.Probes, 1)
	return b
}

func (b Breaker) validate() error {
	if b.OpenFor < 0 || b.MaxOpen < 0 || b.Probes < 0 {
		return invalid("Breaker", "is %+v; OpenFor, MaxOpen and Probes must not be negative", b)
	}
	if b.MaxOpen > 0 && b.OpenFor > b.MaxOpen {
		return invalid("Breaker", "is open for %v at first and for %v at most", b.OpenFor, b.MaxOpen)
	}
	return nil
}

// kindBreaker is no kind of a task: the pause of this kind says that the circuit of a host is broken, and stands until it is mended.
const kindBreaker = "call.breaker"

// How old the view of the store may be; less while a circuit is broken.
const (
	viewFor       = time.Second
	viewForBroken = 200 * time.Millisecond
)

// breakers are the circuits of a client, per kernel.
type breakers struct {
	client *Client
	mu     sync.Mutex
	boards map[*kernel.Kernel]*board
}

func newBreakers(c *Client) *breakers {
	return &breakers{client: c, boards: map[*kernel.Kernel]*board{}}
}

// board is what a process knows of circuits.
type board struct {
	client *Client
	k      *kernel.Kernel

	mu       sync.Mutex
	failures map[string]int // in a row, by host
	broken   map[string]circuit
	readAt   time.Time
	reading  bool
}

// circuit is a broken one.
type circuit struct {
	open  bool          // paused; otherwise its host is being tried
	pause time.Duration // the last one
}

// turn is one attempt as its circuit sees it. The zero value sees nothing.
type turn struct {
	board *board
	host  string
	probe bool
}

// begin says that an attempt begins.
func (bs *breakers) begin(ctx context.Context, k *kernel.Kernel, host string) turn {
	if bs.client.cfg.Breaker.Failures < 0 {
		return turn{}
	}
	b := bs.board(k)
	b.look(ctx, viewFor)
	b.mu.Lock()
	defer b.mu.Unlock()
	c, broken := b.broken[host]
	return turn{board: b, host: host, probe: broken && !c.open}
}

func (bs *breakers) board(k *kernel.Kernel) *board {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.boards[k]
	if b == nil {
		b = &board{client: bs.client, k: k, failures: map[string]int{}, broken: map[string]circuit{}}
		bs.boards[k] = b
	}
	return b
}

// isBroken reports whether the circuit of a host is broken.
func (bs *breakers) isBroken(ctx context.Context, k *kernel.Kernel, host string) bool {
	if bs.client.cfg.Breaker.Failures < 0 {
		return false
	}
	b := bs.board(k)
	b.look(ctx, viewFor)
	b.mu.Lock()
	defer b.mu.Unlock()
	_, broken := b.broken[host]
	return broken
}

// look reads the circuits of the fleet if what is known is too old. One reads; the others go by what is known.
func (b *board) look(ctx context.Context, age time.Duration) {
	b.mu.Lock()
	if len(b.broken) > 0 {
		age = viewForBroken
	}
	if b.reading || time.Since(b.readAt) < age {
		b.mu.Unlock()
		return
	}
	b.reading = true
	b.mu.Unlock()
	pauses, err := b.k.Pauses(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	if err != nil {
		return // the kernel says so if the store is away
	}
	b.readAt, b.broken = time.Now(), map[string]circuit{}
	for _, p := range pauses {
		if p.Scope.Kind == kindBreaker && p.Scope.Queue == b.client.cfg.Queue {
			b.broken[p.Scope.Lane] = circuit{pause: readPause(p.Reason)}
		}
	}
	for _, p := range pauses {
		if c, ok := b.broken[p.Scope.Lane]; ok && p.Scope == b.lane(p.Scope.Lane) {
			c.open = true
			b.broken[p.Scope.Lane] = c
		}
	}
}

func (b *board) lane(host string) kernel.Scope {
	return kernel.Scope{Queue: b.client.cfg.Queue, Lane: host}
}

func (b *board) marker(host string) kernel.Scope {
	return kernel.Scope{Queue: b.client.cfg.Queue, Kind: kindBreaker, Lane: host}
}

const brokenText = "circuit broken; opened for "

func readPause(reason string) time.Duration {
	d, err := time.ParseDuration(strings.TrimPrefix(reason, brokenText))
	if err != nil {
		return 0
	}
	return d
}

// end says how an attempt went, and breaks or mends the circuit if it is time to.
func (t turn) end(ctx context.Context, trouble bool) {
	if t.board == nil {
		return
	}
	b, cfg := t.board, t.board.client.cfg.Breaker
	b.mu.Lock()
	if trouble {
		b.failures[t.host]++
	} else {
		delete(b.failures, t.host)
	}
	c, broken := b.broken[t.host]
	var act func(context.Context, string, time.Duration) error
	pause := cfg.OpenFor
	switch {
	case t.probe && broken && !c.open && !trouble:
		act = b.mend
		delete(b.broken, t.host)
	case t.probe && broken && !c.open:
		act, pause = b.open, min(max(2*c.pause, cfg.OpenFor), cfg.MaxOpen)
	case !broken && b.failures[t.host] >= cfg.Failures:
		act = b.open
	}
	if trouble && act != nil {
		delete(b.failures, t.host)
		b.broken[t.host] = circuit{open: true, pause: pause} // so that no other run of this process does it too
		b.readAt = time.Now()
	}
	b.mu.Unlock()
	if act == nil {
		return
	}
	if err := act(ctx, t.host, pause); err != nil {
		b.client.log.Warn("circuit not switched", "host", t.host, "err", err)
	}
}

// open breaks a circuit: the mark, the limit for what comes after the pause, then the pause. Whoever dies in between leaves a
// circuit that the next attempt breaks or mends.
func (b *board) open(ctx context.Context, host string, pause time.Duration) error {
	if err := b.k.Pause(ctx, b.marker(host), 0, brokenText+pause.String()); err != nil {
		return err
	}
	l := b.client.hostLimit(host)
	limit := kernel.Limit{Key: limitKey(host), Running: b.client.cfg.Breaker.Probes, Rates: l.Rates}
	if _, err := b.k.PutLimit(ctx, limit); err != nil {
		return err
	}
	if err := b.k.Pause(ctx, b.lane(host), pause, fmt.Sprintf("circuit open for %v", pause)); err != nil {
		return err
	}
	b.client.log.Warn("circuit opened", "host", host, "pause", pause)
	b.client.observe(Event{Kind: CircuitOpened, Host: host, Duration: pause})
	return nil
}

// mend closes a circuit, the mark last.
func (b *board) mend(ctx context.Context, host string, _ time.Duration) error {
	l := b.client.hostLimit(host)
	if _, err := b.k.PutLimit(ctx, kernel.Limit{Key: limitKey(host), Running: l.Running, Rates: l.Rates}); err != nil {
		return err
	}
	if err := b.k.Resume(ctx, b.lane(host)); err != nil {
		return err
	}
	if err := b.k.Resume(ctx, b.marker(host)); err != nil {
		return err
	}
	b.client.log.Info("circuit closed", "host", host)
	b.client.observe(Event{Kind: CircuitClosed, Host: host})
	return nil
}
