package postgres

import (
	"context"
	"time"
)

// Every claim and every ending leaves a dead row and its index entries behind, before the head of its lane, where every claim looks first.
// The server's own vacuum comes once a minute, whatever the load; so a handle that has moved many tasks cleans up after itself.
const (
	vacuumAfter = 10_000           // tasks moved by a handle
	vacuumEvery = 2 * time.Second  // of the whole fleet
	vacuumLimit = 60 * time.Second // how long it may take
)

// moved counts tasks that a handle has claimed or ended, and cleans up when they are many.
func (s *Store) moved(n int) {
	if n == 0 || s.churn.Add(int64(n)) < vacuumAfter {
		return
	}
	s.notify.mu.Lock() // as for notices: nothing is begun once the handle is being closed
	defer s.notify.mu.Unlock()
	if s.closed.Load() || s.churn.Load() < vacuumAfter {
		return
	}
	s.churn.Store(0)
	s.crew.Go(s.vacuum)
}

// vacuum cleans the table of live tasks, unless another did just now.
func (s *Store) vacuum() {
	ctx, cancel := context.WithTimeout(context.Background(), vacuumLimit)
	defer cancel()
	var mine bool
	if err := s.pool.QueryRow(ctx, s.q.get("vacuum_gate"), vacuumEvery.Nanoseconds()).Scan(&mine); err != nil || !mine {
		return // the next that has moved many tries again
	}
	// It reads and writes no record; if it fails the server's own comes later.
	_, _ = s.pool.Exec(ctx, s.q.get("vacuum"))
}
