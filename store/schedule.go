package store

import "time"

// Overlap says what a tick does while the task of the tick before has not ended.
type Overlap string

// The overlaps.
const (
	OverlapSkip  Overlap = ""      // the tick passes without a task
	OverlapAllow Overlap = "allow" // it is submitted all the same
	OverlapQueue Overlap = "queue" // it is submitted, and waits its turn: its Task is ordered
)

// Schedule is a stored rule by which tasks are submitted. The store does not read the rule: drivers compute ticks.
type Schedule struct {
	Name     string
	Rule     string // what the driver reads: every 5m, a cron expression
	Zone     string
	CatchUp  string // what the driver does with ticks that were missed
	Overlap  Overlap
	Jitter   time.Duration
	Paused   bool
	Declared string // a digest of what a program declared; empty: none did
	Task     Spec   // its ID is set by Tick
	Version  int64
	LastTick time.Time // of this version; zero: none
	NextAt   time.Time // when a driver should look again; zero: never
	LastTask ID

	CreatedAt time.Time
	UpdatedAt time.Time
}

// TickRequest submits the task of one tick and advances the schedule in one step.
type TickRequest struct {
	Name    string
	Version int64
	Last    time.Time     // the LastTick that the driver saw
	Tick    time.Time     // at most the store's now, and after Last
	Next    time.Time     // the NextAt to store
	Delay   time.Duration // added to the delay of the task: its share of the jitter
	Skip    bool          // advance without a task: a missed tick that nobody wants
}

// TickResult tells what a tick did.
type TickResult struct {
	Task       ID   // zero: none was submitted
	Overlapped bool // the task before had not ended
}
