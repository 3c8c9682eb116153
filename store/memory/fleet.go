package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// worker is an incarnation and what vouches for it.
type worker struct {
	store.Worker
	remote  bool
	handle  *Store // nil if remote
	session *session
	goneAt  time.Time // when its session was first seen gone; zero: it was not
	seenAt  time.Time // when its session was last seen
	vouched bool      // one whose session is old enough has seen it gone
}

// session stands for the connection that ends with its process.
type session struct{ since time.Time }

// alive returns a worker that may beat and claim, or nil.
func (d *data) alive(id string) *worker {
	if w := d.workers[id]; w != nil && w.DeadAt.IsZero() {
		return w
	}
	return nil
}

// Join creates a worker.
func (s *Store) Join(ctx context.Context, req store.JoinRequest) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if req.ID == "" || req.Beat <= 0 || req.DeadAfter <= 0 || req.Beat > req.DeadAfter/5 {
		return fmt.Errorf("%w: worker %q with beat %v and dead-after %v; it needs an id and a beat of at most a fifth of dead-after",
			store.ErrInvalid, req.ID, req.Beat, req.DeadAfter)
	}
	if s.d.workers[req.ID] != nil {
		return fmt.Errorf("worker %s: %w", req.ID, store.ErrDuplicate)
	}
	info := req.Info
	info.Slots, info.Kinds = maps.Clone(info.Slots), slices.Clone(info.Kinds)
	w := &worker{
		Worker: store.Worker{
			ID: req.ID, Beat: req.Beat, DeadAfter: req.DeadAfter, Info: info, Evidence: store.EvidenceNone,
			JoinedAt: s.d.now, BeatAt: s.d.now,
		},
		remote: req.Remote,
	}
	if !req.Remote {
		w.Evidence, w.handle, w.session = s.d.cfg.Evidence, s, &session{s.d.now}
	}
	s.d.workers[req.ID] = w
	return nil
}

// Beat keeps a worker alive.
func (s *Store) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.BeatResult{}, err
	}
	defer leave()
	d := s.d
	w := d.alive(req.Worker)
	if w == nil {
		return store.BeatResult{}, deadError(req.Worker)
	}
	w.BeatAt, w.Load, w.goneAt, w.vouched = d.now, req.Load, time.Time{}, false
	if w.session == nil && w.handle == s {
		w.session = &session{d.now}
	}
	shortest, _ := d.shortest()
	d.beatPulse(shortest / 3)
	res := store.BeatResult{Evidence: w.Evidence, Ripe: d.isRipe(), Every: d.every(w)}
	_, wait := d.dueSchedules(1)
	res.Ticks = wait == 0
	for _, q := range req.Queues {
		for _, l := range d.lanes(q, req.Kinds) {
			open := d.blocked(l) == ""
			res.Work = res.Work || open && !l.suspect
			res.Suspects = res.Suspects || open && l.suspect
		}
	}
	res.Suspects = res.Suspects && d.suspectTurn(w)
	for _, t := range d.holds(w.ID) {
		if t.Asked != "" && !t.Told {
			res.Asked = append(res.Asked, heldTask(t))
		}
	}
	return res, nil
}

// shortest returns the shortest DeadAfter of the living, and how many they are.
func (d *data) shortest() (time.Duration, int) {
	shortest, living := time.Duration(1<<62), 0
	for _, w := range d.workers {
		if w.DeadAt.IsZero() {
			shortest = min(shortest, w.DeadAfter)
			living++
		}
	}
	return shortest, living
}

// every is how long a worker is told to wait between beats.
func (d *data) every(w *worker) time.Duration {
	shortest, living := d.shortest()
	return min(max(w.Beat, spread(living)), shortest/5)
}

// spread keeps the beats of a large fleet to two hundred a second.
func spread(living int) time.Duration { return time.Duration(living) * time.Second / 200 }

// beatPulse keeps the pulse of the fleet: a gap begins it anew, as nobody could beat while the store was away. A beat that was overtaken by
// another changes nothing.
func (d *data) beatPulse(gap time.Duration) {
	switch ago := d.now.Sub(d.pulseLast); {
	case ago > gap || -ago > gap:
		d.pulseSince, d.pulseLast = d.now, d.now
	case ago > 0:
		d.pulseLast = d.now
	}
}

// suspectTurn gives the turn at suspects to one worker at a time.
func (d *data) suspectTurn(w *worker) bool {
	if !d.suspectAt.After(d.now) && d.now.Sub(d.suspectAt) < w.DeadAfter {
		return false
	}
	d.suspectAt = d.now
	return true
}

// Leave marks a worker as left and puts its tasks back.
func (s *Store) Leave(ctx context.Context, id string) (bool, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	w := s.d.workers[id]
	if w == nil {
		return false, nil
	}
	s.d.die(w, store.DeathLeft)
	tasks := s.d.holds(id)
	for _, t := range tasks[:min(len(tasks), chunk)] {
		s.d.putBack(t, w)
	}
	return len(tasks) > chunk, nil
}

// die marks a worker as dead, once and for ever.
func (d *data) die(w *worker, how store.Death) {
	if !w.DeadAt.IsZero() {
		return
	}
	w.DeadAt, w.Death, w.session = d.now, how, nil
	w.HeldAt = len(d.holds(w.ID))
}

// holds lists what a worker holds, by id.
func (d *data) holds(id string) []*task {
	h := d.held[id]
	if h == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(h.tasks), func(a, b *task) int {
		if byID(a, b) {
			return -1
		}
		return 1
	})
}

func heldTask(t *task) store.HeldTask {
	return store.HeldTask{Fence: t.Fence(), Kind: t.Kind, Asked: t.Asked}
}

// Holds lists what a worker holds.
func (s *Store) Holds(ctx context.Context, id string) ([]store.HeldTask, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.HeldTask
	for _, t := range s.d.holds(id) {
		list = append(list, heldTask(t))
	}
	return list, nil
}

// Workers lists all that are on record.
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Worker
	for _, id := range slices.Sorted(maps.Keys(s.d.workers)) {
		list = append(list, s.d.workers[id].Worker)
	}
	return list, nil
}
