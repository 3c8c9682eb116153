package call

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptrace"
	"sync"
	"time"
)

// phaseError is the cause of a context that ended because a phase took too long.
type phaseError struct {
	phase Phase
	after time.Duration
}

func (e *phaseError) Error() string {
	return fmt.Sprintf("phase %s took longer than %v", e.phase, e.after)
}

// watch follows one attempt through its phases, with one timer for all of them.
type watch struct {
	limits Timeouts
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	phase Phase
	limit time.Duration
	sent  bool // a part of the request may be on its way
	looks bool // for a connection: a dial that goes on after another connection was found has nothing to say
	over  bool
}

// newWatch returns a context that ends with a *phaseError when a phase of an attempt takes too long.
func newWatch(ctx context.Context, limits Timeouts) (context.Context, *watch, func()) {
	w := &watch{limits: limits}
	ctx, w.cancel = context.WithCancelCause(ctx)
	stop := func() {}
	if total := limit(limits.Total); total > 0 {
		timer := time.AfterFunc(total, func() { w.cancel(&phaseError{PhaseTotal, total}) })
		stop = func() { timer.Stop() }
	}
	return ctx, w, func() {
		stop()
		w.end()
	}
}

// enter begins a phase. A limit of 0 or less is none.
func (w *watch) enter(p Phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.phase, w.limit = p, limit
	switch {
	case limit <= 0:
		if w.timer != nil {
			w.timer.Stop()
		}
	case w.timer == nil:
		w.timer = time.AfterFunc(limit, w.expire)
	default:
		w.timer.Reset(limit)
	}
}

func (w *watch) look(on bool) {
	w.mu.Lock()
	w.looks = on
	w.mu.Unlock()
}

// isLooking reports whether the attempt still needs a connection.
func (w *watch) isLooking() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks && !w.over
}

// watchKey finds the watch of an attempt in its context.
type watchKey struct{}

// looking enters a phase on the way to a connection.
func (w *watch) looking(p Phase, limit time.Duration) {
	w.mu.Lock()
	looks := w.looks
	w.mu.Unlock()
	if looks {
		w.enter(p, limit)
	}
}

// again gives the phase its whole time anew.
func (w *watch) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && w.limit > 0 && !w.over {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) expire() {
	w.mu.Lock()
	p, limit := w.phase, w.limit
	w.mu.Unlock()
	w.cancel(&phaseError{p, limit})
}

func (w *watch) end() {
	w.mu.Lock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel(context.Canceled)
}

func (w *watch) wrote() {
	w.mu.Lock()
	w.sent = true
	w.mu.Unlock()
}

// state returns the phase the attempt is in, and whether the server may have got anything of it.
func (w *watch) state() (Phase, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase, w.sent
}

// trace lets the connection say in which phase it is. Waiting for a turn to dial, or for a connection that is in use, is no phase of
// its own: only the total bounds it.
func (w *watch) trace() *httptrace.ClientTrace {
	connect := func() { w.looking(PhaseConnect, limit(w.limits.Connect)) }
	return &httptrace.ClientTrace{
		GetConn:           func(string) { w.look(true); w.enter(PhaseConnect, 0) },
		DNSStart:          func(httptrace.DNSStartInfo) { connect() },
		ConnectStart:      func(_, _ string) { connect() },
		TLSHandshakeStart: func() { w.looking(PhaseTLS, limit(w.limits.TLS)) },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { w.looking(PhaseConnect, 0) },
		GotConn:           func(httptrace.GotConnInfo) { w.look(false); w.enter(PhaseSend, limit(w.limits.Send)) },
		WroteHeaders:      func() { w.wrote() },
		WroteRequest:      func(httptrace.WroteRequestInfo) { w.enter(PhaseFirstByte, limit(w.limits.FirstByte)) },
	}
}
