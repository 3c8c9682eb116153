package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/store"
)

// State says what a kernel is doing.
type State string

// The states of a kernel. A kernel that was never run is idle: it submits, reads and waits.
const (
	Idle     State = "idle"
	Starting State = "starting"
	Running  State = "running"
	Draining State = "draining" // claims no more; runs go on
	Stopping State = "stopping" // gives back what still runs, and leaves
	Stopped  State = "stopped"
)

// Kernel is the working part of a process. Its methods may be called from any goroutine.
type Kernel struct {
	store store.Store
	cfg   Config
	env   Env
	log   *slog.Logger

	queues []string // those of cfg.Slots, sorted

	life        context.Context //nolint:containedctx // the span in which detached writes are repeated: it ends with Close
	end         context.CancelCauseFunc
	forever     context.Context //nolint:containedctx // ends with the process alone: for waits that something else ends
	crew        *crew
	submits     *gather[submission, submitted]
	completions *gather[*settlement, store.Completed]
	endings     endings
	heres       *gather[*here, struct{}]
	visits      *gather[struct{}, error]
	storeAway   atomic.Bool
	blobs       *blob.Set
	sweeper     *blob.Sweep
	ids         idSource
	turns       remoteTurns

	kick     Signal // the claim loop should look again
	beatNow  Signal // the beat loop should not wait
	sweep    Signal // the sweep loop should not wait
	tickNow  Signal // the schedule loop should not wait
	limitNow Signal // a limit was declared
	idle     Signal // a run has ended, or the drain was cut short
	stop     Signal // Run should look whether to go on

	// Set by Run before it starts anything.
	team   *crew    // loops and runs
	served []string // kinds, sorted

	mu       sync.Mutex
	handlers map[string]Handler // not changed once Run has begun
	bounds   map[string]*bound  // limits that this program declares, by key
	state    State
	closed   bool
	quiet    bool
	halted   bool
	left     bool // the fleet was left on purpose: no joining anew
	worker   *worker
	guest    guest
	runs     map[store.Fence]*Run
	used     map[string]int // slots taken, by queue: runs whose outcome is not on its way
	begun    int64          // runs begun, for their order
	appetite appetite
	suspects suspects
	watching bool
	waiters  map[ID][]waiter
	onStop   []func()
	swept    time.Time     // when the last recovery pass was answered
	pace     time.Duration // how often the store wants beats
}

// New makes a kernel on a store. It starts nothing. The error tells which field of the Config is wrong, and what to do.
func New(st store.Store, cfg Config) (*Kernel, error) {
	if st == nil {
		return nil, fmt.Errorf("kernel.New: %w: the store is nil", store.ErrInvalid)
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	blobs, err := blob.NewSet(st.Info().ID, cfg.Blobs...)
	if err != nil {
		return nil, badConfig("Blobs", "cannot be used: %v", err)
	}
	k := &Kernel{
		blobs: blobs, sweeper: blob.NewSweep(blobs),
		store: st, cfg: cfg, env: cfg.Env, log: cfg.Logger, queues: slices.Sorted(maps.Keys(cfg.Slots)),
		crew: newCrew(cfg.Env),
		kick: cfg.Env.NewSignal(), beatNow: cfg.Env.NewSignal(), sweep: cfg.Env.NewSignal(),
		tickNow: cfg.Env.NewSignal(), limitNow: cfg.Env.NewSignal(), idle: cfg.Env.NewSignal(), stop: cfg.Env.NewSignal(),
		handlers: map[string]Handler{}, bounds: map[string]*bound{}, state: Idle,
		runs: map[store.Fence]*Run{}, used: map[string]int{}, waiters: map[ID][]waiter{},
		endings:  endings{env: cfg.Env},
		appetite: appetite{cursors: map[string]string{}, full: map[string]bool{}, planned: map[string]int{}}, suspects: suspects{allow: 1},
	}
	for _, l := range cfg.Limits {
		if err := k.DeclareLimit(l); err != nil {
			return nil, badConfig("Limits", "cannot be declared: %v", err)
		}
	}
	k.forever = k.env.Detach(context.Background())
	k.life, k.end = k.env.WithCancel(k.forever)
	k.submits = &gather[submission, submitted]{env: k.env, crew: k.crew, limit: 256, flush: k.flushSubmits, full: k.env.NewSignal()}
	k.completions = &gather[*settlement, store.Completed]{
		env: k.env, crew: k.crew, limit: 256, split: max(cfg.SplitFrom, 0), of: (*settlement).queue, flush: k.flushCompletions,
	}
	k.heres = &gather[*here, struct{}]{env: k.env, crew: k.crew, limit: 256, flush: k.flushHere}
	k.visits = &gather[struct{}, error]{env: k.env, crew: k.crew, limit: 256, flush: k.visit}
	return k, nil
}

// Handle says that this process runs the tasks of a kind. It must be called before Run. It panics on a programmer's mistake:
// a name that no kind can have, no handler, a second handler for a kind, a call after Run.
func (k *Kernel) Handle(kind string, h Handler) {
	if err := store.CheckName("kind", kind); err != nil {
		panic(fmt.Errorf("kernel.Handle: %w", err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case h == nil:
		panic(fmt.Sprintf("kernel.Handle: the handler for kind %q is nil", kind))
	case k.handlers[kind] != nil:
		panic(fmt.Sprintf("kernel.Handle: kind %q has a handler already; give the second one a kind of its own", kind))
	case k.state != Idle:
		panic(fmt.Sprintf("kernel.Handle: kind %q comes after Run; call Handle before Run", kind))
	}
	for i := len(k.cfg.Around) - 1; i >= 0; i-- {
		h = k.cfg.Around[i](h)
	}
	k.handlers[kind] = h
}

// State returns what the kernel is doing.
func (k *Kernel) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Slots returns how many tasks of a queue run at once in this process; 0: the queue is not served.
func (k *Kernel) Slots(queue string) int { return k.cfg.Slots[queue] }

// MaxPayload returns how many bytes args, a result or an entry may have; negative: there is no bound.
func (k *Kernel) MaxPayload() int { return k.cfg.MaxPayload }

// Store returns what kind of store the kernel works on.
func (k *Kernel) Store() store.Info { return k.store.Info() }

// Seals reports whether what this process submits is sealed.
func (k *Kernel) Seals() bool { return k.cfg.Sealer != nil }

// Close ends a kernel: a Run that goes on drains without the store, calls under way are given up as in doubt, later ones are ErrClosed. It waits for what
// the kernel started. The store stays open. Closing twice has no effect.
func (k *Kernel) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.end(ErrClosed)
	k.stop.Notify()
	k.crew.Wait(k.forever, -1)
	k.mu.Lock()
	team := k.team
	k.mu.Unlock()
	if team != nil {
		team.Wait(k.forever, returnGrace) // handlers that do not return were told of by Run
	}
	k.stopped()
}

func (k *Kernel) open() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return ErrClosed
	}
	return nil
}
