package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// gatherLimit bounds how many operations one transaction holds.
const gatherLimit = 256

// op is one operation on its way through the writer.
type op struct {
	run  func(*step) error
	gone <-chan struct{} // its caller waits no longer
	done chan struct{}   // closed once err tells how it went
	err  error
}

func (o *op) abandoned() bool {
	select {
	case <-o.gone:
		return true
	default:
		return false
	}
}

// write hands an operation to the writer, and waits until what it did is durable.
func write[T any](ctx context.Context, s *Store, run func(*step) (T, error)) (T, error) {
	var none, res T
	err := s.write(ctx, func(st *step) (err error) {
		res, err = run(st)
		return err
	})
	if err != nil && !store.Answered(err) {
		return none, err // the writer may still be at it
	}
	return res, err
}

// write is the same for an operation that answers nothing but an error.
func (s *Store) write(ctx context.Context, run func(*step) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{run: run, gone: ctx.Done(), done: make(chan struct{})}
	select {
	case s.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return store.ErrClosed
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writer is the one goroutine of the process that writes. It gathers what callers bring while it commits, so that many of
// them share one commit; one that comes alone does not wait for others. Open starts it and Close waits for it.
type writer struct {
	s     *Store
	c     *conn
	since time.Time // it writes without a pause
	kept  kept
}

func (w *writer) loop() {
	for {
		idle := time.Now()
		select {
		case <-w.s.closing:
			return
		case o := <-w.s.ops:
			w.pausedSince(idle)
			w.commit(w.gather(o))
		case tx := <-w.s.txs:
			w.pausedSince(idle)
			w.transact(tx)
		}
		w.giveWay()
	}
}

// turn is how long a writer writes without a pause while other processes may want to.
const turn = 20 * time.Millisecond

// pausedSince notes how long nothing was to be written: others had their chance if it was long enough.
func (w *writer) pausedSince(idle time.Time) {
	if now := time.Now(); now.Sub(idle) > longWait {
		w.since = now
	}
}

// giveWay lets other processes write. They look again and again for a moment in which nobody does; a writer that always has
// more to write leaves them none, and a beat of theirs could come too late.
func (w *writer) giveWay() {
	if time.Since(w.since) < turn || !w.s.watch.peers.any() {
		return
	}
	pause := time.NewTimer(longWait + firstWait)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-w.s.closing:
	}
	w.since = time.Now()
}

// gather takes what waits to be written, and waits for nobody.
func (w *writer) gather(first *op) []*op {
	batch := []*op{first}
	for len(batch) < gatherLimit {
		select {
		case o := <-w.s.ops:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// commit makes one transaction of all operations, and tells each how it went. If it does not work each is tried by itself, so
// that one that cannot be written fails alone.
func (w *writer) commit(batch []*op) {
	batch, err := w.begin(batch)
	if err != nil {
		answer(batch, err)
		return
	}
	if len(batch) == 0 {
		return
	}
	st := w.step()
	err = w.apply(st, batch)
	switch {
	case err == nil:
		for _, fn := range st.after {
			fn()
		}
		answer(batch, nil)
		w.s.publish(&st.hints)
	case len(batch) > 1:
		for _, o := range batch {
			w.commit([]*op{o})
		}
	default:
		answer(batch, err)
	}
}

// step makes a step of what is known from those before.
func (w *writer) step() *step {
	st := newStep(w.s, w.c)
	st.kept, st.held = &w.kept, w.kept.held
	return st
}

// apply runs the operations in the transaction that has begun, and ends it.
func (w *writer) apply(st *step, batch []*op) error {
	for _, o := range batch {
		st.now = w.s.clock()
		if o.err = o.run(st); st.err != nil {
			break
		}
	}
	if st.err == nil {
		st.flush()
	}
	if st.err == nil {
		st.do("commit")
	}
	if st.err == nil {
		w.s.commits.Add(1)
		w.kept.keep(st)
		return nil
	}
	w.kept.forget()
	if !w.c.raw.AutocommitEnabled() {
		if _, err := w.c.exec("rollback"); err != nil {
			return errors.Join(explain(st.err), err)
		}
	}
	return explain(st.err)
}

// answer tells callers how it went. Without an error each has its own answer.
func answer(batch []*op, err error) {
	for _, o := range batch {
		if err != nil {
			o.err = err
		}
		close(o.done)
	}
}

// explain says in plain words what the caller can do about an error of the file.
func explain(err error) error {
	if full(err) {
		return fmt.Errorf("%w: free some, and try again: %w", ErrFull, err)
	}
	return err
}

// Waits of the writer while another process writes: short at first, since commits are.
const (
	firstWait = 200 * time.Microsecond
	longWait  = 2 * time.Millisecond
)

// begin takes the write lock of the file. While another process holds it, it waits as long as one of the callers does;
// it returns those that still do.
func (w *writer) begin(batch []*op) ([]*op, error) {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		kept := batch[:0]
		for _, o := range batch {
			if o.abandoned() {
				answer([]*op{o}, context.Canceled)
				continue
			}
			kept = append(kept, o)
		}
		if batch = kept; len(batch) == 0 {
			return nil, nil
		}
		_, err := w.c.exec("begin_immediate")
		if err == nil {
			if err = w.kept.begun(w.c); err != nil {
				_, end := w.c.exec("rollback")
				return batch, errors.Join(err, end)
			}
			return batch, nil
		}
		if !busy(err) {
			return batch, explain(err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-w.s.closing:
			timer.Stop()
			return batch, store.ErrClosed
		case <-timer.C:
		}
	}
}
