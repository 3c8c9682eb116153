package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// What a caller or a handler decides on.
var (
	// ErrInDoubt says that the store did not answer in time: what was asked for may have been done, or may yet be. For
	// Submit the same Spec, with the same ID, may be submitted again at any time within the store's horizon.
	ErrInDoubt = errors.New("the store did not answer: the write is in doubt")
	// ErrClosed says that the kernel was closed.
	ErrClosed = errors.New("kernel is closed")
	// ErrFenced is the cause of a run's context when the task belongs to another by now, or may.
	ErrFenced = store.ErrFenced
	// ErrNotFound says that there is no such task, group or schedule.
	ErrNotFound = store.ErrNotFound
	// ErrDuplicate says that the unique key is held by another task.
	ErrDuplicate = store.ErrDuplicate
	// ErrState says that the record is not in a state that allows what was asked for.
	ErrState = store.ErrState
	// ErrChanged says that the record was changed since it was read.
	ErrChanged = store.ErrChanged
	// ErrInvalid says that what was handed over can never be stored. The text names the field and the fix.
	ErrInvalid = store.ErrInvalid
	// ErrDraining is the cause of a run's context when the process stops and the time for running on is up.
	ErrDraining = errors.New("the process is stopping")
	// ErrTimeout is the cause of a run's context when its attempt took too long.
	ErrTimeout = errors.New("the attempt took too long")
	// ErrCaller is the cause of a run's context when the caller of RunHere has stopped waiting.
	ErrCaller = errors.New("the caller has stopped waiting")
	// ErrAsked is the cause of a run's context when the task was asked to end: Run.Asked tells why.
	ErrAsked = errors.New("the task was asked to end")
	// ErrStuck says that handlers did not return after their contexts had ended.
	ErrStuck = errors.New("handlers do not return")

	errCallTimeout = errors.New("the store took too long to answer")
	errStopped     = errors.New("the kernel has stopped")
)

type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

// Permanent marks an error that no further attempt can mend: the task fails at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsPermanent reports whether an error is marked as one that no further attempt can mend.
func IsPermanent(err error) bool {
	var permanent permanentError
	return errors.As(err, &permanent)
}

type retryAfterError struct {
	err  error
	wait time.Duration
}

func (e retryAfterError) Error() string { return e.err.Error() }
func (e retryAfterError) Unwrap() error { return e.err }

// RetryAfter marks an error that knows when to try again. It counts as an attempt, as any error. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return retryAfterError{err, d}
}

type typedError struct {
	err  error
	kind string
}

func (e typedError) Error() string { return e.err.Error() }
func (e typedError) Unwrap() error { return e.err }

// Typed gives an error a word for machines, which stands in the task's Error.Type. Typed(kind, nil) is nil.
func Typed(kind string, err error) error {
	if err == nil {
		return nil
	}
	return typedError{err, kind}
}

// ErrorType returns the word that Typed gave to an error, or nothing.
func ErrorType(err error) string {
	var typed typedError
	if errors.As(err, &typed) {
		return typed.kind
	}
	return ""
}

// Done is the outcome of a run that ended well, with a result.
func Done(result []byte) Outcome { return Outcome{Kind: store.OutcomeDone, Result: result} }

// Failed is the outcome of a run that has failed for good, with a result all the same: what the OnEnd task, or who waits, is to
// know beyond the error. The reason is shown; empty: "permanent".
func Failed(reason string, err error, result []byte) Outcome {
	if reason == "" {
		reason = "permanent"
	}
	return Outcome{Kind: store.OutcomeFail, Reason: reason, Result: result, Error: describe(err)}
}

// Snooze is the outcome of a run that wants to be run again after d; it costs no attempt.
func Snooze(d time.Duration) Outcome { return Outcome{Kind: store.OutcomeSnooze, Delay: d} }

// Park is the outcome of a run that waits for a wake, or until d has passed if that is positive. A wake that came since the
// run began is not lost: it is ready again at once.
func (r *Run) Park(d time.Duration) Outcome {
	return Outcome{Kind: store.OutcomePark, Delay: d, Wakes: r.task.Wakes}
}

// Hold is the outcome of a run that an operator must look at.
func Hold(reason string) Outcome { return Outcome{Kind: store.OutcomeHold, Reason: reason} }

// Cancelled is the outcome of a run that ends its task as cancelled.
func Cancelled(reason string) Outcome { return Outcome{Kind: store.OutcomeCancel, Reason: reason} }

// describe makes the record of an error.
func describe(err error) *store.Error {
	e := &store.Error{Message: clip(err.Error(), 4096)}
	var typed typedError
	var crashed *panicError
	switch {
	case errors.As(err, &typed):
		e.Type = typed.kind
	case errors.As(err, &crashed):
		e.Type, e.Detail = "panic", crashed.stack
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Type = "timeout"
	}
	return e
}

// clip cuts a text that is too long to be stored, and says so.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:limit], len(text))
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
