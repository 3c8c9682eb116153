package kernel

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"time"
)

// Env is all that the kernel takes from the world around it: time, waiting, goroutines, chance. The real one is the
// default; the simulation brings its own, in which one seed decides everything. Kernel code blocks in Signal.Wait and in
// calls of the store, and nowhere else; it never holds a lock while it blocks.
type Env interface {
	// Now reads the local clock. It is used for elapsed time alone: what is due and who is dead is the store's to say.
	Now() time.Time
	// Go runs fn beside the caller. The kernel starts goroutines through its group only, which waits for them.
	Go(fn func())
	// NewSignal makes a signal that was not notified.
	NewSignal() Signal
	// WithCancel is context.WithCancelCause.
	WithCancel(ctx context.Context) (context.Context, context.CancelCauseFunc)
	// WithTimeout is context.WithTimeoutCause: the context ends with cause after d.
	WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc)
	// Detach returns a context with the values of ctx that ends with the process alone.
	Detach(ctx context.Context) context.Context
	// Random returns 16 random bytes.
	Random() [16]byte
}

// Signal wakes one waiter. Notifications that nobody waits for are remembered as one.
type Signal interface {
	// Notify wakes the waiter, or lets the next Wait return at once. It never blocks.
	Notify()
	// Wait blocks until it is notified (true), or d has passed or ctx has ended (false). A negative d means no time limit. One
	// goroutine waits at a time.
	Wait(ctx context.Context, d time.Duration) bool
}

// exit is the panic by which a simulated process ends. The kernel catches the panics of handlers, and lets this one pass.
type exit interface{ ProcessExit() }

// Real returns the Env of a real process.
func Real() Env { return realEnv{} }

type realEnv struct{}

func (realEnv) Now() time.Time { return time.Now() } //nolint:forbidigo // the one place that reads the clock

func (realEnv) Go(fn func()) { go fn() } // the one place that starts goroutines; group waits for each

func (realEnv) NewSignal() Signal { return make(realSignal, 1) }

func (realEnv) WithCancel(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(ctx)
}

func (realEnv) WithTimeout(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, cause)
}

func (realEnv) Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func (realEnv) Random() [16]byte {
	var b [16]byte
	_, _ = crand.Read(b[:]) // never fails: it ends the process instead
	return b
}

type realSignal chan struct{}

func (s realSignal) Notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s realSignal) Wait(ctx context.Context, d time.Duration) bool {
	var timer <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-s:
		return true
	case <-timer:
		return false
	case <-ctx.Done():
		return false
	}
}

// uniform returns a number in [0, 1).
func uniform(e Env) float64 {
	b := e.Random()
	return float64(binary.BigEndian.Uint64(b[:8])>>11) / (1 << 53)
}
