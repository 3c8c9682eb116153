package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// Times of a session.
const (
	watchEvery   = time.Second           // it is looked at so often, whatever the beat
	firstPause   = 20 * time.Millisecond // before it is opened again
	longPause    = time.Second           // at most
	openTimeout  = 5 * time.Second       // for one attempt
	joinPatience = 2 * time.Second       // how long Join waits for it
)

// session is the one connection that ends with its process. It bears witness that the workers of this handle live, it listens
// to notices, and it carries the Recover of its own workers. It is opened when first needed, and again whenever it is lost.
type session struct {
	s      *Store
	ctx    context.Context //nolint:containedctx // ends with the handle, not with a call
	cancel context.CancelFunc
	run    sync.WaitGroup
	start  sync.Once

	wire sync.Mutex // one change of what is listened to at a time; never taken under mu

	mu       sync.Mutex
	up       *line          // nil while it is lost
	changed  chan struct{}  // closed when up changes
	channels map[string]int // listened to, and by how many
	watchers map[*watcher]struct{}
	follows  map[store.ID]int
	joined   map[string]int // workers of this handle; a second Join of one is refused, and must not take the first away
}

// line is a session that stands.
type line struct {
	conn  rueidis.DedicatedClient
	cid   int64  // of the connection
	runID string // of the server's process: another one counts connections anew
}

func newSession(s *Store) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		s: s, ctx: ctx, cancel: cancel, changed: make(chan struct{}), channels: map[string]int{},
		watchers: map[*watcher]struct{}{}, follows: map[store.ID]int{}, joined: map[string]int{},
	}
}

// stop closes the connection and waits for its end.
func (n *session) stop() {
	n.start.Do(func() {}) // one that never began does not begin now
	n.cancel()
	n.run.Wait()
}

// open begins to keep the session, and waits until it stands or ctx ends.
func (n *session) open(ctx context.Context) (*line, error) {
	n.start.Do(func() { n.run.Go(n.keep) })
	for {
		n.mu.Lock()
		up, changed := n.up, n.changed
		n.mu.Unlock()
		if up != nil {
			return up, nil
		}
		select {
		case <-changed:
		case <-n.ctx.Done():
			return nil, store.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// soon returns the session, which it opens if need be; nil if it does not stand in a while.
func (n *session) soon(ctx context.Context) *line {
	if n.s.evidence == store.EvidenceNone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout/4)
	defer cancel()
	up, err := n.open(ctx)
	if err != nil {
		return nil
	}
	return up
}

// now returns the session if it stands, and nil if it does not.
func (n *session) now() *line {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up
}

func (n *session) set(up *line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up = up
	close(n.changed)
	n.changed = make(chan struct{})
}

// keep opens the session again and again until the handle is closed. It tells once that it was lost, and once that it is back.
func (n *session) keep() {
	pause, lost := firstPause, false
	for n.ctx.Err() == nil {
		stood, err := n.once(func() {
			if lost {
				n.s.log.Info("session with the store is back")
			}
			pause, lost = firstPause, false
		})
		if n.ctx.Err() != nil {
			return
		}
		if stood || !lost {
			n.s.log.Warn("session with the store was lost; it is opened again", "err", err)
			lost = true
		}
		timer := time.NewTimer(pause)
		select {
		case <-n.ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		pause = min(2*pause, longPause)
	}
}

// once opens the session and stays until it is lost.
func (n *session) once(standing func()) (stood bool, err error) {
	conn, cancel := n.s.client.Dedicate()
	defer cancel()
	defer conn.Close()
	ended := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: n.hear})
	if err := n.greet(conn); err != nil {
		return false, err
	}
	standing()
	defer n.set(nil)
	n.tell(store.Notice{Kind: store.NoticeStart})
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return true, n.ctx.Err()
		case err := <-ended:
			return true, errors.Join(errors.New("the connection ended"), err)
		case <-look.C:
			ctx, cancel := context.WithTimeout(n.ctx, watchEvery)
			err := conn.Do(ctx, conn.B().Ping().Build()).Error()
			cancel()
			if err != nil {
				return true, err
			}
		}
	}
}

// greet finds out who this connection is, and listens to all that is wanted.
func (n *session) greet(conn rueidis.DedicatedClient) error {
	ctx, cancel := context.WithTimeout(n.ctx, openTimeout)
	defer cancel()
	up := &line{conn: conn}
	if n.s.evidence == store.EvidenceSession {
		m, err := info(ctx, conn, "server")
		if err != nil {
			return err
		}
		up.runID = m["run_id"]
		if up.cid, err = conn.Do(ctx, conn.B().ClientId().Build()).AsInt64(); err != nil {
			return err
		}
	} else if err := conn.Do(ctx, conn.B().Ping().Build()).Error(); err != nil {
		return err
	}
	n.wire.Lock()
	defer n.wire.Unlock()
	n.mu.Lock()
	names := slices.Collect(maps.Keys(n.channels))
	n.mu.Unlock()
	if len(names) > 0 {
		if err := conn.Do(ctx, conn.B().Subscribe().Channel(names...).Build()).Error(); err != nil {
			return err
		}
	}
	n.set(up)
	return nil
}

// vouch notes that a worker has joined on this handle (1), or has not after all (-1).
func (n *session) vouch(worker string, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.joined[worker] += by; n.joined[worker] <= 0 {
		delete(n.joined, worker)
	}
}

// vouches reports whether a worker has joined on this handle: only then the session shows that it lives.
func (n *session) vouches(worker string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.joined[worker] > 0
}

// named writes the session into a request, if it stands and can be seen.
func (up *line) named(o *object) {
	if up != nil && up.cid != 0 {
		o.key("cid").int(up.cid)
		o.key("run").str(up.runID)
	}
}

// connected asks which of some connections the server has.
func connected(ctx context.Context, c doer, ids []int64) (map[int64]bool, error) {
	args := make([]string, len(ids))
	for i, id := range ids {
		args[i] = strconv.FormatInt(id, 10)
	}
	text, err := c.Do(ctx, c.B().Arbitrary("CLIENT", "LIST", "ID").Args(args...).Build()).ToString()
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	here := map[int64]bool{}
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) { // a verbatim string says first what it is
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if id, err := strconv.ParseInt(first, 10, 64); err == nil {
			here[id] = true
		}
	}
	return here, nil
}
