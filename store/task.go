package store

import (
	"maps"
	"slices"
	"time"
)

// State says where a task stands.
type State string

// The states of a task. Ending is only read, never stored as the state: a running task with a staged outcome.
const (
	Scheduled State = "scheduled"
	Ready     State = "ready"
	Running   State = "running"
	Ending    State = "ending"
	Parked    State = "parked"
	Held      State = "held"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Terminal reports whether a task in this state has ended.
func (s State) Terminal() bool { return s == Done || s == Failed || s == Cancelled }

// Reasons that the store itself gives. Handlers and operators may give others.
const (
	ReasonCancelled = "cancelled" // somebody asked for it
	ReasonAborted   = "aborted"   // its group was aborted
	ReasonExpired   = "expired"   // not started by StartBy
	ReasonReplaced  = "replaced"  // another task took its unique key
	ReasonCrashed   = "crashed"   // it died alone once too often
	ReasonAttempts  = "attempts"  // no attempts are left
	ReasonStuck     = "stuck"     // taken from a living owner, long past the deadline of its attempt
	ReasonCorrupt   = "corrupt"   // the record cannot be read
	ReasonGroup     = "group"     // held until its group opens
	ReasonOrder     = "order"     // a task before it in its ordered lane failed
)

// Bounds that all engines keep.
const (
	Suspicion    = 2    // crashes since the last Save or park that make a suspect
	CrashBudget  = 20   // crashes in all that make a suspect whatever was saved
	HistoryLimit = 20   // events kept per task, the newest
	FollowLimit  = 1000 // follow-ups of one outcome; more go through a group
)

// Spec is what a submitter says of a task. The zero value of a field means what its comment says.
type Spec struct {
	ID       ID     // made by the submitter (MakeID): the same id is the same submit
	Kind     string // names the handler
	Queue    string // where it waits
	Lane     string // lane key: a tenant, a group, or empty
	Limit    string // key of the limit it counts against, or empty
	Order    Order  // tasks of the lane run one after the other; empty: in no order
	Priority int    // higher first; 0 is usual
	Args     []byte

	Delay   time.Duration // not before so long after the submit; 0: at once
	DueAt   time.Time     // not before; zero: at once. The later of Delay and DueAt counts, and stands in the record
	StartBy time.Duration // not started so long after the submit: ends as cancelled, reason expired; 0: never
	Timeout time.Duration // of one attempt; 0: none

	Retry       Retry
	Unique      Unique
	Fingerprint string // what a caller compares when it finds its unique key taken

	Group  ID    // a member of this group
	Line   int64 // its place in the group, for listing
	Parent ID    // woken when this task ends
	Owned  bool  // ended by its handler alone
	OnEnd  *Spec // submitted when this task ends, by whichever road; its ID, Parent and Group are set by the store

	Labels      map[string]string
	Correlation string
	Trace       string
	Sealed      ID            // the id under which Args are sealed; zero: they are not
	Retention   time.Duration // how long done and cancelled are kept; 0: without payload; negative: for ever
}

// Order says what an ordered lane does after a task that failed.
type Order string

// The orders. All but Unordered run the tasks of a lane one at a time, oldest id first.
const (
	Unordered  Order = ""
	OrderSkip  Order = "skip"  // the next one runs
	OrderBlock Order = "block" // nothing runs until the failed one is retried or deleted
	OrderFail  Order = "fail"  // those that were submitted before it failed, and come after it, fail as well
)

// Retry is the policy by which a kernel tries again.
type Retry struct {
	Max         int           // attempts in all; 0 or less: 1
	Base        time.Duration // wait after the first failure
	Factor      float64       // growth per failure; below 1: 2
	Cap         time.Duration // longest wait; 0: none
	CrashSpends bool          // a crash counts as a failed attempt, and waits as one
	Exact       bool          // no jitter
}

// Unique keeps a second task of the same kind and key out. The zero value asks for nothing.
type Unique struct {
	Key string
	// OnConflict says what becomes of a newcomer while the key is held.
	OnConflict Conflict
	// For is how long the key is held: 0 until the task ends; negative as long as its record is kept; otherwise so long
	// after its submit, ended or not, but not longer than its record is kept. A task that fails lets go of its key at once in every
	// case but KeyStays.
	For time.Duration
}

// KeyStays as Unique.For holds the key as long as the record is kept, also if the task failed: for who must be told the same
// task however it ended.
const KeyStays time.Duration = -2

// Conflict says what becomes of a newcomer whose unique key is held.
type Conflict string

// The conflicts.
const (
	Keep    Conflict = ""        // the holder stands; the newcomer is not stored, and is told which task stands
	Reject  Conflict = "reject"  // the newcomer is ErrDuplicate
	Replace Conflict = "replace" // a holder that waits ends as cancelled, reason replaced; one that runs or is Owned stands, as with Keep
	Latest  Conflict = "latest"  // as Replace, but a holder that runs goes on without the key: the newcomer has it, and runs as well
)

// Task is the record. Spec's fields stand in it as they were submitted, save for DueAt: when it is due, or became so.
type Task struct {
	Spec

	State    State
	Reason   string // why it is held or ended, if there is more to say than the state does
	Version  int64  // grows with each change of the record
	Round    int    // 0 at first; grows with each Retry
	Wakes    int64
	Suspect  bool
	Solo     bool   // a suspect that died in company
	Alone    bool   // the claim it runs under gave it to a worker that holds nothing else
	Saves    int64  // Seq of the last Save under the claim it runs under
	Asked    string // why it was asked to end; empty: it was not
	Told     bool   // the claim it runs under has told Asked
	Stripped bool   // ended with Retention 0: payload, checkpoint and history are gone

	Epoch   int64
	Nonce   ID     // of the claim it runs under; zero unless running
	Worker  string // owner; empty unless running
	Settled Settled
	Staged  *Outcome // ended, unsettled

	Attempts int // runs that ended in retry or fail
	Crashes  int
	CrashRun int  // since the last Save of an entry or the last park
	Charged  bool // the limit's rate was charged for this start

	CreatedAt  time.Time
	ReadyAt    time.Time // when it last became ready
	StartedAt  time.Time // when it was last claimed
	DeadlineAt time.Time // of the attempt under way; zero: none
	StartByAt  time.Time // zero: none, or started
	EndedAt    time.Time
	UpdatedAt  time.Time
	ExpireAt   time.Time // when Prune may remove it; zero: not yet

	Progress Progress
	Result   []byte
	Error    *Error
	History  []Event
}

// Read returns the state as a reader sees it: Ending for a running task whose outcome is staged.
func (t *Task) Read() State {
	if t.State == Running && t.Staged != nil {
		return Ending
	}
	return t.State
}

// Fence returns the fence the task runs under.
func (t *Task) Fence() Fence { return Fence{ID: t.ID, Epoch: t.Epoch, Nonce: t.Nonce} }

// Clone returns a copy that shares no map, slice or pointer with t, save for byte slices, which nobody changes in place.
func (t *Task) Clone() Task {
	c := *t
	c.Labels = maps.Clone(t.Labels)
	c.History = slices.Clone(t.History)
	if t.Error != nil {
		e := *t.Error
		c.Error = &e
	}
	return c
}

// Settled is the last outcome that was applied: what makes a repeat recognisable.
type Settled struct {
	Epoch int64
	Nonce ID
	Kind  OutcomeKind
}

// Progress is what a handler last said of how far it is.
type Progress struct {
	Done, Total int64
	Note        string
	At          time.Time
}

// Error is how an attempt failed.
type Error struct {
	Message string
	Type    string // a word for machines, or empty
	Detail  []byte // more, for those who may see it: a stack, a response
}

// EventKind names what happened to a task.
type EventKind string

// The events of a task's history.
const (
	EventClaimed   EventKind = "claimed"
	EventRetried   EventKind = "retried"
	EventSnoozed   EventKind = "snoozed"
	EventParked    EventKind = "parked"
	EventReleased  EventKind = "released"
	EventCrashed   EventKind = "crashed"   // its worker died, and a crash was counted
	EventRecovered EventKind = "recovered" // its worker died or left; no crash was counted
	EventHeld      EventKind = "held"
	EventFreed     EventKind = "freed"
	EventAsked     EventKind = "asked"
	EventAgain     EventKind = "again" // Retry
	EventEnded     EventKind = "ended"
)

// Event is one line of a task's history.
type Event struct {
	At     time.Time
	Kind   EventKind
	Epoch  int64
	Worker string
	Text   string // an error's message, a reason
}
