package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// queue holds its lanes that have ready tasks, by kind and name.
type queue struct {
	kinds map[string]map[string]*lane
}

// lane is the ready tasks of one queue, kind, lane key, limit key, order and suspicion. It exists while it has some.
type lane struct {
	queue, kind, key, limit string
	name                    string
	suspect                 bool
	line                    *line // of an ordered lane
	ready                   taskHeap
}

type lineKey struct{ queue, kind, lane, limit string }

// line is all tasks of an ordered lane that have not ended, suspects or not, oldest first. Only its head may run.
type line struct {
	tasks   taskHeap
	running int
}

type weightKey struct{ queue, lane string }

func lineOf(t *task) lineKey { return lineKey{t.Queue, t.Kind, t.Lane, t.Limit} }

func (d *data) joinLine(t *task) {
	if t.Order == store.Unordered {
		return
	}
	l := d.lines[lineOf(t)]
	if l == nil {
		l = &line{tasks: taskHeap{slot: slotLine, less: byID}}
		d.lines[lineOf(t)] = l
	}
	l.tasks.add(t)
}

// leaveLine is called when a task has ended: one that failed in a lane that blocks stays where it is.
func (d *data) leaveLine(t *task) {
	l := d.lines[lineOf(t)]
	if t.Order == store.Unordered || l == nil || t.Order == store.OrderBlock && t.State == store.Failed {
		return
	}
	if t.Order == store.OrderFail && t.State == store.Failed && t.Reason != store.ReasonOrder {
		if d.breaks[lineOf(t)] == nil {
			d.breaks[lineOf(t)] = map[store.ID]*task{}
		}
		d.breaks[lineOf(t)][t.ID] = t
	}
	l.tasks.remove(t)
	d.dropLine(lineOf(t), l)
}

// mendLine forgets that a task has failed the rest of its line: it is retried or deleted.
func (d *data) mendLine(t *task) {
	delete(d.breaks[lineOf(t)], t.ID)
	if len(d.breaks[lineOf(t)]) == 0 {
		delete(d.breaks, lineOf(t))
	}
}

// broken reports whether a task fails because one before it in its line did.
func (d *data) broken(t *task) bool {
	if t.Order != store.OrderFail {
		return false
	}
	for _, f := range d.breaks[lineOf(t)] {
		if byID(f, t) && !f.EndedAt.Before(t.CreatedAt) {
			return true
		}
	}
	return false
}

// dropLine forgets a line that is empty, and tells that its next head may be claimed.
func (d *data) dropLine(k lineKey, l *line) {
	if l.tasks.len() == 0 {
		delete(d.lines, k)
		return
	}
	d.notice(store.Notice{Kind: store.NoticeWork, Queue: k.queue})
}

// enqueue puts a task into its lane.
func (d *data) enqueue(t *task) {
	q := d.queues[t.Queue]
	if q == nil {
		q = &queue{kinds: map[string]map[string]*lane{}}
		d.queues[t.Queue] = q
	}
	if q.kinds[t.Kind] == nil {
		q.kinds[t.Kind] = map[string]*lane{}
	}
	name := store.LaneName(t.Kind, t.Lane, t.Limit, t.Order, t.Suspect)
	l := q.kinds[t.Kind][name]
	if l == nil {
		l = &lane{queue: t.Queue, kind: t.Kind, key: t.Lane, limit: t.Limit, name: name, suspect: t.Suspect}
		l.ready = taskHeap{slot: slotLane, less: laneOrder}
		if t.Order != store.Unordered {
			l.line, l.ready.less = d.lines[lineOf(t)], byID
		}
		q.kinds[t.Kind][name] = l
	}
	l.ready.add(t)
	t.lane = l
	d.notice(store.Notice{Kind: store.NoticeWork, Queue: t.Queue})
}

func (d *data) dequeue(t *task) {
	l := t.lane
	t.lane = nil
	l.ready.remove(t)
	if l.ready.len() > 0 {
		return
	}
	q := d.queues[l.queue]
	delete(q.kinds[l.kind], l.name)
	if len(q.kinds[l.kind]) == 0 {
		delete(q.kinds, l.kind)
	}
	if len(q.kinds) == 0 {
		delete(d.queues, l.queue)
	}
}

// laneOrder is the order inside a lane: priority, due, id.
func laneOrder(a, b *task) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return earlier(a, b, a.DueAt, b.DueAt)
}

// blocked says why no claim may take from a lane now; empty: one may.
func (d *data) blocked(l *lane) string {
	switch {
	case l.line != nil && (l.line.running > 0 || l.line.tasks.head() != l.ready.head()):
		return "order"
	case d.paused(l.queue, l.kind, l.key):
		return "paused"
	case !d.opens(l.ready.head()).IsZero():
		return "limit"
	}
	return ""
}

func (d *data) paused(queue, kind, key string) bool {
	for scope, p := range d.pauses {
		if scope.Matches(queue, kind, key) && (p.Until.IsZero() || p.Until.After(d.now)) {
			return true
		}
	}
	return false
}

func (d *data) weight(l *lane) int { return max(d.weights[weightKey{l.queue, l.key}], 1) }

// Pause keeps claims away from a scope.
func (s *Store) Pause(ctx context.Context, scope store.Scope, dur time.Duration, reason string) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p := store.Pause{Scope: scope, Reason: reason, At: s.d.now}
	if dur > 0 {
		p.Until = s.d.now.Add(dur)
	}
	s.d.pauses[scope] = p
	return nil
}

// Resume ends the pause of exactly this scope.
func (s *Store) Resume(ctx context.Context, scope store.Scope) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if _, ok := s.d.pauses[scope]; ok {
		delete(s.d.pauses, scope)
		s.d.noticeAll()
	}
	return nil
}

// PauseList lists the pauses that stand.
func (s *Store) PauseList(ctx context.Context) ([]store.Pause, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Pause
	for scope, p := range s.d.pauses {
		if !p.Until.IsZero() && !p.Until.After(s.d.now) {
			delete(s.d.pauses, scope)
			continue
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b store.Pause) int {
		return strings.Compare(a.Scope.Queue+"\x00"+a.Scope.Kind+"\x00"+a.Scope.Lane, b.Scope.Queue+"\x00"+b.Scope.Kind+"\x00"+b.Scope.Lane)
	})
	return list, nil
}

// PutWeight sets how many tasks lanes with this key give in a turn.
func (s *Store) PutWeight(ctx context.Context, queue, key string, weight int) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.d.weights[weightKey{queue, key}] = max(weight, 1)
	return nil
}

// LaneList pages through the lanes of a queue that have ready tasks.
func (s *Store) LaneList(ctx context.Context, name string, page store.PageRequest) (store.Page[store.LaneStatus], error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Page[store.LaneStatus]{}, err
	}
	defer leave()
	var lanes []*lane
	if q := s.d.queues[name]; q != nil {
		for _, byName := range q.kinds {
			lanes = slices.AppendSeq(lanes, maps.Values(byName))
		}
	}
	return cut(lanes, page, func(l *lane) string { return l.name }, s.d.laneStatus), nil
}

func (d *data) laneStatus(l *lane) store.LaneStatus {
	head := l.ready.head()
	return store.LaneStatus{
		Queue: l.queue, Kind: l.kind, Lane: l.key, Limit: l.limit, Ordered: l.line != nil, Suspect: l.suspect,
		Ready: int64(l.ready.len()), Priority: head.Priority, OldestAt: head.ReadyAt, Weight: d.weight(l), Blocked: d.blocked(l),
	}
}
