package kernel

import (
	"context"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// The words of the store that users of the kernel share with it.
type (
	// ID names a task, a group or a message.
	ID = store.ID
	// Spec is what a submitter says of a task.
	Spec = store.Spec
	// Task is the record of a task.
	Task = store.Task
	// Submitted is what became of a Spec.
	Submitted = store.Submitted
	// Outcome is how a run ended. The zero Outcome with no error is done.
	Outcome = store.Outcome
	// Completion is an outcome under its fence, for a transaction of the user's.
	Completion = store.Completion
	// Retry is the policy by which a task is tried again.
	Retry = store.Retry
	// Unique keeps a second task of the same kind and key out.
	Unique = store.Unique
	// NewGroup creates a group.
	NewGroup = store.NewGroup
	// Group is the record of a group.
	Group = store.Group
	// Message is a signal to a task.
	Message = store.Message
	// Schedule is a stored rule by which tasks are submitted.
	Schedule = store.Schedule
	// Progress is how far a run is.
	Progress = store.Progress
	// TaskState says where a task stands.
	TaskState = store.State
	// Conflict says what becomes of a newcomer whose unique key is held.
	Conflict = store.Conflict
	// Order says what an ordered lane does after a task that failed.
	Order = store.Order
	// Limit bounds the tasks of one limit key across the fleet.
	Limit = store.Limit
	// Overlap says what a tick of a schedule does while the task before has not ended.
	Overlap = store.Overlap
	// Filter picks tasks of a list.
	Filter = store.Filter
	// PageRequest pages through a list.
	PageRequest = store.PageRequest
	// Rate bounds the starts of one limit key.
	Rate = store.Rate
	// Scope names lanes, for Pause and Resume.
	Scope = store.Scope
	// Pause keeps claims away from a scope.
	Pause = store.Pause
)

// OnEndID returns the id that the OnEnd task of a task has, or will have, in the task's present round.
func OnEndID(t Task) ID { return store.OnEndID(t.ID, t.Round) }

// ParseID reads an id: a UUID of 36 letters. An empty text is the zero ID.
func ParseID(text string) (ID, error) { return store.ParseID(text) }

// KeyLimit is how many bytes a key, a lane or the value of a label may have.
const KeyLimit = store.KeyLimit

// FollowLimit is how many follow-ups one Outcome may have.
const FollowLimit = store.FollowLimit

// Handler runs the tasks of one kind. It returns the outcome, or an error: the attempt has failed, and is tried again as the
// task's Retry says, unless the error says otherwise (Permanent, RetryAfter, Snooze). The context ends when the attempt's time
// is up, when the task is asked to end, when the process stops, and when the task was lost to another: context.Cause tells which.
type Handler func(ctx context.Context, run *Run) (Outcome, error)

// DeriveID makes an id of its parts: the same parts, the same id. It never meets one of NewID.
func DeriveID(parts ...string) ID { return store.DeriveID(parts...) }

// NewID makes an id for a task, a group or a message. The ids of one kernel grow, also within a millisecond.
func (k *Kernel) NewID() ID { return k.ids.next(k.env.Now(), k.env.Random()) }

// idSource makes ids that grow: the twelve bits after the time count within a millisecond.
type idSource struct {
	mu    sync.Mutex
	ms    int64
	count uint16
}

func (s *idSource) next(now time.Time, random [16]byte) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ms := now.UnixMilli(); {
	case ms > s.ms:
		s.ms, s.count = ms, uint16(random[6]&0x07)<<8|uint16(random[7]) // the upper half is left to count in
	case s.count == 0xfff:
		s.ms, s.count = s.ms+1, 0
	default:
		s.count++
	}
	id := store.MakeID(time.UnixMilli(s.ms), random)
	id[6], id[7] = 0x70|byte(s.count>>8), byte(s.count)
	return id
}
