package endpoint

import (
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/kernel"
)

// State is how a task stands, as clients are told it. The numbers are fixed: clients store them.
type State int

// The states. Only the last three are endings.
const (
	Queued     State = 100 // waits for a slot
	Scheduled  State = 200 // waits for its time: a retry
	InProgress State = 300
	Completed  State = 400
	Failed     State = 500
	Canceled   State = 600
)

// steps is the one table of what may follow what. From an ending it goes on only if an operator retries the task.
var steps = map[State][]State{
	Queued:     {Scheduled, InProgress, Completed, Failed, Canceled},
	Scheduled:  {Queued, InProgress, Failed, Canceled},
	InProgress: {Queued, Scheduled, Completed, Failed, Canceled}, // Queued: its worker died or left
	Completed:  {},
	Failed:     {Queued, Scheduled},
	Canceled:   {Queued, Scheduled},
}

// names are the words of the states on the wire.
var names = map[State]string{
	Queued: "Queued", Scheduled: "Scheduled", InProgress: "InProgress", Completed: "Completed", Failed: "Failed", Canceled: "Canceled",
}

// Next reports whether a task may go from s to another state in one step. Staying is allowed.
func (s State) Next(to State) bool {
	return names[s] != "" && (s == to || slices.Contains(steps[s], to))
}

// Ended reports whether s is an ending.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Canceled }

// String returns the word of the state.
func (s State) String() string {
	if name := names[s]; name != "" {
		return name
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// MarshalText writes the word of the state.
func (s State) MarshalText() ([]byte, error) {
	if names[s] == "" {
		return nil, fmt.Errorf("endpoint: there is no state %d", int(s))
	}
	return []byte(names[s]), nil
}

// UnmarshalText reads the word of a state.
func (s *State) UnmarshalText(text []byte) error {
	for state, name := range names {
		if name == string(text) {
			*s = state
			return nil
		}
	}
	return fmt.Errorf("endpoint: there is no state %.40q", text)
}

// wire maps the kernel's states to those of clients.
var wire = map[kernel.TaskState]State{
	"scheduled": Scheduled, "ready": Queued, "running": InProgress, "ending": InProgress, "parked": Scheduled, "held": Scheduled,
	"done": Completed, "failed": Failed, "cancelled": Canceled,
}

// kernelStates returns the kernel's states that clients see as s.
func kernelStates(s State) []kernel.TaskState {
	var list []kernel.TaskState
	for have, shown := range wire {
		if shown == s {
			list = append(list, have)
		}
	}
	slices.Sort(list)
	return list
}
