package endpoint

import (
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Recovery is a set of options as systems with a recovery service of their own have them, mapped to what the kernel and an
// endpoint do: Kernel for the processes that work, Endpoint for those that accept. The kernel recovers without any of them, within
// seconds. Who is dead is told by beats and proof, never by how long a task runs.
type Recovery struct {
	// Disabled switches recovery off in a process: others must do it. Default: it is on. (EnableDistributedJobRecovery, turned)
	Disabled bool
	// JobTimeout is the Timeout of an attempt: its context ends, and a run that is alive but stuck is taken from its worker a
	// minute later. Default 30 minutes. (JobTimeoutMinutes)
	JobTimeout time.Duration
	// CheckInterval is how often a process looks for dead workers. Default: the kernel's, 1.2 s. (RecoveryCheckIntervalSeconds)
	CheckInterval time.Duration
	// MaximumRetries is how often a task is tried again. Default 3; negative: not at all. (MaximumRetries)
	MaximumRetries int
	// RetryDelayBase is the base of the wait before the n-th retry: 2^n × RetryDelayBase. Default 5 s. (RetryDelayBaseSeconds)
	RetryDelayBase time.Duration
	// CrashKeepsAttempt makes the death of a worker cost nothing, as the kernel has it by default. Otherwise, as with those systems,
	// it is a failed attempt, with its wait.
	CrashKeepsAttempt bool
}

// Kernel returns a kernel's Config with what of the options is the kernel's.
func (r Recovery) Kernel(cfg kernel.Config) kernel.Config {
	if r.CheckInterval > 0 {
		cfg.RecoverEvery = r.CheckInterval
	}
	if r.Disabled {
		cfg.RecoverEvery = -1
	}
	return cfg
}

// Endpoint returns an endpoint's Config with what of the options is the task's.
func (r Recovery) Endpoint(cfg Config) Config {
	cfg.Timeout, cfg.MaxRetries, cfg.RetryBase = 30*time.Minute, 3, 5*time.Second
	if r.JobTimeout != 0 {
		cfg.Timeout = r.JobTimeout
	}
	if r.MaximumRetries != 0 {
		cfg.MaxRetries = r.MaximumRetries
	}
	if r.RetryDelayBase != 0 {
		cfg.RetryBase = r.RetryDelayBase
	}
	cfg.CrashSpendsAttempt = !r.CrashKeepsAttempt
	return cfg
}

// RecoveryStats counts what recovery does in a process: let kernel.Config.Observe call Observe. The zero value is ready.
type RecoveryStats struct {
	mu    sync.Mutex
	count RecoveryCount
}

// RecoveryCount is what recovery has done since the process began.
type RecoveryCount struct {
	Passes    int64         // answered
	Recovered int64         // tasks put back, or ended because no attempt was left
	Took      time.Duration // of all passes
	Last      time.Duration // of the last one
	LastAt    time.Time     // when it ended; zero: there was none
}

// Observe takes in an event.
func (s *RecoveryStats) Observe(e kernel.Event) {
	if e.Kind != kernel.RecoveryRan {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Passes++
	s.count.Recovered += int64(e.Count)
	s.count.Took += e.Took
	s.count.Last, s.count.LastAt = e.Took, e.At
}

// Count returns what was counted.
func (s *RecoveryStats) Count() RecoveryCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
