package job

import (
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// What a caller decides on, beside kernel.ErrDuplicate, ErrInvalid, ErrNotFound and ErrInDoubt.
var (
	// ErrFailed says that the job has failed for good.
	ErrFailed = errors.New("failed")
	// ErrCancelled says that the job was cancelled, by whomever: Error.Reason tells why.
	ErrCancelled = errors.New("cancelled")
	// ErrForgotten says that the job is done, and that its result was not kept: Retention was Forget.
	ErrForgotten = errors.New("done, but its result was not kept")
	// ErrNoRun says that the context is not that of a run, or that the run is over.
	ErrNoRun = errors.New("not inside a run of a job")
)

// Error is how a job ended that did not end well. It is ErrFailed or ErrCancelled.
type Error struct {
	Job      string
	ID       kernel.ID
	State    State  // Failed or Cancelled
	Reason   string // permanent, attempts, crashed, expired, replaced, …, or the reason given to Cancel
	Message  string // of the last attempt's error; empty: none has failed
	Type     string // a word for machines: decode, encode, panic, timeout, stuck, or what the function gave by kernel.Typed
	Attempts int    // that have failed
}

// Error says which job ended how, after how many attempts, and why.
func (e *Error) Error() string {
	text := fmt.Sprintf("job %s (task %s) %s", e.Job, e.ID, e.State)
	if e.Reason != "" && e.Reason != string(e.State) {
		text += " (" + e.Reason + ")"
	}
	if e.Attempts > 0 {
		text += fmt.Sprintf(" after %d failed attempts", e.Attempts)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns ErrFailed or ErrCancelled.
func (e *Error) Unwrap() error {
	if e.State == Cancelled {
		return ErrCancelled
	}
	return ErrFailed
}

// Permanent marks an error that no further attempt can mend: the job fails at once. Permanent(nil) is nil.
func Permanent(err error) error { return kernel.Permanent(err) }

// RetryAfter marks an error that knows when to try again. It is a failed attempt, as any error. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error { return kernel.RetryAfter(d, err) }

// Snooze returns an error by which a run says: not now, again after d. It is no failed attempt, what was saved stays, and there
// is no bound to how often a job may snooze.
func Snooze(d time.Duration) error { return snooze(max(d, 0)) }

type snooze time.Duration

func (s snooze) Error() string { return fmt.Sprintf("snooze for %v", time.Duration(s)) }
