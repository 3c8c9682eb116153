package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/outlast-go/outlast/store"
)

// watcher is somebody who wants to hear of changes.
type watcher struct {
	handle *Store
	worker string
	queues []string
	fn     func(store.Notice)
}

// tell hands a notice on if it is for this watcher. It is called without the lock.
func (w *watcher) tell(n store.Notice) {
	d := w.handle.d
	d.mu.Lock()
	wanted := !w.handle.gone && w.wants(n)
	d.mu.Unlock()
	if wanted {
		w.fn(n)
	}
}

func (w *watcher) wants(n store.Notice) bool {
	switch n.Kind {
	case store.NoticeWork:
		return slices.Contains(w.queues, n.Queue)
	case store.NoticeTask:
		return w.handle.follows[n.Task] > 0
	}
	t := w.handle.d.tasks[n.Task]
	return t != nil && w.worker != "" && t.Worker == w.worker
}

// notice notes what watchers are told when the step is left. The same is told once per step.
func (d *data) notice(n store.Notice) {
	if len(d.watchers) > 0 && !slices.Contains(d.notices, n) {
		d.notices = append(d.notices, n)
	}
}

// noticeAll tells of every queue: a limit or a pause has changed, and it may open any of them.
func (d *data) noticeAll() {
	for _, w := range d.watchers {
		for _, q := range w.queues {
			d.notice(store.Notice{Kind: store.NoticeWork, Queue: q})
		}
	}
}

// OnNotice calls fn for each notice until stop is called, in the goroutine of the step that gives it, once the step is over.
func (s *Store) OnNotice(worker string, queues []string, fn func(store.Notice)) (stop func()) {
	w := &watcher{handle: s, worker: worker, queues: slices.Clone(queues), fn: fn}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.watchers = append(slices.Clone(s.d.watchers), w)
	return func() {
		s.d.mu.Lock()
		defer s.d.mu.Unlock()
		s.d.watchers = slices.DeleteFunc(slices.Clone(s.d.watchers), func(o *watcher) bool { return o == w })
	}
}

// Watch calls fn for each notice until ctx ends. A reader that falls behind is told each thing once.
func (s *Store) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	var mu sync.Mutex
	var waiting []store.Notice
	pending := map[store.Notice]bool{}
	more := make(chan struct{}, 1)
	stop := s.OnNotice(worker, queues, func(n store.Notice) {
		mu.Lock()
		if !pending[n] {
			pending[n] = true
			waiting = append(waiting, n)
		}
		mu.Unlock()
		select {
		case more <- struct{}{}:
		default: // it will look
		}
	})
	defer stop()
	fn(store.Notice{Kind: store.NoticeStart})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
		mu.Lock()
		list := waiting
		waiting = nil
		clear(pending)
		mu.Unlock()
		for _, n := range list {
			fn(n)
		}
	}
}

// Follow asks that changes of a task be noticed on this handle.
func (s *Store) Follow(id store.ID) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.follows[id]++
}

// Unfollow takes a Follow back.
func (s *Store) Unfollow(id store.ID) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.follows[id]--; s.follows[id] <= 0 {
		delete(s.follows, id)
	}
}
