package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// Claim takes ready tasks.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	return write(ctx, s, func(s *step) (store.ClaimResult, error) { return s.claim(req) })
}

func (s *step) claim(req store.ClaimRequest) (store.ClaimResult, error) {
	if !s.alive(req.Worker) {
		return store.ClaimResult{}, deadError(req.Worker)
	}
	if req.Repeat {
		return store.ClaimResult{Tasks: s.repeat(&req), Again: true}, nil
	}
	res := store.ClaimResult{Cursors: map[string]string{}}
	more := s.promoteDue(chunk) == chunk
	pick := picker{s: s, req: &req, res: &res, ends: chunk}
	switch {
	case req.Suspects > 0:
		pick.suspects()
	default:
		for _, q := range req.Queues {
			pick.queue(q, q.Slots)
		}
	}
	res.Tasks = slices.Grow(res.Tasks, len(pick.taken))
	for _, t := range pick.taken {
		res.Tasks = append(res.Tasks, given(t)) // as the whole step leaves it: an end further on may have woken it
	}
	res.Again = pick.more || more
	res.Next = s.next(req, pick.rounds)
	return res, nil
}

// repeat answers a claim whose answer was lost: what still runs under its nonce.
func (s *step) repeat(req *store.ClaimRequest) []store.Task {
	var tasks []store.Task
	for _, t := range s.list("task_held", req.Worker, -1) {
		if t.Nonce == req.Nonce {
			tasks = append(tasks, given(t))
		}
	}
	return tasks
}

// next tells when it is worth to claim again. Of a queue with few lanes all are looked at, of others those that the claim has met.
func (s *step) next(req store.ClaimRequest, met []*round) time.Duration {
	at := never
	if due := s.nextDue(); !due.IsZero() {
		at = due
	}
	for i, q := range req.Queues {
		r := s.round(q.Queue, req.Kinds, store.Turn{}, few+1)
		if !r.whole && i < len(met) {
			r = met[i]
		}
		for _, l := range r.lanes {
			if l.ready <= 0 {
				continue
			}
			s.fresh(l)
			if opens := s.opens(l.limit, l.charged); !opens.IsZero() && opens.Before(at) {
				at = opens
			}
		}
	}
	for _, p := range s.pauses() {
		if p.Until.After(s.now) && p.Until.Before(at) {
			at = p.Until
		}
	}
	if at.Equal(never) {
		return 0
	}
	return max(at.Sub(s.now), 1)
}

// nextDue tells when the next scheduled or parked task is due; zero: none is.
func (s *step) nextDue() (at time.Time) {
	s.flushTasks()
	s.query("task_next_due", func(r *sqlite.Stmt) { at = instant(r.ColumnInt64(0)) })
	return at
}

// claimOne makes a task run under a new fence.
func (s *step) claimOne(t *task, req *store.ClaimRequest) {
	s.count(t, func(m *store.Minute) {
		m.Claimed++
		m.Waited += max(s.now.Sub(t.ReadyAt), 0) // the clock may have been stepped back
	})
	s.exit(t)
	s.company(req.Worker)
	t.StartByAt = time.Time{}
	t.Epoch++
	t.Nonce, t.Worker, t.StartedAt, t.Told = req.Nonce, req.Worker, s.now, t.Asked != ""
	t.Alone, t.Saves = s.holds(req.Worker) == 0 && !req.Company, 0
	if t.Timeout > 0 {
		t.DeadlineAt = s.now.Add(t.Timeout)
	}
	t.State = "" // it is nowhere now
	s.move(t, store.Running)
	s.event(t, store.EventClaimed, "")
}

// holds counts what a worker holds.
func (s *step) holds(worker string) int {
	if _, ok := s.held[worker]; !ok {
		s.flushTasks()
		s.held[worker] = int(s.number("task_held_count", worker))
	}
	return s.held[worker]
}

// hold counts a task into what a worker holds (1), or out of it (-1), if that was asked for in this step.
func (s *step) hold(worker string, n int) {
	if _, ok := s.held[worker]; ok {
		s.held[worker] += n
	}
}

// company takes it back that a task was claimed alone: another has come with it.
func (s *step) company(worker string) {
	if s.holds(worker) != 1 {
		return
	}
	if t := s.first("task_held", worker, 1); t != nil && t.Alone {
		t.Alone = false
		s.change(t)
	}
}

// given is a task as a claimer gets it.
func given(t *task) store.Task {
	c := t.Task
	c.History = nil
	return c.Clone()
}

func deadError(worker string) error { return fmt.Errorf("worker %s: %w", worker, store.ErrDead) }
