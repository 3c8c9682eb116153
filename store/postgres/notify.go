package postgres

import (
	"context"
	"sync"
	"time"
)

// notifyEvery is how often a handle sends notices at most. The first after a quiet time goes at once; what comes within this time after
// it goes together at its end.
const notifyEvery = 10 * time.Millisecond

// notifier sends notices to other processes, after the steps that they tell of: a commit that notifies would wait for all others that do.
// A process that dies in between has lost a hint, and the next beat tells of the work.
type notifier struct {
	s *Store

	mu      sync.Mutex
	waiting hints
	active  bool
}

func newNotifier(s *Store) *notifier { return &notifier{s: s} }

func (n *notifier) send(h *hints) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting.add(h)
	if n.active || n.s.closed.Load() {
		return
	}
	n.active = true
	n.s.crew.Go(n.run)
}

// run sends until there was nothing to send for a while.
func (n *notifier) run() {
	for {
		n.mu.Lock()
		h := n.waiting
		n.waiting = hints{}
		if h.empty() {
			n.active = false
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		n.sendAll(h)
		timer := time.NewTimer(notifyEvery)
		select {
		case <-n.s.closing:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (n *notifier) sendAll(h hints) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	h.From = n.s.watch.handle
	for _, text := range h.texts() {
		if _, err := n.s.pool.Exec(ctx, n.s.q.get("notify"), n.s.channel(), text); err != nil {
			return // a hint that is lost: a beat tells of the work
		}
	}
}

// channel is where the notices of a namespace are told.
func (s *Store) channel() string { return "outlast:" + s.cfg.Namespace }

// publish tells watchers what a step has changed: those of this handle, and through the server those of others.
func (s *Store) publish(h *hints) {
	if h.empty() {
		return
	}
	s.watch.hearAll(h)
	if s.session != nil { // behind a pooler nobody can listen
		s.notify.send(h)
	}
}

// publishWire is publish for what a step has answered.
func (s *Store) publishWire(w *wireHints) {
	h := w.read()
	s.publish(&h)
}
