package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

// What tasks are unless a case says otherwise.
const (
	queue = "q"
	kind  = "k"
)

// Times of the workers of the suite, in units. Between two beats of a whole pulse a third of deadAfter may pass.
const (
	deadAfter = 9
	pulseGap  = deadAfter / 3
)

// world is a World with what cases say often. Its helpers fail the test where a step that has to work does not.
type world struct {
	World
	t        testing.TB
	e        Engine
	st       store.Store // of an operator's process: no worker lives in it
	u        time.Duration
	timing   store.Timing
	evidence store.EvidenceKind
	workers  []*worker
	base     time.Time // of the ids
	seq      atomic.Int64
}

func timing(u time.Duration) store.Timing {
	return store.Timing{Horizon: 20 * u, GoneAfter: 2 * u, RecoverEvery: u, Aged: 30 * u, StuckGrace: 10 * u}
}

func newWorld(t testing.TB, e Engine) *world {
	t.Helper()
	w := &world{t: t, e: e, u: e.Unit, timing: timing(e.Unit)}
	w.World = e.New(t, w.timing)
	w.st = w.Open(t)
	w.evidence = w.st.Info().Evidence
	w.base = w.now()
	t.Cleanup(w.check)
	return w
}

// check holds the world against the invariants that no single call can show.
func (w *world) check() {
	if w.t.Failed() {
		return
	}
	findings, err := fsck.Check(context.Background(), w.st)
	if err != nil {
		w.t.Errorf("fsck: %v", err)
	}
	for _, f := range findings {
		w.t.Errorf("fsck found %v", f)
	}
}

func (w *world) ctx() context.Context { return w.t.Context() }

// ok fails the test at once if a step that has to work did not.
func (w *world) ok(what string, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s = %v, want no error", what, err)
	}
}

// refused checks that an error is the one that the contract names.
func (w *world) refused(what string, err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// Pass lets time pass and makes the ids that follow younger.
func (w *world) Pass(d time.Duration) {
	w.World.Pass(d)
	w.base = w.now()
}

// pass lets units pass.
func (w *world) pass(units int) { w.Pass(time.Duration(units) * w.u) }

// live lets units pass while the workers that are not silent beat.
func (w *world) live(units int) {
	w.t.Helper()
	for range units {
		w.beat()
		w.pass(1)
	}
	w.beat()
}

func (w *world) beat() {
	w.t.Helper()
	for _, k := range w.workers {
		if !k.silent {
			k.beat()
		}
	}
}

func (w *world) now() time.Time {
	w.t.Helper()
	now, err := w.st.Now(context.WithoutCancel(w.ctx()))
	w.ok("Now", err)
	return now
}

// near reports whether two instants are the same as far as the clock of the engine lets one tell.
func (w *world) near(got, want time.Time) bool {
	slack := w.u / 2
	if w.e.Virtual {
		slack = time.Millisecond // what an engine may round to
	}
	d := got.Sub(want)
	return d <= slack && d >= -slack
}

// id makes ids that sort in the order in which they were asked for.
func (w *world) id() store.ID {
	var random [16]byte
	binary.BigEndian.PutUint64(random[8:], uint64(w.seq.Add(1)))
	return store.MakeID(w.base, random)
}

func (w *world) units(n int) time.Duration { return time.Duration(n) * w.u }

// scaled divides the size of a big case by Quick.
func (w *world) scaled(n int) int { return max(n/max(w.e.Quick, 1), 1) }
