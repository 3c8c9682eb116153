package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

// session is the one connection of a handle that ends with its process: it holds a lock for each worker that joined on the handle, and
// listens. It is made when it is first needed. When it is lost it is made anew at once, under other keys: the server may not
// know yet that the old one is gone. It looks every second whether the connection still stands.
type session struct {
	s      *Store
	dialer *pgx.ConnConfig
	ctx    context.Context //nolint:containedctx // the life of the goroutine that owns the connection
	cancel context.CancelFunc

	mu      sync.Mutex
	started bool
	up      chan struct{} // closed while the connection stands
	poke    chan struct{} // makes it try again at once
	queue   []*sessionOp
	wake    context.CancelFunc // ends the wait for a notice
	workers map[string]*vouched
	pid     uint32
}

// vouched is what the session holds for a worker.
type vouched struct {
	key   int64
	since int64 // by the store's clock
}

// sessionOp is what is to be done on the connection.
type sessionOp struct {
	fn   func(ctx context.Context, c *pgx.Conn) error
	done chan error
}

func newSession(s *Store, dialer *pgx.ConnConfig) *session {
	e := &session{s: s, dialer: dialer, up: make(chan struct{}), poke: make(chan struct{}, 1), workers: map[string]*vouched{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

func (e *session) stop() { e.cancel() }

// begin starts the session, once.
func (e *session) begin() (up chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.started && !e.s.closed.Load() {
		e.started = true
		e.s.crew.Go(e.run)
	}
	return e.up
}

// wait returns once the connection stands.
func (e *session) wait(ctx context.Context) error {
	up := e.begin()
	select {
	case <-up:
		return nil
	default:
	}
	select {
	case e.poke <- struct{}{}:
	default:
	}
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), errNoEvidence)
	case <-e.ctx.Done():
		return store.ErrClosed
	}
}

// stands reports whether the connection stands.
func (e *session) stands() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.up:
		return true
	default:
		return false
	}
}

// do makes a call on the connection. The call is not cut off by ctx, which would cost the connection; the caller is.
func (e *session) do(ctx context.Context, fn func(ctx context.Context, c *pgx.Conn) error) error {
	if err := e.wait(ctx); err != nil {
		return err
	}
	op := &sessionOp{fn: fn, done: make(chan error, 1)}
	e.mu.Lock()
	e.queue = append(e.queue, op)
	if e.wake != nil {
		e.wake()
	}
	e.mu.Unlock()
	select {
	case err := <-op.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return store.ErrClosed
	}
}

// run keeps a connection until the handle is closed.
func (e *session) run() {
	wait := 50 * time.Millisecond
	for e.ctx.Err() == nil {
		begin := time.Now()
		conn, err := e.connect()
		if err == nil {
			e.serve(conn)
			e.down(conn)
		}
		if time.Since(begin) > time.Second {
			wait = 50 * time.Millisecond
		}
		timer := time.NewTimer(wait)
		select {
		case <-e.ctx.Done():
		case <-e.poke:
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, time.Second)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, op := range e.queue {
		op.done <- store.ErrClosed
	}
	e.queue = nil
}

// connect makes a connection that listens and vouches for all workers of the handle.
func (e *session) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, e.dialer)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Exec(ctx, "listen "+pgx.Identifier{e.s.channel()}.Sanitize()); err == nil {
		err = e.renew(ctx, conn)
	}
	if err != nil {
		_ = conn.Close(ctx) // the error before says more
		return nil, err
	}
	e.mu.Lock()
	e.pid = conn.PgConn().PID()
	close(e.up)
	e.mu.Unlock()
	e.s.watch.lost() // what was told meanwhile was not heard
	return conn, nil
}

// renew takes new locks for the workers, each before the record says so.
func (e *session) renew(ctx context.Context, conn *pgx.Conn) error {
	e.mu.Lock()
	ids := make([]string, 0, len(e.workers))
	for id := range e.workers {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		key := newKey()
		if _, err := conn.Exec(ctx, e.s.q.get("vouch"), key); err != nil {
			return err
		}
		var got struct {
			Now   int64 `json:"now"`
			Found bool  `json:"found"`
		}
		if err := ask(ctx, conn, e.s.q.get("renew"), workerRequest{ID: id, Session: &key}, &got); err != nil {
			return err
		}
		e.mu.Lock()
		if _, still := e.workers[id]; still && got.Found {
			e.workers[id] = &vouched{key: key, since: got.Now}
		} else {
			delete(e.workers, id) // it was declared dead
		}
		e.mu.Unlock()
	}
	return nil
}

// newKey is a key that nobody else has.
func newKey() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}

// down notes that the connection is lost.
func (e *session) down(conn *pgx.Conn) {
	e.mu.Lock()
	e.up = make(chan struct{})
	e.pid = 0
	queue := e.queue
	e.queue = nil
	e.mu.Unlock()
	for _, op := range queue {
		op.done <- errNoEvidence
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is lost, or not needed any more
}

// serve does what is asked for on the connection and hands on notices, until the connection is lost or the handle closed.
func (e *session) serve(conn *pgx.Conn) {
	looked := time.Now()
	for e.ctx.Err() == nil && !conn.IsClosed() {
		wait, cancel := context.WithTimeout(e.ctx, time.Second)
		e.mu.Lock()
		var op *sessionOp
		if len(e.queue) > 0 {
			op, e.queue = e.queue[0], e.queue[1:]
		} else {
			e.wake = cancel
		}
		e.mu.Unlock()
		if op != nil {
			op.done <- e.perform(conn, op, opLimit)
			cancel()
			continue
		}
		notice, err := conn.WaitForNotification(wait)
		ended := wait.Err()
		cancel()
		e.mu.Lock()
		e.wake = nil
		e.mu.Unlock()
		switch {
		case err == nil:
			e.s.watch.hearText(notice.Payload)
		case ended == nil:
			return
		}
		if time.Since(looked) < time.Second {
			continue
		}
		looked = time.Now()
		e.s.keepFollowing()
		if err := e.perform(conn, &sessionOp{fn: func(ctx context.Context, c *pgx.Conn) error { return c.Ping(ctx) }}, lookLimit); err != nil {
			return
		}
	}
}

// How long a call may keep the connection, and how long it may take to say that it still stands.
const (
	opLimit   = 30 * time.Second
	lookLimit = 2 * time.Second
)

func (e *session) perform(conn *pgx.Conn, op *sessionOp, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(e.ctx, limit)
	defer cancel()
	return op.fn(ctx, conn)
}
