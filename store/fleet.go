package store

import "time"

// EvidenceKind says how a store can tell that a process is gone.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceNone    EvidenceKind = "none"    // silence alone decides
	EvidenceSession EvidenceKind = "session" // a session that ends with its process, and may end without
	EvidenceProof   EvidenceKind = "proof"   // what only the end of the process lets go
)

// Death says how a worker came to be dead.
type Death string

// The deaths.
const (
	DeathProof   Death = "proof"
	DeathGone    Death = "gone"
	DeathSilence Death = "silence"
	DeathLeft    Death = "left"
)

// Worker is one incarnation of a process.
type Worker struct {
	ID        string
	Beat      time.Duration // its own, as it joined
	DeadAfter time.Duration
	Info      WorkerInfo
	Evidence  EvidenceKind // what it holds now
	JoinedAt  time.Time
	BeatAt    time.Time
	DeadAt    time.Time // zero: alive
	Death     Death
	HeldAt    int // tasks it held when it was declared dead
	Load      Load
}

// WorkerInfo is what a worker tells of itself for others to read.
type WorkerInfo struct {
	Host    string
	PID     int
	Version string
	Slots   map[string]int
	Kinds   []string
}

// Load is what a worker says with each beat.
type Load struct {
	State   string // of its kernel: running, draining, …
	Running int
	Stuck   int
}

// JoinRequest creates an incarnation.
type JoinRequest struct {
	ID        string // fresh and random: host:pid:hex
	Beat      time.Duration
	DeadAfter time.Duration
	Info      WorkerInfo
	// Remote says that the worker's process is not the caller's: no evidence is taken for it, and any handle may speak for it. Silence
	// alone decides.
	Remote bool
}

// BeatRequest keeps a worker alive.
type BeatRequest struct {
	Worker string
	Load   Load
	Queues []string // served; none if the worker wants no more work
	Kinds  []string
}

// BeatResult is what the store wants a worker to know.
type BeatResult struct {
	Work     bool          // something in the served queues could be claimed now
	Ripe     bool          // Promote has something to do
	Ticks    bool          // a schedule is due
	Suspects bool          // it is this worker's turn to try suspects of the served queues: told to one worker per DeadAfter
	Asked    []HeldTask    // running here, and asked to end since their claim
	Every    time.Duration // beat so often: the worker's own Beat, longer in a large fleet, never over a fifth of the shortest DeadAfter
	Evidence EvidenceKind  // what the store sees this worker hold
}

// HeldTask is a task that a worker holds as the store sees it.
type HeldTask struct {
	Fence Fence
	Kind  string
	Asked string
}

// RecoverRequest runs one pass over the dead.
type RecoverRequest struct {
	Worker string // who asks; empty: nobody's session vouches for it, so no death by gone
	Limit  int    // tasks put back at most; 0: 100
	Force  bool   // pass the gate, however recent the last pass was
}

// RecoverResult tells what a pass did.
type RecoverResult struct {
	Gated  bool // another pass was too recent, or is under way: nothing was done
	Dead   []Worker
	Tasks  []Recovered
	Buried int           // records of dead workers removed
	More   bool          // there is more to put back right now
	Next   time.Duration // a session was seen gone: a verdict may be possible in so long; 0: none was
}

// Recovered is one task that was put back.
type Recovered struct {
	ID      ID
	Kind    string
	Queue   string
	Worker  string // who held it
	Death   Death  // how that worker died; empty: it lives, and the task was stuck
	Crash   bool   // a crash was counted
	State   State  // where the task stands now
	Reason  string
	Settled bool // a staged outcome was applied
}

// PromoteResult tells what a pass over time's work did.
type PromoteResult struct {
	Due     int           // scheduled and parked made ready
	Freed   int           // members freed by their group
	Expired int           // ended by StartBy
	Aborted int           // members of aborting groups ended or asked
	Marked  int           // members given their expiry
	More    bool          // there is more to do right now
	Next    time.Duration // the next one is due in so long; 0: none
}
