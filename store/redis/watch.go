package redis

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// watcher is one Watch under way.
type watcher struct {
	worker  string
	queues  []string
	notices chan store.Notice
}

// give hands a notice on. A hint that finds no room is lost, as any hint may be; those before it make the reader look.
func (w *watcher) give(n store.Notice) {
	select {
	case w.notices <- n:
	default:
	}
}

// tell hands a notice to every watcher of this handle.
func (n *session) tell(notice store.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.watchers {
		w.give(notice)
	}
}

// hear hands on what came through a channel.
func (n *session) hear(m rueidis.PubSubMessage) {
	name, ok := strings.CutPrefix(m.Channel, n.s.prefix)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for w := range n.watchers {
		switch {
		case name == chanAll:
			for _, q := range w.queues {
				w.give(store.Notice{Kind: store.NoticeWork, Queue: q})
			}
		case strings.HasPrefix(name, chanWork):
			if q := name[len(chanWork):]; slices.Contains(w.queues, q) {
				w.give(store.Notice{Kind: store.NoticeWork, Queue: q})
			}
		case strings.HasPrefix(name, chanAsked):
			if name[len(chanAsked):] == w.worker {
				w.give(store.Notice{Kind: store.NoticeAsked, Task: idOf(m.Message)})
			}
		case strings.HasPrefix(name, chanTask):
			if id := idOf(name[len(chanTask):]); n.follows[id] > 0 {
				w.give(store.Notice{Kind: store.NoticeTask, Task: id})
			}
		}
	}
}

// listen adds to the channels that are listened to (1), or takes away from them (-1), and tells the server what has changed. One
// that it cannot tell now it is told when the session is opened again.
func (n *session) listen(ctx context.Context, by int, names ...string) {
	n.wire.Lock()
	defer n.wire.Unlock()
	n.mu.Lock()
	var changed []string
	for _, name := range names {
		name = n.s.prefix + name
		before := n.channels[name]
		n.channels[name] += by
		if n.channels[name] <= 0 {
			delete(n.channels, name)
		}
		if (before > 0) != (n.channels[name] > 0) {
			changed = append(changed, name)
		}
	}
	up := n.up
	n.mu.Unlock()
	if up == nil || len(changed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if by > 0 {
		_ = up.conn.Do(ctx, up.conn.B().Subscribe().Channel(changed...).Build()).Error()
		return
	}
	_ = up.conn.Do(ctx, up.conn.B().Unsubscribe().Channel(changed...).Build()).Error()
}

// channels are what a watcher listens to.
func (w *watcher) channels() []string {
	names := []string{chanAll}
	for _, q := range w.queues {
		names = append(names, chanWork+q)
	}
	if w.worker != "" {
		names = append(names, chanAsked+w.worker)
	}
	return names
}

// Watch calls fn for each notice until ctx ends.
func (s *Store) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	w := &watcher{worker: worker, queues: slices.Clone(queues), notices: make(chan store.Notice, 64)}
	n := s.session
	if _, err := n.open(ctx); err != nil {
		return err
	}
	n.listen(ctx, 1, w.channels()...)
	n.mu.Lock()
	n.watchers[w] = struct{}{}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.watchers, w)
		n.mu.Unlock()
		n.listen(context.WithoutCancel(ctx), -1, w.channels()...)
	}()
	fn(store.Notice{Kind: store.NoticeStart})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return store.ErrClosed
		case notice := <-w.notices:
			fn(notice)
		}
	}
}

// followTimeout bounds how long Follow waits until the server knows: a notice that is missed costs one beat.
const followTimeout = time.Second

// Follow asks that changes of a task be noticed on this handle.
func (s *Store) Follow(id store.ID) { s.session.follow(id, 1) }

// Unfollow takes a Follow back.
func (s *Store) Unfollow(id store.ID) { s.session.follow(id, -1) }

func (n *session) follow(id store.ID, by int) {
	n.mu.Lock()
	before := n.follows[id]
	after := max(before+by, 0)
	if n.follows[id] = after; after == 0 {
		delete(n.follows, id)
	}
	n.mu.Unlock()
	if (before > 0) == (after > 0) {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, followTimeout)
	defer cancel()
	n.listen(ctx, by, chanFollow, chanTask+rawID(id))
}
