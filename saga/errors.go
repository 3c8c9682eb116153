package saga

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// What a caller or a step decides on, beside kernel.ErrDuplicate, ErrInvalid, ErrNotFound and ErrInDoubt.
var (
	// ErrFailed says that the saga has failed, and that all that was done is undone.
	ErrFailed = errors.New("failed")
	// ErrCancelled says that the saga was cancelled: Error.Reason tells why.
	ErrCancelled = errors.New("cancelled")
	// ErrHalted says that a step has stopped the saga on purpose, and that its work was kept.
	ErrHalted = errors.New("halted")
	// ErrStuck says that something could not be undone: an operator must look at it. Error.Rollback lists what.
	ErrStuck = errors.New("stuck")
	// ErrForgotten says that the saga is done, and that its result was not kept.
	ErrForgotten = errors.New("done, but its result was not kept")
	// ErrUnwinding is the cause of a step's context when another step has failed, or the saga was cancelled.
	ErrUnwinding = errors.New("the saga is being rolled back")
	// ErrStepTimeout is the cause of a step's context when its attempt took too long: whether it took effect is not known.
	ErrStepTimeout = errors.New("the step took too long")
	// ErrNotWaiting says that a signal came too late: the saga has ended, is being rolled back, or was answered before.
	ErrNotWaiting = errors.New("the saga does not wait for this signal any more")
	// ErrPivot says that the saga is past its point of no return, and cannot be rolled back.
	ErrPivot = errors.New("the saga is past its point of no return")
	// ErrDeadline is the failure of a saga that took longer than its Deadline.
	ErrDeadline = errors.New("the saga took longer than its deadline")
	// ErrOrphaned is the failure of a saga whose caller was gone before workers could go on: see OnOrphan.
	ErrOrphaned = errors.New("the caller is gone")
	// ErrUnsealed says that a saga with secrets meets a kernel that seals nothing: set kernel.Config.Sealer.
	ErrUnsealed = errors.New("the saga has secrets, and the kernel has no sealer: set kernel.Config.Sealer")
)

// Outcome says what is known of a step that did not complete.
type Outcome string

// The outcomes of a step that did not complete.
const (
	OutcomeFailed  Outcome = "failed"  // it says that it had no effect
	OutcomeUnknown Outcome = "unknown" // nobody knows: it timed out, panicked, was interrupted, or its process died
)

// Failure is what a compensation is told of the step that failed.
type Failure struct {
	Step    string
	Outcome Outcome
	Key     string // the key that the step had on each of its attempts: see Key
	Attempt int    // attempts that were made
	Err     error  // of the last one
}

type marked struct {
	err       error
	permanent bool
	unknown   bool
	after     time.Duration
	delayed   bool
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }

// Permanent marks an error that no further attempt can mend. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, permanent: true}
}

// RetryAfter marks an error that knows when to try again. It counts as an attempt, as any error. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, after: max(d, 0), delayed: true}
}

// Unknown marks an error after which nobody knows whether the step took effect. Unknown(nil) is nil.
func Unknown(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, unknown: true}
}

// marks collects what the errors in a chain say.
func marks(err error) (m marked) {
	for err != nil {
		if next := (*marked)(nil); errors.As(err, &next) {
			m.permanent = m.permanent || next.permanent
			m.unknown = m.unknown || next.unknown
			if next.delayed && !m.delayed {
				m.after, m.delayed = next.after, true
			}
			err = next.err
			continue
		}
		break
	}
	return m
}

type skipError struct{}

func (skipError) Error() string { return "skipped" }

// Skip is what a step returns that had nothing to do: the value is handed on, and the step is never undone.
//
//	return saga.Skip(found)
func Skip[R any](v R) (R, error) { return v, skipError{} }

type haltError struct{ reason string }

func (h haltError) Error() string { return "halted: " + h.reason }

// Halt returns an error by which a step ends the saga where it stands: no later step runs, nothing is undone.
func Halt(reason string) error { return haltError{reason} }

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// Error is how a saga ended that did not end well. It is ErrFailed, ErrCancelled, ErrHalted or ErrStuck.
type Error struct {
	Saga    string
	ID      kernel.ID
	State   State  // Failed, Cancelled, Halted or Stuck
	Step    string // that failed or halted; empty: none did
	Outcome Outcome
	Reason  string // of a cancel or a halt
	Message string // of the failed step's last error: the business error
	Type    string // a word for machines: invalid, panic, timeout, or what the step gave by kernel.Typed
	// Fields are the errors of an input that was refused.
	Fields []FieldError
	// Rollback lists what could not be undone, and what waits for it. Empty: all that was done is undone.
	Rollback []RollbackFailure

	err error // in the process where it happened
}

// RollbackFailure is a step that was not undone.
type RollbackFailure struct {
	Step    string
	Kind    string // undo or compensate
	Message string // of its last error; empty: it waits for a step that was not undone
}

// Error says which saga ended how, at which step, and why.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "saga %s (task %s) %s", e.Saga, e.ID, e.State)
	if e.Step != "" {
		fmt.Fprintf(&b, " at step %s", e.Step)
	}
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, f := range e.Rollback {
		if f.Message == "" {
			fmt.Fprintf(&b, "; %s of %s waits", f.Kind, f.Step)
		} else {
			fmt.Fprintf(&b, "; %s of %s failed: %s", f.Kind, f.Step, f.Message)
		}
	}
	return b.String()
}

// Unwrap returns ErrFailed, ErrCancelled, ErrHalted or ErrStuck, and the step's own error where it is known.
func (e *Error) Unwrap() []error {
	kind := ErrFailed
	switch e.State {
	case Cancelled:
		kind = ErrCancelled
	case Halted:
		kind = ErrHalted
	case Stuck:
		kind = ErrStuck
	}
	if e.err == nil {
		return []error{kind}
	}
	return []error{kind, e.err}
}

// FieldError is one thing that is wrong with an input.
type FieldError struct {
	Field   string
	Message string
}

// Error says which field is wrong, and how.
func (f FieldError) Error() string { return f.Field + ": " + f.Message }

// Invalid makes an error about one field of an input, for Validate. Join several with errors.Join: all are told at once.
func Invalid(field, message string) error { return FieldError{field, message} }

// fieldErrors collects the field errors of an error that may be joined of many.
func fieldErrors(err error) []FieldError {
	switch e := err.(type) { //nolint:errorlint // the tree is walked by hand, branch by branch
	case nil:
		return nil
	case FieldError:
		return []FieldError{e}
	case interface{ Unwrap() []error }:
		var all []FieldError
		for _, next := range e.Unwrap() {
			all = append(all, fieldErrors(next)...)
		}
		return all
	case interface{ Unwrap() error }:
		return fieldErrors(e.Unwrap())
	}
	return nil
}
