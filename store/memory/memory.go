// Package memory is the reference engine: the contract of package store in plain Go, under one lock, on an injected clock. The
// other engines are compared with it, and the simulation of the kernel runs on it. Nothing survives the process.
//
// A Store is a handle, as one process has it. Process opens another one on the same data; Crash ends one as kill -9 would.
// What a database would do by an index is done here by a heap or a map, so that every operation costs what it returns.
package memory

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Config sets up an empty store. The zero value works.
type Config struct {
	// Clock is the store's clock. Default: time.Now.
	Clock func() time.Time
	// Timing of the protocol. Default: that of store.Timing.
	Timing store.Timing
	// Evidence is what workers hold. Default: proof. A handle that crashed or was closed is what proves a death.
	Evidence store.EvidenceKind
	// Namespace is the name that Info tells. Default: "default".
	Namespace string
}

// Store is a handle of one process on the data. It is made by New or Process.
type Store struct {
	d    *data
	gone bool // crashed or closed; guarded by d.mu

	follows map[store.ID]int // guarded by d.mu
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Stager   = (*Store)(nil)
	_ store.Resealer = (*Store)(nil)
	_ store.Blobs    = (*Store)(nil)
)

// New makes an empty store and the handle of a first process.
func New(cfg Config) *Store {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Evidence == "" {
		cfg.Evidence = store.EvidenceProof
	}
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	cfg.Timing = cfg.Timing.WithDefaults()
	return (&Store{d: newData(cfg)}).Process()
}

// Process returns the handle of another process on the same data.
func (s *Store) Process() *Store { return &Store{d: s.d, follows: map[store.ID]int{}} }

// Crash ends the process of this handle as kill -9 would: what it held as evidence is let go, and later calls are ErrClosed.
func (s *Store) Crash() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.gone = true
	for _, w := range s.d.workers {
		if w.handle == s {
			w.session = nil
		}
	}
}

// Close is Crash: a process that did not leave is as good as dead.
func (s *Store) Close() error {
	s.Crash()
	return nil
}

// CutSession ends the session of a worker whose process lives on; its next Beat opens another. It matters where evidence is
// a session.
func (s *Store) CutSession(worker string) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if w := s.d.workers[worker]; w != nil {
		w.session = nil
	}
}

// Restart ends the sessions of all workers at once, as a server that restarts does. The data stays.
func (s *Store) Restart() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	for _, w := range s.d.workers {
		w.session = nil
	}
}

// Corrupt makes the record of a task unreadable: the next step that takes it up ends it as failed, reason corrupt.
func (s *Store) Corrupt(id store.ID) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if t := s.d.tasks[id]; t != nil {
		t.corrupt = true
	}
}

// enter begins a step: it takes the lock and reads the clock. The step's notices go out when it is left.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.d.mu.Lock()
	if s.gone {
		s.d.mu.Unlock()
		return nil, store.ErrClosed
	}
	s.d.now = s.d.cfg.Clock().UTC()
	return s.d.leave, nil
}

// data is what all handles share.
type data struct {
	cfg Config
	id  string

	mu  sync.Mutex
	now time.Time // of the step under way

	tasks   map[store.ID]*task
	workers map[string]*worker
	groups  map[store.ID]*group
	keys    map[uniqueKey]*key
	limits  map[string]*limit
	pauses  map[store.Scope]store.Pause
	weights map[weightKey]int
	queues  map[string]*queue
	lines   map[lineKey]*line
	breaks  map[lineKey]map[store.ID]*task // failed tasks that fail the rest of their line
	held    map[string]*taskHeap           // running, by worker
	keepers map[store.ID][]*group
	stats   map[statKey]*store.Minute
	minutes []statKey // the keys of stats, oldest first

	schedules map[string]*store.Schedule
	blobs     map[string]*chunks

	due     taskHeap  // scheduled, and parked with a time
	startBy taskHeap  // not started, with a StartBy
	expiry  taskHeap  // terminal, with an ExpireAt
	overdue taskHeap  // running, with a DeadlineAt
	ripe    []*group  // have members to free, to settle or to mark
	bare    groupHeap // closed, and without members: Prune removes them

	pulseSince, pulseLast time.Time
	recoverAt             time.Time // gate
	recoverBy             time.Time // since when the session stands of who passed it last
	suspectAt             time.Time // gate

	watchers []*watcher
	notices  []store.Notice
}

func newData(cfg Config) *data {
	d := &data{
		cfg:       cfg,
		id:        rand.Text(),
		tasks:     map[store.ID]*task{},
		workers:   map[string]*worker{},
		groups:    map[store.ID]*group{},
		keys:      map[uniqueKey]*key{},
		limits:    map[string]*limit{},
		pauses:    map[store.Scope]store.Pause{},
		weights:   map[weightKey]int{},
		queues:    map[string]*queue{},
		lines:     map[lineKey]*line{},
		breaks:    map[lineKey]map[store.ID]*task{},
		held:      map[string]*taskHeap{},
		keepers:   map[store.ID][]*group{},
		stats:     map[statKey]*store.Minute{},
		schedules: map[string]*store.Schedule{},
		blobs:     map[string]*chunks{},
	}
	d.due = taskHeap{slot: slotDue, less: func(a, b *task) bool { return earlier(a, b, a.DueAt, b.DueAt) }}
	d.startBy = taskHeap{slot: slotStartBy, less: func(a, b *task) bool { return earlier(a, b, a.StartByAt, b.StartByAt) }}
	d.expiry = taskHeap{slot: slotExpiry, less: func(a, b *task) bool { return earlier(a, b, a.ExpireAt, b.ExpireAt) }}
	d.overdue = taskHeap{slot: slotDeadline, less: func(a, b *task) bool { return earlier(a, b, a.DeadlineAt, b.DeadlineAt) }}
	return d
}

// leave ends a step: it lets the lock go and gives out the notices.
func (d *data) leave() {
	notices := d.notices
	d.notices = nil
	if len(notices) == 0 || len(d.watchers) == 0 {
		d.mu.Unlock()
		return
	}
	watchers := d.watchers
	d.mu.Unlock()
	for _, n := range notices {
		for _, w := range watchers {
			w.tell(n)
		}
	}
}
