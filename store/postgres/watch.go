package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// watch is who wants to hear of changes on this handle.
type watch struct {
	s      *Store
	handle string // by which the server knows that it follows tasks

	mu       sync.Mutex
	watchers []*watcher
	follows  map[store.ID]int
	told     time.Time // when the server was last told that it follows some
}

func newWatch(s *Store) *watch { return &watch{s: s, handle: rand.Text(), follows: map[store.ID]int{}} }

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

func (w *watch) hearAll(h *hints) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, to := range w.watchers {
		w.hear(to, h)
	}
}

// hearText reads what another process has sent. What comes back of the handle's own its watchers have heard.
func (w *watch) hearText(text string) {
	var h hints
	if json.Unmarshal([]byte(text), &h) == nil && h.From != w.handle {
		w.hearAll(&h)
	}
}

// lost tells all that notices may have been missed.
func (w *watch) lost() { w.hearAll(&hints{All: true, Many: true}) }

// Watch calls fn for each notice until ctx ends.
func (s *Store) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	to := &watcher{worker: worker, queues: slices.Clone(queues), notices: make(chan store.Notice, 64), missed: make(chan struct{}, 1)}
	defer s.watch.join(to)()
	if s.session != nil {
		if err := s.session.wait(ctx); err != nil {
			return err
		}
	} else {
		polling, cancel := context.WithCancel(ctx)
		var g sync.WaitGroup
		g.Go(func() { s.poll(polling, to) })
		defer g.Wait()
		defer cancel()
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

// pollEvery is how often a watcher looks that cannot listen.
const pollEvery = 250 * time.Millisecond

type pollRequest struct {
	Queues []string `json:"queues"`
	Worker string   `json:"worker"`
	Tasks  []string `json:"tasks"`
}

type pollAnswer struct {
	Queues []string         `json:"queues"`
	Due    *int64           `json:"due"`
	Asked  []string         `json:"asked"`
	Tasks  map[string]int64 `json:"tasks"`
}

// poll looks for what a watcher would have been told, until ctx ends.
func (s *Store) poll(ctx context.Context, to *watcher) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var before pollAnswer
	for {
		req := pollRequest{Queues: to.queues, Worker: to.worker, Tasks: s.watch.followed()}
		if req.Queues == nil {
			req.Queues = []string{}
		}
		var got pollAnswer
		if err := ask(ctx, s.pool, s.q.get("poll"), req, &got); err == nil {
			h := hints{Queues: got.Queues}
			if got.Due != nil && (before.Due == nil || *got.Due < *before.Due) {
				h.Queues = to.queues // something is due sooner
			}
			for _, id := range got.Asked {
				h.Asked = append(h.Asked, [2]string{id, to.worker})
			}
			for id, version := range got.Tasks {
				if was, known := before.Tasks[id]; !known || was != version {
					h.Tasks = append(h.Tasks, id)
				}
			}
			s.watch.mu.Lock()
			s.watch.hear(to, &h)
			s.watch.mu.Unlock()
			before = got
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *watch) followed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]string, 0, len(w.follows))
	for id := range w.follows {
		list = append(list, id.String())
	}
	return list
}

// Follow asks that changes of a task be noticed on this handle. The first one tells the server that somebody follows; if it cannot be
// told, waiters look from time to time.
func (s *Store) Follow(id store.ID) {
	w := s.watch
	w.mu.Lock()
	w.follows[id]++
	tell := s.session != nil && time.Since(w.told) > followAgain
	if tell {
		w.told = time.Now()
	}
	w.mu.Unlock()
	if tell {
		s.tellFollow()
	}
}

// followAgain is how long the server may go on without being told again.
const followAgain = 20 * time.Second

func (s *Store) tellFollow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// If it fails the next Follow, or the session's next look, tries again.
	if _, err := s.pool.Exec(ctx, s.q.get("follow"), s.watch.handle); err != nil {
		s.watch.mu.Lock()
		s.watch.told = time.Time{}
		s.watch.mu.Unlock()
	}
}

// keepFollowing tells the server again, if tasks are followed and it is time.
func (s *Store) keepFollowing() {
	w := s.watch
	w.mu.Lock()
	tell := len(w.follows) > 0 && time.Since(w.told) > followAgain
	if tell {
		w.told = time.Now()
	}
	w.mu.Unlock()
	if tell {
		s.tellFollow()
	}
}

// Unfollow takes a Follow back.
func (s *Store) Unfollow(id store.ID) {
	w := s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follows[id]--; w.follows[id] <= 0 {
		delete(w.follows, id)
	}
}
