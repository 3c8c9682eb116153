package sqlite

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// sums is what a step adds to counts. They are written once per transaction, however many operations it holds.
type sums struct {
	minutes map[minuteKey]*store.Minute
	queues  map[string]*tally
}

type minuteKey struct {
	at          time.Time
	queue, kind string
}

// tally is by how much the numbers of tasks of a queue have changed.
type tally struct{ total, ready, scheduled, parked, running int64 }

func newSums() sums { return sums{map[minuteKey]*store.Minute{}, map[string]*tally{}} }

// count adds to the minute's statistics of a task's queue and kind.
func (s *step) count(t *task, fn func(*store.Minute)) {
	k := minuteKey{s.now.Truncate(time.Minute), t.Queue, t.Kind}
	m := s.sums.minutes[k]
	if m == nil {
		m = &store.Minute{}
		s.sums.minutes[k] = m
	}
	fn(m)
}

func (s *step) tally(queue string) *tally {
	q := s.sums.queues[queue]
	if q == nil {
		q = &tally{}
		s.sums.queues[queue] = q
	}
	return q
}

// tallyState counts a task into a state of its queue (1), or out of it (-1).
func (s *step) tallyState(t *task, n int64) {
	q := s.tally(t.Queue)
	switch t.State {
	case store.Ready:
		q.ready += n
	case store.Scheduled:
		q.scheduled += n
	case store.Parked:
		q.parked += n
	case store.Running:
		q.running += n
	}
}

func (s *step) flushSums() {
	for k, m := range s.sums.minutes {
		s.do("minute_add", k.at, k.queue, k.kind,
			m.Submitted, m.Claimed, m.Done, m.Failed, m.Cancelled, m.Retried, m.Crashed, m.Waited, m.Ran)
	}
	for name, q := range s.sums.queues {
		if *q == (tally{}) {
			continue
		}
		s.do("queue_add", name, q.total, q.ready, q.scheduled, q.parked, q.running)
		if q.total < 0 {
			s.do("queue_drop", name)
		}
	}
	s.sums = newSums()
}
