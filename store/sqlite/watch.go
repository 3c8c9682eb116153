package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/outlast-go/outlast/store"
)

// watch is who wants to hear of changes, in this process and in others.
type watch struct {
	peers *peers

	mu       sync.Mutex
	watchers []*watcher
	follows  map[store.ID]int
}

func newWatch(dir string) *watch {
	return &watch{peers: &peers{dir: dir}, follows: map[store.ID]int{}}
}

func (w *watch) close() error { return w.peers.close() }

// watcher is one Watch under way.
type watcher struct {
	worker  string
	queues  []string
	notices chan store.Notice
	missed  chan struct{} // full: some notice has found no room
}

// tell hands a notice on. If one finds no room, the reader is told to look at everything.
func (w *watcher) tell(n store.Notice) {
	select {
	case w.notices <- n:
		return
	default:
	}
	select {
	case w.missed <- struct{}{}:
	default:
	}
}

// hear hands on what of some hints concerns a watcher. many says that more tasks have changed than were named.
func (w *watch) hear(to *watcher, h *hints, many bool) {
	for _, q := range to.queues {
		if h.all || slices.Contains(h.queues, q) {
			to.tell(store.Notice{Kind: store.NoticeWork, Queue: q})
		}
	}
	for _, a := range h.asks {
		if to.worker != "" && a.worker == to.worker {
			to.tell(store.Notice{Kind: store.NoticeAsked, Task: a.task})
		}
	}
	if many {
		for id := range w.follows {
			to.tell(store.Notice{Kind: store.NoticeTask, Task: id})
		}
		return
	}
	for _, t := range h.tasks {
		if w.follows[t.id] > 0 {
			to.tell(store.Notice{Kind: store.NoticeTask, Task: t.id, Moving: t.moves})
		}
	}
}

// publish tells watchers what a step has changed.
func (s *Store) publish(h *hints) {
	if h.empty() {
		return
	}
	w := s.watch
	w.mu.Lock()
	for _, to := range w.watchers {
		w.hear(to, h, false)
	}
	w.mu.Unlock()
	if !s.cfg.Local {
		w.peers.send(h)
	}
}

// Watch calls fn for each notice until ctx ends.
func (s *Store) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) (err error) {
	to := &watcher{worker: worker, queues: slices.Clone(queues), notices: make(chan store.Notice, 64), missed: make(chan struct{}, 1)}
	defer s.watch.join(to)()
	if !s.cfg.Local {
		pipe, err := s.watch.peers.listen()
		if err != nil {
			return err
		}
		var reading sync.WaitGroup
		reading.Go(func() { pipe.read(func(piece []byte) []byte { return s.watch.hearPiece(to, piece) }) })
		defer func() {
			err = errors.Join(err, pipe.close())
			reading.Wait()
		}()
	}
	fn(store.Notice{Kind: store.NoticeStart})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return store.ErrClosed
		case <-to.missed:
			fn(store.Notice{Kind: store.NoticeStart})
		case n := <-to.notices:
			fn(n)
		}
	}
}

// join adds a watcher; leave takes it out again.
func (w *watch) join(to *watcher) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers = append(w.watchers, to)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watchers = slices.DeleteFunc(w.watchers, func(o *watcher) bool { return o == to })
	}
}

// hearPiece reads what another process has sent, and returns what is not whole yet.
func (w *watch) hearPiece(to *watcher, piece []byte) []byte {
	var h hints
	many := false
	for {
		kind, id, name, rest, ok := nextHint(piece)
		if !ok {
			break
		}
		piece = rest
		switch kind {
		case hintAll:
			h.all = true
		case hintWork:
			h.work(name)
		case hintTask:
			h.task(id, false)
		case hintMany:
			many = true
		case hintAsk:
			h.asked(id, name)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hear(to, &h, many)
	return piece
}

// Follow asks that changes of a task be noticed on this handle.
func (s *Store) Follow(id store.ID) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.follows[id]++
}

// Unfollow takes a Follow back.
func (s *Store) Unfollow(id store.ID) {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if s.watch.follows[id]--; s.watch.follows[id] <= 0 {
		delete(s.watch.follows, id)
	}
}
