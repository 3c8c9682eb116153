package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// Memory is the reference engine on a virtual clock, with workers that hold the given evidence. Other engines are compared
// with it.
func Memory(evidence store.EvidenceKind) Engine {
	return Engine{
		Name:    "memory/" + string(evidence),
		Unit:    time.Second,
		Virtual: true,
		Plain:   true,
		New: func(t testing.TB, timing store.Timing) World {
			w := &memoryWorld{now: time.Date(2024, 2, 29, 23, 59, 30, 0, time.UTC)}
			w.first = memory.New(memory.Config{Clock: w.clock, Timing: timing, Evidence: evidence, Namespace: t.Name()})
			return w
		},
		Corrupt: func(w World, id store.ID) { memoryOf(w).first.Corrupt(id) },
		Damage:  func(w World, r store.Repair, n int) { memoryOf(w).first.Damage(r, n) },
		Cut:     func(w World, worker string) { memoryOf(w).first.CutSession(worker) },
	}
}

type memoryWorld struct {
	first *memory.Store

	mu  sync.Mutex
	now time.Time
}

func memoryOf(w World) *memoryWorld {
	m, ok := w.(*memoryWorld)
	if !ok {
		panic("storetest: this world is not one of Memory")
	}
	return m
}

func (w *memoryWorld) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *memoryWorld) Open(testing.TB) store.Store { return w.first.Process() }

func (w *memoryWorld) Crash(s store.Store) {
	m, ok := s.(*memory.Store)
	if !ok {
		panic("storetest: this handle was not opened in a world of Memory")
	}
	m.Crash()
}

func (w *memoryWorld) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}
