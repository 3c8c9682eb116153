package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// bare makes a world with one process and no store.
func bare(t *testing.T) (*Sim, *process) {
	t.Helper()
	loom := &loom{}
	t.Cleanup(loom.end)
	s := &Sim{scheduler: newScheduler(7, loom), chance: rand.New(rand.NewPCG(7, 7)), stats: NewTotals()}
	s.crash = func(_ *process, value any, _ []byte) { t.Errorf("panic: %v", value) }
	p := &process{sim: s, name: "p", chance: rand.New(rand.NewPCG(7, 8))}
	s.procs = append(s.procs, p)
	return s, p
}

func (s *Sim) drainEvents() {
	for s.step(time.Hour) {
	}
}

func TestTimePassesInOrder(t *testing.T) {
	t.Parallel()
	s, p := bare(t)
	var seen []time.Duration
	for _, d := range []time.Duration{3, 1, 2} {
		s.start(p, func() {
			s.sleep(d * time.Second)
			seen = append(seen, s.now)
		})
	}
	s.drainEvents()
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(seen, want) {
		t.Errorf("woken at %v, want %v", seen, want)
	}
}

func TestKilledProcessUnwindsAndDoesNothingMore(t *testing.T) {
	t.Parallel()
	s, p := bare(t)
	signal := env{p}.NewSignal()
	deferred, after := 0, 0
	for range 3 {
		s.start(p, func() {
			defer func() { deferred++ }()
			defer func() {
				signal.Notify()
				env{p}.Go(func() { after++ })
				s.sleep(time.Second) // panics again
				after++
			}()
			s.sleep(time.Minute)
			after++
		})
	}
	s.after(time.Second, nil, func() {
		p.dead = true
		s.doomed = append(s.doomed, p.coros...)
	})
	s.drainEvents()
	if deferred != 3 || after != 0 || s.coros != 0 {
		t.Errorf("deferred %d, after %d, coroutines left %d; want 3, 0, 0", deferred, after, s.coros)
	}
}

func TestPausedProcessMissesTimeAndCatchesUp(t *testing.T) {
	t.Parallel()
	s, p := bare(t)
	var at time.Duration
	var err error
	s.start(p, func() {
		ctx, cancel := env{p}.WithTimeout(context.Background(), 2*time.Second, nil)
		defer cancel()
		s.sleep(time.Second)
		at = s.now
		env{p}.NewSignal().Wait(ctx, -1)
		err = ctx.Err()
	})
	s.after(500*time.Millisecond, nil, func() { p.pause(10 * time.Second) })
	s.drainEvents()
	if at != 10500*time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("woken at %v, context %v; want 10.5s and the deadline", at, err)
	}
}

func TestContextsEndWithCauseDownToTheLeaves(t *testing.T) {
	t.Parallel()
	s, p := bare(t)
	cause := errors.New("cause")
	late := errors.New("late")
	e := env{p}
	s.start(p, func() {
		parent, cancel := e.WithCancel(context.Background())
		child, stop := e.WithTimeout(context.WithValue(parent, simTest{}, 1), time.Minute, late)
		defer stop()
		leaf, end := context.WithCancel(child) // one of the standard library's
		defer end()
		free := e.Detach(child)
		cancel(cause)
		for name, ctx := range map[string]context.Context{"parent": parent, "child": child, "leaf": leaf} {
			if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), cause) {
				t.Errorf("%s ended as %v, %v", name, ctx.Err(), context.Cause(ctx))
			}
		}
		if free.Err() != nil || free.Value(simTest{}) != 1 {
			t.Errorf("detached: %v, value %v", free.Err(), free.Value(simTest{}))
		}
		timed, stop2 := e.WithTimeout(free, time.Second, late)
		defer stop2()
		below, end2 := e.WithCancel(timed)
		defer end2(nil)
		if e.NewSignal().Wait(below, time.Minute) || !errors.Is(below.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(below), late) {
			t.Errorf("timed out: %v, %v at %v", below.Err(), context.Cause(below), s.now)
		}
	})
	s.drainEvents()
}

type simTest struct{}

func TestSignalRemembersOneNotification(t *testing.T) {
	t.Parallel()
	s, p := bare(t)
	signal := env{p}.NewSignal()
	var got []bool
	s.start(p, func() {
		signal.Notify()
		signal.Notify()
		got = append(got, signal.Wait(context.Background(), time.Second), signal.Wait(context.Background(), time.Second))
		got = append(got, signal.Wait(context.Background(), time.Minute))
	})
	s.after(2*time.Second, p, signal.Notify)
	s.drainEvents()
	if want := []bool{true, false, true}; !slices.Equal(got, want) || s.now > 3*time.Second {
		t.Errorf("waits = %v at %v, want %v", got, s.now, want)
	}
}
