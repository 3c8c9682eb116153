package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/outlast-go/outlast/store"
)

// TxLimit bounds how long a Tx may take: while it is open nobody else writes.
const TxLimit = 5 * time.Second

// ErrTxDone says that a Tx has ended: by Commit or Rollback, with its context, or because it took longer than TxLimit.
var ErrTxDone = errors.New("the transaction has ended")

// Tx is a transaction of a user on the same file: rows of his own tables, tasks and staged outcomes become durable together,
// or not at all. It goes through the writer, and keeps it to itself from Begin to Commit or Rollback. The tables of the
// store are not to be written by it.
type Tx struct {
	gone  <-chan struct{} // its context has ended
	begun chan error      // the writer has begun it, or could not
	over  chan struct{}   // closed by Commit and Rollback
	ended chan struct{}   // closed once result tells how it went

	mu     sync.Mutex
	st     *step // nil: it has ended
	ending bool  // Commit or Rollback was called
	keep   bool  // Commit was called
	result error
}

// Begin begins a transaction. It waits for what is being written.
func (s *Store) Begin(ctx context.Context) (*Tx, error) {
	tx := &Tx{gone: ctx.Done(), begun: make(chan error, 1), over: make(chan struct{}), ended: make(chan struct{})}
	select {
	case s.txs <- tx:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closing:
		return nil, store.ErrClosed
	}
	select {
	case err := <-tx.begun:
		if err != nil {
			return nil, err
		}
		return tx, nil
	case <-ctx.Done():
		return nil, ctx.Err() // the writer sees it, too
	}
}

// transact keeps the writer to one user's transaction until that has ended.
func (w *writer) transact(tx *Tx) {
	defer close(tx.ended)
	waiting := []*op{{gone: tx.gone, done: make(chan struct{})}}
	waiting, err := w.begin(waiting)
	if err == nil && len(waiting) == 0 {
		err = context.Canceled
	}
	if err != nil {
		tx.begun <- err
		return
	}
	w.kept.forget() // what the user writes is not seen here
	st := newStep(w.s, w.c)
	tx.st = st
	tx.begun <- nil
	limit := time.NewTimer(TxLimit)
	defer limit.Stop()
	select {
	case <-tx.over:
	case <-tx.gone:
	case <-limit.C:
	case <-w.s.closing:
	}
	tx.mu.Lock() // what it is doing, it may end
	defer tx.mu.Unlock()
	tx.st = nil
	if !tx.keep {
		st.fail(ErrTxDone)
	}
	if tx.result = w.apply(st, nil); tx.result == nil {
		w.s.publish(&st.hints)
	}
}

// use makes a call inside the transaction, if it has not ended.
func (tx *Tx) use(fn func(*step) error) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.st == nil || tx.ending {
		return ErrTxDone
	}
	tx.st.now = tx.st.s.clock()
	if err := fn(tx.st); err != nil {
		return err
	}
	return tx.st.err
}

// Submit stores tasks, as the Submit of the Store does.
func (tx *Tx) Submit(ctx context.Context, specs ...store.Spec) (list []store.Submitted, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = tx.use(func(s *step) error {
		list = s.submitAll(store.SubmitRequest{Specs: specs}).Specs
		return nil
	})
	return list, err
}

// Stage ends a run: its outcome counts once the transaction is committed, and is settled by whoever completes the run. After
// ErrFenced the run belongs to another: roll back.
func (tx *Tx) Stage(ctx context.Context, c store.Completion) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return tx.use(func(s *step) error { return s.stage(c) })
}

// Exec runs a statement on the user's own tables, and tells how many rows it changed.
func (tx *Tx) Exec(query string, args ...any) (changed int, err error) {
	err = tx.Query(query, func(Row) error { return nil }, args...)
	if err == nil {
		err = tx.use(func(s *step) error {
			changed = s.raw.Changes()
			return nil
		})
	}
	return changed, err
}

// Query runs a statement and calls row for each row of the answer.
func (tx *Tx) Query(query string, row func(Row) error, args ...any) error {
	return tx.use(func(s *step) error {
		err := sqlitex.Execute(s.raw, query, &sqlitex.ExecOptions{
			Args:       args,
			ResultFunc: func(r *sqlite.Stmt) error { return row(Row{r}) },
		})
		if s.raw.AutocommitEnabled() {
			s.fail(fmt.Errorf("%.60q has ended the transaction; Commit and Rollback do that: %w", query, errors.Join(ErrTxDone, err)))
		}
		return err
	})
}

// Commit makes all of it durable. After an error nothing of it is, save one that says that the file could not be synced.
func (tx *Tx) Commit() error { return tx.end(true) }

// Rollback forgets all of it. After the end it has no effect.
func (tx *Tx) Rollback() error {
	if err := tx.end(false); err != nil && !errors.Is(err, ErrTxDone) {
		return err
	}
	return nil
}

func (tx *Tx) end(keep bool) error {
	tx.mu.Lock()
	if tx.st == nil || tx.ending {
		tx.mu.Unlock()
		return ErrTxDone
	}
	tx.ending, tx.keep = true, keep
	close(tx.over)
	tx.mu.Unlock()
	<-tx.ended
	return tx.result
}

// Row is a row of an answer, for as long as the function runs that it was given to.
type Row struct{ r *sqlite.Stmt }

// Scan reads the columns in their order into *int64, *int, *float64, *bool, *string and *[]byte.
func (r Row) Scan(into ...any) error {
	for i, p := range into {
		switch p := p.(type) {
		case *int64:
			*p = r.r.ColumnInt64(i)
		case *int:
			*p = r.r.ColumnInt(i)
		case *float64:
			*p = r.r.ColumnFloat(i)
		case *bool:
			*p = r.r.ColumnBool(i)
		case *string:
			*p = r.r.ColumnText(i)
		case *[]byte:
			*p = blobOf(r.r, i)
		default:
			return fmt.Errorf("%w: column %d cannot be read into a %T", store.ErrInvalid, i, p)
		}
	}
	return nil
}
