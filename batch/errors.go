package batch

import (
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// What a caller decides on, beside kernel.ErrNotFound, ErrInDoubt and ErrInvalid.
var (
	// ErrLine says that a row has a line that no row can have: below 1, above MaxLine, or one that another row of the batch has.
	ErrLine = errors.New("bad line number")
	// ErrDuplicate says that a line was submitted before with another input, or under the same key with one.
	ErrDuplicate = kernel.ErrDuplicate
	// ErrState says that the batch is not in a state that allows this: a row for one that was released, Retry of one that was aborted.
	ErrState = kernel.ErrState
	// ErrNoFile says that a batch has no output file of this name, or not yet.
	ErrNoFile = errors.New("no such output file")
)

// LineError is what is wrong with one row of what was to be submitted.
type LineError struct {
	Line int64
	Err  error
}

// Error says which line is wrong, and why.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// Permanent marks an error of Row, or of Done, that no further attempt can mend. Permanent(nil) is nil.
func Permanent(err error) error { return kernel.Permanent(err) }

// RetryAfter marks an error that knows when to try again. It is a failed attempt, as any error. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error { return kernel.RetryAfter(d, err) }

func lineError(line int64, format string, args ...any) *LineError {
	return &LineError{Line: line, Err: fmt.Errorf(format, args...)}
}
