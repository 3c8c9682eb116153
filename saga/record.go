package saga

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// The entries of a saga's checkpoint: one for the saga as a whole, one for each step that has something to tell, one for each secret.
const (
	lifeEntry    = "saga"
	stepEntry    = "step/"
	secretEntry  = "secret/"
	recordFormat = 1
)

// args is what a saga's task carries: the input, and what it was when it was started.
type args struct {
	Format int             `json:"format"`
	Hash   string          `json:"hash"`
	Shape  string          `json:"shape"` // of the input
	Vault  bool            `json:"vault,omitempty"`
	Caller bool            `json:"caller,omitempty"` // it was begun by Run, and is rolled back if its caller is gone
	In     json.RawMessage `json:"in"`
}

type phase string

const (
	forward   phase = ""          // steps run
	settling  phase = "settling"  // something has failed; what still runs is waited for
	unwinding phase = "unwinding" // compensations, then undos
	mended    phase = "mended"    // everything is undone, or never will be: only the ending is to be written
)

// life is the saga as a whole.
type life struct {
	Phase   phase             `json:"phase,omitempty"`
	Failure *failure          `json:"failure,omitempty"`
	Hash    string            `json:"hash"` // of the definition that wrote last
	Clean   int64             `json:"clean,omitempty"`
	Since   int64             `json:"since,omitempty"` // unix milliseconds: since when it lacks a definition
	Lacks   []string          `json:"lacks,omitempty"` // what of the definition is missing here
	Locked  []lock            `json:"locked,omitempty"`
	Stuck   []RollbackFailure `json:"stuck,omitempty"`
	Waits   string            `json:"waits,omitempty"`   // the lock it waits for
	Adopted bool              `json:"adopted,omitempty"` // a worker has begun it: its caller has nothing to do with it
	Events  []Event           `json:"events,omitempty"`
}

// failure is why a saga is rolled back.
type failure struct {
	Step    string       `json:"step,omitempty"`
	Outcome Outcome      `json:"outcome,omitempty"`
	Cancel  string       `json:"cancel,omitempty"` // the reason, if it was cancelled
	Abandon bool         `json:"abandon,omitempty"`
	Fault   *fault       `json:"fault,omitempty"`
	Fields  []FieldError `json:"fields,omitempty"`
}

// fault is an error as it is stored.
type fault struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
}

func (f *fault) Error() string { return f.Message }

type stepState string

const (
	begun   stepState = ""        // not over; it may have failed before, and be tried again
	sent    stepState = "sent"    // a task of its own runs it
	waiting stepState = "waiting" // for a signal, or for its time
	done    stepState = "done"
	skipped stepState = "skipped"
	ignored stepState = "ignored" // failed, and that is all right
	failed  stepState = "failed"
)

type backState string

const (
	notBack     backState = ""
	backSent    backState = "sent" // a task of its own undoes it
	compensated backState = "compensated"
	undone      backState = "undone"
	backFailed  backState = "failed" // for good: an operator is needed
	resolved    backState = "resolved"
)

// record is one step.
type record struct {
	State   stepState       `json:"state,omitempty"`
	Seq     int64           `json:"seq,omitempty"` // its place in the order of completion
	Shape   string          `json:"shape,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Attempt int             `json:"attempt,omitempty"` // that have failed
	Outcome Outcome         `json:"outcome,omitempty"` // of the last one that did
	Fault   *fault          `json:"fault,omitempty"`
	Unbegun bool            `json:"unbegun,omitempty"` // failed before its body began
	NextAt  time.Time       `json:"next,omitzero"`     // when it is tried again; until when it waits
	Task    kernel.ID       `json:"task,omitzero"`     // that runs it, or undoes it
	Ran     kernel.ID       `json:"ran,omitzero"`      // that has run it, and still has its secrets
	Group   kernel.ID       `json:"group,omitzero"`
	Items   []item          `json:"items,omitempty"`
	Winner  kernel.ID       `json:"winner,omitzero"` // the message that answered a wait

	Back        backState `json:"back,omitempty"`
	BackAttempt int       `json:"back_attempt,omitempty"`
	BackNextAt  time.Time `json:"back_next,omitzero"`
	BackFault   *fault    `json:"back_fault,omitempty"`
	Note        string    `json:"note,omitempty"` // of who resolved it

	Events []Event `json:"events,omitempty"`

	value   any
	decoded bool
}

// item is an element of a map that was given to a task of its own.
type item struct {
	Task  kernel.ID `json:"task"`
	State stepState `json:"state,omitempty"`
	Err   string    `json:"err,omitempty"`

	Undo        kernel.ID `json:"undo,omitzero"`
	Back        backState `json:"back,omitempty"`
	BackAttempt int       `json:"back_attempt,omitempty"`
	BackNextAt  time.Time `json:"back_next,omitzero"`
	BackFault   *fault    `json:"back_fault,omitempty"`
}

// over reports whether what comes after the step may begin.
func (r *record) over() bool {
	return r != nil && (r.State == done || r.State == skipped || r.State == ignored)
}

// Event is one line of a saga's timeline.
type Event struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Step    string    `json:"step,omitempty"` // empty: of the saga as a whole
	Kind    string    `json:"kind"`
	Attempt int       `json:"attempt,omitempty"`
	Text    string    `json:"text,omitempty"` // an error's message, a reason, a note
}

// String is the kind and the step, as sagatest compares them.
func (e Event) String() string { return strings.TrimSpace(e.Kind + " " + e.Step) }

// The kinds of events.
const (
	EventSent        = "sent" // given to a task of its own
	EventDone        = "done"
	EventSkipped     = "skipped"
	EventFailed      = "failed"    // an attempt; of the whole saga: the end
	EventIgnored     = "ignored"   // a BestEffort step has failed for good
	EventUnknown     = "unknown"   // it was under way when its process died, and is not tried again
	EventStopped     = "stopped"   // it was under way when another one failed
	EventWaiting     = "waiting"   // for a signal, or asleep
	EventUnwinding   = "unwinding" // the rollback begins
	EventUndoSent    = "undo sent"
	EventCompensated = "compensated"
	EventUndone      = "undone"
	EventUndoFailed  = "undo failed" // an attempt at undo or compensation
	EventResolved    = "resolved"    // by an operator
	EventAgain       = "undo again"  // by an operator
	EventStuck       = "stuck"
	EventHalted      = "halted"
	EventCompleted   = "completed"
	EventCancelled   = "cancelled"
)

// asFault makes the record of an error.
func asFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Message: clip(err.Error(), 2048), Type: kernel.ErrorType(err)}
	var p *panicError
	switch {
	case f.Type != "":
	case errors.As(err, &p):
		f.Type = "panic"
	case errors.Is(err, ErrStepTimeout):
		f.Type = "timeout"
	}
	return f
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:most], len(text))
}

// toJSON is for what always encodes: our own records.
func toJSON(v any) []byte {
	data, err := encode.JSON(v)
	if err != nil {
		panic(fmt.Sprintf("saga: a record does not encode: %v", err))
	}
	return data
}
