// Package crash runs real worker processes on a store, kills and stops them, and judges what became of the work. The judge stands
// outside the store: it reads what submitters were told and what workers wrote into files of their own, line by line, before
// and after each outcome. `outlast demo` and `make crash` are two faces of it.
package crash

import (
	"context"
	"os/exec"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Config says what is run. Every field but Open and Worker has a default.
type Config struct {
	Store   string        // URL, told in the report; workers open it by themselves
	Workers int           // processes at work at a time; 3
	Slots   int           // runs at once in each; 10
	Tasks   int           // submitted in all; 2,000
	Kills   int           // SIGKILL, each to a worker that is at work
	Stops   int           // SIGSTOP for longer than dead-after, then SIGCONT
	Seconds int           // a long trial: go on for so long, whatever Tasks, Kills and Stops say; 0: no
	Rate    int           // tasks a second in a long trial; 140
	Pace    float64       // of what is done in a long trial: 2 is twice as often; 1
	Only    []string      // of the acts of a long trial; none: all
	Mixed   bool          // all kinds of work, and not only plain tasks
	Calm    bool          // nobody is killed or stopped
	Seed    uint64        // of what is killed when
	Dir     string        // for the logs of the workers; it must exist
	Beat    time.Duration // of the workers; 0: the kernel's default
	Dead    time.Duration // dead-after of the workers; 0: the kernel's default

	// Open opens the store in this process.
	Open func(ctx context.Context) (store.Store, error)
	// Worker makes the command of a worker process, which opens the store at url and calls Work with these arguments.
	Worker func(ctx context.Context, url string, args []string) *exec.Cmd
	// Stage is what a long trial can do to the store.
	Stage Stage
	// Watch is told how it goes, several times a second. It may be nil.
	Watch func(Status)
}

// Stage is what surrounds a store in a long trial. What is nil cannot be done to it.
type Stage struct {
	// Server is host and port of the store's server, and Via the URL of the store by another host and port: each worker gets a Link of its own.
	Server string
	Via    func(addr string) string
	// Reopen opens the store at a URL in this process.
	Reopen func(ctx context.Context, url string) (store.Store, error)
	// KillServer kills the server of the store and starts it again. Without it all workers are killed at once instead: they are the store's
	// only processes.
	KillServer func(ctx context.Context) error
	// Cut ends about half of the sessions with the store, CutIdle those that do nothing.
	Cut, CutIdle func(ctx context.Context) error
	// Fill leaves no room on the disk of the store, until Free, which also starts a server again that has ended for want of it.
	Fill, Free func(ctx context.Context) error
}

// Status is how a run stands.
type Status struct {
	Elapsed   time.Duration
	Tasks     int // to be submitted; 0: not known before
	Submitted int
	Done      int
	Kills     int
	Stops     int
	Recovered int // tasks that were put back
	Refused   int // late outcomes
	Workers   []WorkerStatus
	Event     string // what happened last
	Ending    bool   // nothing is killed any more; the rest of the work ends
}

// WorkerStatus is one process.
type WorkerStatus struct {
	Name    string
	PID     int
	State   string // working, stopped, killed
	Started int
	Done    int
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = 3
	}
	if c.Slots == 0 {
		c.Slots = 10
	}
	if c.Tasks == 0 {
		c.Tasks = 2000
	}
	if c.Pace == 0 {
		c.Pace = 1
	}
	if c.Rate == 0 {
		c.Rate = 140
	}
	if c.Dead == 0 {
		c.Dead = 15 * time.Second
	}
	if c.Watch == nil {
		c.Watch = func(Status) {}
	}
	return c
}
