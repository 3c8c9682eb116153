// Package sagatest helps to test sagas: a fleet on an empty store in one line, virtual time, steps that fail or are replaced, workers
// that die at a given write, and assertions on the whole sequence of events.
//
//	func TestARefusedCardReleasesTheStock(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			def := sagatest.FailAt(PlaceOrder, "charge", -1, errRefused)
//			fleet := sagatest.Start(t, sagatest.Config{}, def)
//			h, err := def.Start(t.Context(), fleet.Kernel, order, saga.Options{})
//			…
//			sagatest.Sequence(t, h, "done reserve", "sent charge", "failed charge", "unwinding", "undone reserve", "failed")
//		})
//	}
//
// Inside testing/synctest time is virtual: a backoff of an hour passes when nothing else is left to do. The store is
// store/memory: the same contract as the real engines, and nothing survives the test.
package sagatest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// Def is a saga of any type.
type Def interface {
	Serve(k *kernel.Kernel)
	Queues() []string
}

// Config says how a fleet is made. The zero value is one worker that does not die.
type Config struct {
	// Workers is how many processes run sagas. Default 1.
	Workers int
	// Crash ends the worker that makes a certain write of the workers' writes. Default: none dies.
	Crash Crash
	// InCaller lets the Kernel of the Fleet die instead, at a write of its own: for sagas that are started by Run.
	InCaller bool
	// Kernel is what the kernels are configured with; Slots are added for the queues of the sagas.
	Kernel kernel.Config
	// Store is what all of them work on. Default: an empty one.
	Store *memory.Store
}

// Crash is a write at which a process dies as by kill -9. The zero value is none.
type Crash struct {
	Write int  // the first is 1
	Lost  bool // the write is not applied; otherwise it is, and the process does not learn of it
}

// Fleet is some processes on one store.
type Fleet struct {
	Kernel *kernel.Kernel // of a process that starts sagas and runs none but by Run
	Store  *memory.Store
	fate   *fate
}

// Start makes a fleet that serves the sagas, and runs it until the test ends.
func Start(t testing.TB, cfg Config, defs ...Def) *Fleet {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = memory.New(memory.Config{})
	}
	if cfg.Kernel.Logger == nil {
		cfg.Kernel.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	}
	slots := map[string]int{}
	for _, d := range defs {
		for _, q := range d.Queues() {
			slots[q] = 16
		}
	}
	for q, n := range cfg.Kernel.Slots {
		slots[q] = n
	}
	cfg.Kernel.Slots = slots
	f := &Fleet{Store: cfg.Store, fate: &fate{crash: cfg.Crash}}
	f.Kernel = f.process(t, cfg, cfg.InCaller)
	for range max(cfg.Workers, 1) {
		k := f.process(t, cfg, !cfg.InCaller)
		for _, d := range defs {
			d.Serve(k)
		}
		run(t, k)
	}
	return f
}

// process makes a kernel on a handle of its own, which is mortal if it may die.
func (f *Fleet) process(t testing.TB, cfg Config, mayDie bool) *kernel.Kernel {
	t.Helper()
	handle, dead, over := f.Store.Process(), make(chan struct{}), make(chan struct{})
	var st store.Store = handle
	if mayDie {
		st = &mortal{Store: handle, fate: f.fate, dead: dead}
	}
	k, err := kernel.New(st, cfg.Kernel)
	if err != nil {
		t.Fatalf("kernel.New = %v", err)
	}
	t.Cleanup(k.Close)
	var group sync.WaitGroup
	group.Go(func() {
		select {
		case <-dead:
			k.Close()
		case <-over:
		}
	})
	t.Cleanup(func() {
		close(over)
		group.Wait()
	})
	return k
}

func run(t testing.TB, k *kernel.Kernel) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = k.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// Crashed reports whether a process has died.
func (f *Fleet) Crashed() bool {
	f.fate.mu.Lock()
	defer f.fate.mu.Unlock()
	return f.fate.met
}

// Writes returns how many writes were made by those who may die.
func (f *Fleet) Writes() int {
	f.fate.mu.Lock()
	defer f.fate.mu.Unlock()
	return f.fate.writes
}

// fate counts the writes of those who may die, and knows at which one dies.
type fate struct {
	crash Crash

	mu     sync.Mutex
	writes int
	met    bool
}

// mortal is a handle whose process dies at a write.
type mortal struct {
	*memory.Store
	fate *fate
	dead chan struct{}
}

var errKilled = errors.New("the process was killed")

// write makes a write, unless it is the one at which the process dies.
func (m *mortal) write(do func() error) error {
	m.fate.mu.Lock()
	defer m.fate.mu.Unlock()
	m.fate.writes++
	dies := m.fate.writes == m.fate.crash.Write
	if dies && m.fate.crash.Lost {
		m.die()
		return errKilled
	}
	err := do()
	if dies {
		m.die()
		return errKilled
	}
	return err
}

func (m *mortal) die() {
	m.fate.met = true
	m.Crash()
	close(m.dead)
}

// Submit is a write.
func (m *mortal) Submit(ctx context.Context, req store.SubmitRequest) (res store.SubmitResult, err error) {
	err = m.write(func() (err error) { res, err = m.Store.Submit(ctx, req); return err })
	return res, err
}

// Claim is a write if it takes something; else it is not counted.
func (m *mortal) Claim(ctx context.Context, req store.ClaimRequest) (res store.ClaimResult, err error) {
	res, err = m.Store.Claim(ctx, req)
	if err == nil && len(res.Tasks) > 0 {
		err = m.write(func() error { return nil })
	}
	return res, err
}

// Complete is a write.
func (m *mortal) Complete(ctx context.Context, req store.CompleteRequest) (res store.CompleteResult, err error) {
	err = m.write(func() (err error) { res, err = m.Store.Complete(ctx, req); return err })
	return res, err
}

// Save is a write.
func (m *mortal) Save(ctx context.Context, req store.SaveRequest) (asked string, err error) {
	err = m.write(func() (err error) { asked, err = m.Store.Save(ctx, req); return err })
	return asked, err
}

// Cancel is a write.
func (m *mortal) Cancel(ctx context.Context, id store.ID, reason string) (state store.State, err error) {
	err = m.write(func() (err error) { state, err = m.Store.Cancel(ctx, id, reason); return err })
	return state, err
}

// EveryCrash calls test with a crash at the first write, the second, and so on, each applied and lost, until the saga ends before
// the write is reached: test reports whether the process has crashed. It returns how many crashes there were.
func EveryCrash(t *testing.T, test func(t *testing.T, c Crash) (crashed bool)) (crashes int) {
	t.Helper()
	for write := 1; write < 1000; write++ {
		again := false
		for _, lost := range []bool{false, true} {
			if test(t, Crash{Write: write, Lost: lost}) {
				again = true
				crashes++
			}
			if t.Failed() {
				t.Fatalf("with a crash at write %d, lost %v", write, lost)
			}
		}
		if !again {
			return crashes
		}
	}
	t.Fatal("the saga does not end")
	return 0
}

// Pass lets time go by: in a bubble of testing/synctest at once.
func Pass(t testing.TB, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatalf("Pass: %v", context.Cause(t.Context()))
	}
}

// Handle is a handle of any saga.
type Handle interface {
	Status(ctx context.Context) (saga.Status, error)
}

// Events returns the sequence of events of a saga so far: the kind and the step of each.
func Events(t testing.TB, h Handle) []string {
	t.Helper()
	st, err := h.Status(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatalf("Status = %v", err)
	}
	list := make([]string, len(st.Timeline))
	for i, ev := range st.Timeline {
		list[i] = ev.String()
	}
	return list
}

// Sequence fails the test if the events of a saga are not exactly these.
func Sequence(t testing.TB, h Handle, want ...string) {
	t.Helper()
	if got := Events(t, h); !slices.Equal(got, want) {
		t.Errorf("events\n got %q\nwant %q", got, want)
	}
}
