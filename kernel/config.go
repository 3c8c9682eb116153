package kernel

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
)

// Values by which a Spec asks for what the zero value cannot say.
const (
	// Forget as a Retention keeps nothing but the bare record of a task that ended well.
	Forget time.Duration = 1
	// NoTimeout as a Timeout lets an attempt run as long as it likes.
	NoTimeout time.Duration = -1
	// KeyStays as a Unique.For holds the key as long as the record is kept, also if the task failed.
	KeyStays = store.KeyStays
	// DefaultQueue is where tasks wait that name none.
	DefaultQueue = "default"
)

// Config sets up a kernel. Its zero value works; every field tells its default.
type Config struct {
	// Slots is how many tasks of each queue run at once in this process. Default: 100 of the queue "default". A queue that
	// is not named is not served.
	Slots map[string]int

	// Beat is how often the worker says that it lives. Default 1 s; at most a fifth of DeadAfter. (heartbeat_interval)
	Beat time.Duration
	// DeadAfter is how long the worker may be silent before others take its tasks. Default 15 s. (orphan_threshold)
	DeadAfter time.Duration

	// ShutdownTimeout is how long runs may go on once Run's context has ended. Default 30 s; negative: not at all.
	ShutdownTimeout time.Duration
	// CallTimeout is how long one call of the store may take before it is repeated. Default 10 s.
	CallTimeout time.Duration
	// SplitFrom is how many outcomes must wait to be written before they go to the store in two calls side by side: while it works on one of
	// them, this process works on what the other has brought. Default 32; negative: one call at a time.
	SplitFrom int
	// RecoverEvery is how often this process looks for dead workers while it is idle, less often in a very large fleet; while it works,
	// twice as often. Default 1.2 s; negative: never, and others must.
	RecoverEvery time.Duration
	// PruneEvery is how often this process removes what has expired. Default 1 minute; negative: never.
	PruneEvery time.Duration

	// Retry is the policy of tasks that bring none. Default: 25 attempts, 1 s doubling up to 10 minutes, with jitter.
	Retry Retry
	// Timeout of an attempt for tasks that bring none. Default 30 minutes; negative: none.
	Timeout time.Duration
	// Retention of done and cancelled tasks that bring none. Default 24 h; negative: for ever.
	Retention time.Duration
	// MaxPayload bounds args, results, entries and messages, in bytes. Default 1 MiB; negative: no bound.
	MaxPayload int

	// Limits are declared to the store when Run begins: see DeclareLimit. Default: none.
	Limits []Limit

	// Name begins the worker's id: name:pid:hex. Default: the host's name.
	Name string
	// Version of the program, shown with the worker. Default: empty.
	Version string

	// Logger takes the kernel's log. Default: slog.Default.
	Logger *slog.Logger
	// Observe is called for each Event. It must not block; a panic of its own is contained and logged. Default: nothing.
	Observe func(Event)
	// Around wraps each run of a handler, the first one outermost: for traces, metrics, values in the context. Default: nothing.
	Around []func(Handler) Handler
	// Sealer encrypts what is stored of tasks. Default: nothing is sealed.
	Sealer Sealer
	// Blobs keep what is too large for a record: the last one writes, all of them read. Default: none; all payloads stay in their records.
	Blobs []blob.Named
	// BlobThreshold is how large args and results may be that stay in the record, in bytes; more goes to Blobs, up to MaxPayload.
	// Default 64 KiB; negative: all stay. (payload_store_threshold)
	BlobThreshold int
	// BlobGrace is how old a blob must be before it is removed because its task is not there: longer than any Submit may take. Default
	// 1 h; at least the store's Horizon.
	BlobGrace time.Duration
	// Env is the world around the kernel. Default: the real one.
	Env Env
}

func (c Config) withDefaults() Config {
	c.Slots = maps.Clone(c.Slots)
	if len(c.Slots) == 0 {
		c.Slots = map[string]int{DefaultQueue: 100}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Beat, time.Second},
		{&c.DeadAfter, 15 * time.Second},
		{&c.ShutdownTimeout, 30 * time.Second},
		{&c.CallTimeout, 10 * time.Second},
		{&c.RecoverEvery, 1200 * time.Millisecond},
		{&c.PruneEvery, time.Minute},
		{&c.Timeout, 30 * time.Minute},
		{&c.Retention, 24 * time.Hour},
		{&c.BlobGrace, time.Hour},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Retry == (Retry{}) {
		c.Retry = Retry{Max: 25, Base: time.Second, Factor: 2, Cap: 10 * time.Minute}
	}
	if c.SplitFrom == 0 {
		c.SplitFrom = 32
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = 1 << 20
	}
	if c.BlobThreshold == 0 {
		c.BlobThreshold = 64 << 10
	}
	if c.Name == "" {
		c.Name = hostName()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Env == nil {
		c.Env = Real()
	}
	return c
}

// hostName never fails: a worker without a name is still a worker.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || store.CheckName("name", name) != nil {
		return "host"
	}
	return name
}

// validate names the field that is wrong and says how to mend it. It is called on a Config with its defaults.
func (c Config) validate() error {
	const most = 100 * 365 * 24 * time.Hour
	for _, d := range []struct {
		field    string
		value    time.Duration
		negative bool
	}{
		{"Beat", c.Beat, false},
		{"DeadAfter", c.DeadAfter, false},
		{"ShutdownTimeout", c.ShutdownTimeout, true},
		{"CallTimeout", c.CallTimeout, false},
		{"RecoverEvery", c.RecoverEvery, true},
		{"PruneEvery", c.PruneEvery, true},
		{"Timeout", c.Timeout, true},
		{"Retention", c.Retention, true},
		{"BlobGrace", c.BlobGrace, false},
	} {
		if d.value < 0 && !d.negative {
			return badConfig(d.field, "is %v; it must be positive, or 0 for the default", d.value)
		}
		if d.value > most {
			return badConfig(d.field, "is %v; more than a hundred years is a mistake", d.value)
		}
	}
	if c.Beat > c.DeadAfter/5 {
		return badConfig("Beat", "is %v with DeadAfter %v; beat at least five times in DeadAfter: set Beat to %v or less, or DeadAfter to %v or more",
			c.Beat, c.DeadAfter, c.DeadAfter/5, 5*c.Beat)
	}
	return c.validateRest()
}

func (c Config) validateRest() error {
	if c.SplitFrom == 1 {
		return badConfig("SplitFrom", "is 1; use 2 or more, or a negative number for one call at a time")
	}
	for _, queue := range slices.Sorted(maps.Keys(c.Slots)) {
		if err := store.CheckName("Slots: queue", queue); err != nil {
			return fmt.Errorf("kernel.Config: %w", err)
		}
		if n := c.Slots[queue]; n < 1 || n > 1_000_000 {
			return badConfig("Slots", "gives queue %q %d slots; give it 1 to 1,000,000, or leave the queue out", queue, n)
		}
	}
	if c.Retry.Max < 0 || c.Retry.Base < 0 || c.Retry.Cap < 0 || c.Retry.Factor < 0 {
		return badConfig("Retry", "is %+v; no part of it may be negative", c.Retry)
	}
	if err := store.CheckName("Name", c.Name); err != nil {
		return fmt.Errorf("kernel.Config: %w", err)
	}
	if ring, ok := c.Sealer.(*seal.Ring); ok && ring == nil {
		return badConfig("Sealer", "is a ring without keys; look at the error of what made it, or leave it out")
	}
	return nil
}

func badConfig(field, format string, args ...any) error {
	return fmt.Errorf("kernel.Config: %w: %s %s", store.ErrInvalid, field, fmt.Sprintf(format, args...))
}
