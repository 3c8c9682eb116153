package store

import "errors"

// What a caller decides on. Engines wrap these with what was being done; ask with errors.Is.
var (
	// ErrFenced says that the task does not run under the fence that was named. Nothing was written.
	ErrFenced = errors.New("fence lost")
	// ErrDead says that the worker was declared dead or has left, or never joined. It must join anew.
	ErrDead = errors.New("worker is dead")
	// ErrNotFound says that there is no such task, group, schedule or worker in this namespace.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate says that the unique key, or the id, is taken by another.
	ErrDuplicate = errors.New("duplicate")
	// ErrState says that the record is not in a state that allows this: a member for an open group, Retry of a running task.
	ErrState = errors.New("not possible in this state")
	// ErrChanged says that the record moved on since the caller read it: Tick, PutSchedule.
	ErrChanged = errors.New("changed meanwhile")
	// ErrInvalid says that what was handed over can never be stored. The text names the field and the fix.
	ErrInvalid = errors.New("invalid")
	// ErrClosed says that the handle was closed.
	ErrClosed = errors.New("store is closed")
)

// Answered reports whether err is an answer of the store. Any other error leaves open whether the call was applied.
func Answered(err error) bool {
	for _, e := range []error{ErrFenced, ErrDead, ErrNotFound, ErrDuplicate, ErrState, ErrChanged, ErrInvalid, ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
