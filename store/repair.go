package store

import (
	"fmt"
	"time"
)

// Repair names one thing that a store derives from the records of tasks: exactly one of Limit, Key and Group.
type Repair struct {
	Limit     string // the slots taken under this limit key
	Kind, Key string // who holds this unique key
	Task      ID     // with a Key: it is given to this task if nobody holds it, and if the task must; zero: to nobody
	Group     ID     // the counts of this group
}

// Validate says what is wrong with it.
func (r Repair) Validate() error {
	n := 0
	for _, named := range []bool{r.Limit != "", r.Kind != "" && r.Key != "", !r.Group.IsZero()} {
		if named {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%w: a repair names a limit, a unique key with its kind, or a group", ErrInvalid)
	}
	return nil
}

// Holds reports whether a task may be the holder of a unique key that is held until then; zero: until the task lets go of it.
func (t *Task) Holds(kind, key string, until time.Time) bool {
	return t.Kind == kind && t.Unique.Key == key && t.kept() && (t.Unique.For > 0) == !until.IsZero()
}

// kept reports whether a task has not let go of its key by its end.
func (t *Task) kept() bool {
	switch {
	case t.State == Failed:
		return t.Unique.For == KeyStays
	case t.State.Terminal():
		return t.Unique.For != 0 && t.Reason != ReasonReplaced
	}
	return true
}
