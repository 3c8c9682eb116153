package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// worker is an incarnation and what vouches for it.
type worker struct {
	store.Worker
	inode         int64 // of its lock file; 0: it has none
	machine, boot string
	doubt         int64 // about its file: while that says this, it has beaten at BeatAt
}

func readWorker(r *sqlite.Stmt) (*worker, error) {
	w := &worker{
		Worker: store.Worker{
			ID: r.ColumnText(0), Beat: time.Duration(r.ColumnInt64(1)), DeadAfter: time.Duration(r.ColumnInt64(2)),
			JoinedAt: instant(r.ColumnInt64(3)), BeatAt: instant(r.ColumnInt64(4)), DeadAt: instant(r.ColumnInt64(5)),
			Death: store.Death(r.ColumnText(6)), HeldAt: r.ColumnInt(7), Evidence: store.EvidenceKind(r.ColumnText(8)),
		},
		inode: r.ColumnInt64(9), machine: r.ColumnText(10), boot: r.ColumnText(11), doubt: r.ColumnInt64(14),
	}
	if err := json.Unmarshal([]byte(r.ColumnText(12)), &w.Info); err != nil {
		return nil, fmt.Errorf("worker %s: %w", w.ID, err)
	}
	if err := json.Unmarshal([]byte(r.ColumnText(13)), &w.Load); err != nil {
		return nil, fmt.Errorf("worker %s: %w", w.ID, err)
	}
	return w, nil
}

// knownWorkers lists those on record.
func knownWorkers(c *conn) (ids []string, err error) {
	err = c.each("worker_all", func(r *sqlite.Stmt) { ids = append(ids, r.ColumnText(0)) })
	return ids, err
}

// alive reports whether a worker may beat and claim.
func (s *step) alive(id string) bool { return s.number("worker_alive", id) != 0 }

// worker returns the worker of that id, or nil.
func (s *step) worker(id string) *worker {
	list := s.workers("worker_get", id)
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func (s *step) workers(name string, args ...any) (list []*worker) {
	s.query(name, func(r *sqlite.Stmt) {
		w, err := readWorker(r)
		if err != nil {
			s.fail(err)
			return
		}
		list = append(list, w)
	}, args...)
	return list
}

// Join creates a worker. Its lock file is there, and locked, before its record is.
func (s *Store) Join(ctx context.Context, req store.JoinRequest) error {
	if req.ID == "" || req.Beat <= 0 || req.DeadAfter <= 0 || req.Beat > req.DeadAfter/5 {
		return fmt.Errorf("%w: worker %q with beat %v and dead-after %v; it needs an id and a beat of at most a fifth of dead-after",
			store.ErrInvalid, req.ID, req.Beat, req.DeadAfter)
	}
	kind, on := s.locks.kind, s.host
	if req.Remote {
		kind, on = store.EvidenceNone, host{}
	}
	inode, held, err := s.locks.take(req.ID, req.Remote)
	if err != nil {
		return fmt.Errorf("join worker %s: %w", req.ID, err)
	}
	err = s.write(ctx, func(s *step) error {
		if s.worker(req.ID) != nil {
			return fmt.Errorf("worker %s: %w", req.ID, store.ErrDuplicate)
		}
		s.do("worker_insert", req.ID, req.Beat, req.DeadAfter, s.now, string(kind), inode,
			on.machine, on.boot, s.json(req.Info), s.json(store.Load{}))
		return nil
	})
	// After an error that is no answer the worker may have joined: then it must not look dead.
	if err != nil && store.Answered(err) && !held {
		s.locks.forget(req.ID)
	}
	return err
}

// Beat keeps a worker alive. It is noted in a file before the record is read: a worker that reads that it lives cannot be found
// silent by anybody who looks later.
func (s *Store) Beat(ctx context.Context, req store.BeatRequest) (res store.BeatResult, err error) {
	inode, err := s.locks.renew(req.Worker)
	if err != nil {
		return res, fmt.Errorf("beat of worker %s: %w", req.Worker, err)
	}
	recorded := inode
	err = s.read(ctx, func(v *view) error {
		if err := v.known(); err != nil {
			return err // and its file says nothing: others take over what it holds
		}
		st := newStep(s, v.conn)
		st.now = v.now
		w := st.worker(req.Worker)
		if w == nil || !w.DeadAt.IsZero() {
			return errors.Join(st.err, deadError(req.Worker))
		}
		recorded = w.inode
		res = st.beat(w, req)
		return st.err
	})
	if err != nil || inode == 0 || inode == recorded {
		return res, err
	}
	// What vouches for the worker was lost, and is there again; whether this is written now or with the next beat is all one.
	_ = s.write(ctx, func(st *step) error {
		st.do("worker_inode", req.Worker, inode)
		return nil
	})
	return res, nil
}

// beat answers a beat. The step reads only.
func (s *step) beat(w *worker, req store.BeatRequest) (res store.BeatResult) {
	shortest, living := s.shortest()
	if err := s.s.noteBeat(w.ID, req.Load, s.now, shortest/3); err != nil {
		s.fail(err)
		return res
	}
	res = store.BeatResult{Evidence: w.Evidence, Ripe: s.isRipe(), Every: min(max(w.Beat, spread(living)), shortest/5)}
	s.query("schedule_next", func(r *sqlite.Stmt) { res.Ticks = !instant(r.ColumnInt64(0)).After(s.now) })
	for _, q := range req.Queues {
		res.Work = res.Work || s.anyOpen(s.round(q, req.Kinds, store.Turn{}, few))
		res.Suspects = res.Suspects || slices.ContainsFunc(s.suspectLanes(q, req.Kinds), func(l *lane) bool { return s.blocked(l) == "" })
	}
	res.Suspects = res.Suspects && s.s.fleet.takeSuspects(s.now, w.DeadAfter)
	for _, t := range s.list("task_asked", w.ID) {
		if t.Asked != "" && !t.Told {
			res.Asked = append(res.Asked, heldTask(t))
		}
	}
	return res
}

// shortest returns the shortest DeadAfter of the living, and how many they are.
func (s *step) shortest() (dead time.Duration, living int) {
	dead = 1 << 62
	s.query("worker_shortest", func(r *sqlite.Stmt) {
		if living = r.ColumnInt(1); living > 0 {
			dead = time.Duration(r.ColumnInt64(0))
		}
	})
	return dead, living
}

// spread keeps the beats of a large fleet to two hundred a second.
func spread(living int) time.Duration { return time.Duration(living) * time.Second / 200 }

// Instants that the whole fleet shares.
const (
	recoverAt = "recovered at"
	recoverBy = "recovered by one who joined at"
)

func (s *step) instant(name string) (at time.Time) {
	s.query("meta_get", func(r *sqlite.Stmt) { at = instant(r.ColumnInt64(0)) }, name)
	return at
}

func (s *step) setInstant(name string, at time.Time) { s.do("meta_put", name, at) }

// Leave marks a worker as left and puts its tasks back.
func (s *Store) Leave(ctx context.Context, id string) (bool, error) {
	more, err := write(ctx, s, func(s *step) (bool, error) { return s.leave(id), nil })
	if err == nil {
		s.locks.drop(id)
	}
	return more, err
}

func (s *step) leave(id string) (more bool) {
	w := s.worker(id)
	if w == nil {
		return false
	}
	s.die(w, store.DeathLeft)
	tasks := s.list("task_held", id, chunk+1)
	for _, t := range tasks[:min(len(tasks), chunk)] {
		s.putBack(t, w)
	}
	return len(tasks) > chunk
}

// die marks a worker as dead, once and for ever.
func (s *step) die(w *worker, how store.Death) {
	if !w.DeadAt.IsZero() {
		return
	}
	s.flushTasks()
	w.BeatAt, w.Load, _, _ = s.s.lastBeat(w, s.now)
	w.DeadAt, w.Death, w.HeldAt = s.now, how, int(s.number("task_held_count", w.ID))
	s.do("worker_die", w.ID, w.DeadAt, string(how), w.HeldAt, w.BeatAt, s.json(w.Load))
}

func heldTask(t *task) store.HeldTask {
	return store.HeldTask{Fence: t.Fence(), Kind: t.Kind, Asked: t.Asked}
}

// Holds lists what a worker holds.
func (s *Store) Holds(ctx context.Context, id string) (list []store.HeldTask, err error) {
	err = s.read(ctx, func(v *view) error {
		return v.each("task_held", func(r *sqlite.Stmt) { list = append(list, heldTask(readTask(r))) }, id, -1)
	})
	return list, err
}

// Workers lists all that are on record.
func (s *Store) Workers(ctx context.Context) (list []store.Worker, err error) {
	err = s.read(ctx, func(v *view) error {
		return s.eachWorker(v, func(w store.Worker) error {
			list = append(list, w)
			return nil
		})
	})
	return list, err
}

// eachWorker calls fn for all that are on record, with what their files say.
func (s *Store) eachWorker(v *view, fn func(store.Worker) error) error {
	return v.rows("worker_all", func(r *sqlite.Stmt) error {
		w, err := readWorker(r)
		if err != nil {
			return err
		}
		w.BeatAt, w.Load, _, _ = s.lastBeat(w, v.now)
		return fn(w.Worker)
	})
}
