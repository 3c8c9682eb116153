package store

import "time"

// Filter picks tasks. Empty fields match all; all that are set must match.
type Filter struct {
	States []State // Ending matches as Running
	Kinds  []string
	Queue  string
	Group  ID
	Parent ID
	Worker string
	Labels map[string]string
	Unique string // unique key; needs exactly one kind
	Before time.Time
	After  time.Time // created
}

// PageRequest pages through a list.
type PageRequest struct {
	Cursor  string // of the page before; empty: the first page
	Limit   int    // 0: 100; 1,000 at most
	Oldest  bool   // oldest first; otherwise newest first. Members of one Group are listed by Line, then id, whatever Oldest says
	Payload bool   // with Args, Result and History
}

// Page is a part of a list. Cursor is empty on the last page.
type Page[T any] struct {
	Items  []T
	Cursor string
}

// QueueStatus counts what waits in a queue. Counts stop at CountLimit.
type QueueStatus struct {
	Queue                             string
	Ready, Scheduled, Parked, Running int64
	OldestAt                          time.Time // ReadyAt of the oldest ready task; where more than a hundred are, of the oldest that the store looks at
	Paused                            bool
}

// CountLimit is where counting on reads stops: a count of so many means that there are so many or more. What somebody looks at must cost the
// store the same whatever waits in it.
const CountLimit = 10_000

// StatsKept is how long the statistics of a minute are kept; Prune removes older ones.
const StatsKept = 31 * 24 * time.Hour

// Minute is what happened in one minute to the tasks of one queue and kind.
type Minute struct {
	At    time.Time // begin of the minute
	Queue string
	Kind  string

	Submitted, Claimed, Done, Failed, Cancelled, Retried, Crashed int64
	Waited                                                        time.Duration // sum over claims, from ready to claimed
	Ran                                                           time.Duration // sum over outcomes, from claimed to settled
}

// Notice is a hint that something changed. Notices may be lost, late, doubled: a reader looks, and does not trust.
type Notice struct {
	Kind  NoticeKind
	Queue string // NoticeWork
	Task  ID     // NoticeTask, NoticeAsked
	// Moving says of NoticeTask that the change has left the task on its way, neither ended nor held: who waits for its rest need not look.
	// An end that comes after it is told by a notice of its own. False says nothing.
	Moving bool
}

// NoticeKind says what a notice hints at.
type NoticeKind string

// The notices.
const (
	NoticeStart NoticeKind = "start" // the watch listens from now on: what came before it may have been missed. It comes again when the reader could not keep up
	NoticeWork  NoticeKind = "work"  // a queue may have claimable work, now or sooner than was known
	NoticeTask  NoticeKind = "task"  // a task that this handle follows has changed
	NoticeAsked NoticeKind = "asked" // a running task was asked to end
)

// Entry is one record of an Export. Exactly one pointer is set.
type Entry struct {
	Task     *Task
	Group    *Group
	Worker   *Worker
	Limit    *LimitStatus
	Schedule *Schedule
	Key      *Key
	Message  *Message // not consumed
}

// Key is a unique key that is held.
type Key struct {
	Kind, Key string
	Task      ID
	Until     time.Time // zero: until its task lets go
}

// Info tells what a store is.
type Info struct {
	Engine    string
	Namespace string
	ID        string       // made by chance with the namespace, the same for ever: no two have it. Empty: the engine cannot tell
	Version   string       // of the engine beneath
	Schema    int          // of the records
	Evidence  EvidenceKind // what workers of this handle can hold
	Survives  string       // in plain words: what accepted work survives
	Volatile  bool         // nothing survives the end of the process
	Timing    Timing
}
