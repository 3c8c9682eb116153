package store

import (
	"context"
	"time"
)

// Store is all that an engine offers. Every call respects its context; a call that ends by its context may have been
// applied.
type Store interface {
	Tasks
	Fleet
	Groups
	Inbox
	Lanes
	Schedules
	Reads
	Watching
	Admin
}

// Tasks is the life of a task.
type Tasks interface {
	// Submit stores tasks and groups, and may claim the tasks for the submitter.
	Submit(ctx context.Context, req SubmitRequest) (SubmitResult, error)
	// Claim takes ready tasks for a worker, after promoting a chunk of what is due. ErrDead if the worker is.
	Claim(ctx context.Context, req ClaimRequest) (ClaimResult, error)
	// Complete ends runs by their outcomes, and may claim in the same call.
	Complete(ctx context.Context, req CompleteRequest) (CompleteResult, error)
	// Save writes checkpoint entries, progress and the consumption of messages, under the fence. It returns Asked.
	Save(ctx context.Context, req SaveRequest) (asked string, err error)
	// Load reads checkpoint entries by name, all of them if none is named. A missing name is missing in the answer; of a stripped
	// task it is ErrNotFound, lest a late run believe that nothing was saved.
	Load(ctx context.Context, id ID, names ...string) (map[string][]byte, error)
	// Cancel ends a task that waits, and asks one that runs. It returns the task's state after it. A terminal task is left
	// as it is, and is no error. An empty reason is ReasonCancelled.
	Cancel(ctx context.Context, id ID, reason string) (State, error)
	// Retry makes a failed or cancelled task ready in its next Round, its attempts and crashes forgotten, its checkpoint kept.
	// ErrState in any other state, in an aborted group and if it was stripped; ErrDuplicate if its unique key is taken by now.
	Retry(ctx context.Context, id ID) error
	// Free makes a held task ready, its crashes forgotten. ErrState in any other state, and for one that waits for its group.
	Free(ctx context.Context, id ID) error
	// Delete removes a terminal task and all that belongs to it. ErrState in any other state. A group keeps its counts.
	Delete(ctx context.Context, id ID) error
	// Promote does a chunk of what time has made ripe; limit 0 is 100.
	Promote(ctx context.Context, limit int) (PromoteResult, error)
	// Prune removes up to limit terminal tasks and groups that have expired, and statistics of minutes that began StatsKept ago; limit 0
	// is 1,000. It returns how many records it has removed.
	Prune(ctx context.Context, limit int) (removed int, err error)
}

// Stager is offered by stores that can end a run inside a transaction of their user's.
type Stager interface {
	// Stage writes an outcome as ended, unsettled. Any Complete under the fence, whatever its outcome says, and Recover, then
	// apply the staged one. ErrFenced as Complete; ErrState if one is staged already.
	Stage(ctx context.Context, c Completion) error
}

// Resealer is offered by stores that can replace what is sealed where it stands.
type Resealer interface {
	// Reseal replaces sealed bytes of one record. ErrChanged if its Version is not the one that was named, or if it has not got what is to be
	// replaced; ErrNotFound if there is no such record. A running task whose outcome is staged is ErrState: once it is settled, it can
	// be resealed.
	Reseal(ctx context.Context, req ResealRequest) error
}

// Repairer is offered by stores that can set right what they derive from the records of tasks.
type Repairer interface {
	// Repair derives one thing anew, and tells whether it was otherwise before. What it names need not be there. It may be repeated, and
	// may run beside everything else.
	Repair(ctx context.Context, r Repair) (mended bool, err error)
}

// Blobs is offered by stores that keep large payloads, in chunks.
type Blobs interface {
	// PutChunk stores one chunk of a blob, at most ChunkLimit bytes. The same again has no effect; another one under the same number is
	// ErrDuplicate. Keys are as names; numbers begin at 0.
	PutChunk(ctx context.Context, key string, number int, data []byte) error
	// Chunk reads one. ErrNotFound if it is not there.
	Chunk(ctx context.Context, key string, number int) ([]byte, error)
	// DeleteBlob removes up to 100 chunks of a blob, the last ones first; more says that some are left. There need not be one.
	DeleteBlob(ctx context.Context, key string) (more bool, err error)
	// BlobList pages through blobs, by key.
	BlobList(ctx context.Context, page PageRequest) (Page[BlobInfo], error)
}

// Fleet is the life of workers.
type Fleet interface {
	// Join creates a worker. The handle takes what evidence it can and keeps it until Leave or the end of the process; for a remote one
	// it takes none.
	Join(ctx context.Context, req JoinRequest) error
	// Beat keeps a worker alive, and answers what it should know.
	Beat(ctx context.Context, req BeatRequest) (BeatResult, error)
	// Leave marks a worker as left and puts a chunk of its tasks back, without a crash; more says that some are left. It may be repeated.
	// Of one that was declared dead before, they are put back as its death says.
	Leave(ctx context.Context, worker string) (more bool, err error)
	// Recover declares the dead and puts a chunk of their tasks back.
	Recover(ctx context.Context, req RecoverRequest) (RecoverResult, error)
	// Holds lists what a worker holds, by id.
	Holds(ctx context.Context, worker string) ([]HeldTask, error)
	// Workers lists all that are on record, by id.
	Workers(ctx context.Context) ([]Worker, error)
}

// Groups is the life of groups; Submit creates them.
type Groups interface {
	// Seal says that all first members are there. Repeating it has no effect.
	Seal(ctx context.Context, id ID) (Group, error)
	// Release ends the hold of a group, before or after Seal. Repeating it has no effect.
	Release(ctx context.Context, id ID) (Group, error)
	// Abort asks all members to end; an unsealed or held group is sealed and released by it. A closed one is left as it is.
	Abort(ctx context.Context, id ID, reason string) (Group, error)
	// Group reads a group.
	Group(ctx context.Context, id ID) (Group, error)
	// GroupList pages through groups, newest first.
	GroupList(ctx context.Context, page PageRequest) (Page[Group], error)
}

// Inbox is the life of messages.
type Inbox interface {
	// Send puts a message into a task's inbox and wakes the task. A message id that the task has seen has no effect. ErrState if the
	// task has ended.
	Send(ctx context.Context, m Message) error
	// Messages lists those that were not consumed, in the order they came.
	Messages(ctx context.Context, task ID) ([]Message, error)
}

// Lanes is what governs claims.
type Lanes interface {
	// PutLimit sets a limit and returns the one that stood before. A zero Running and no Rates removes it.
	PutLimit(ctx context.Context, l Limit) (before Limit, err error)
	// LimitList lists limits and their use, by key: those of some keys, or all if none is named. A key without a limit is left out.
	LimitList(ctx context.Context, keys ...string) ([]LimitStatus, error)
	// Pause keeps claims away from a scope, for a while or, if that is 0, until Resume. It replaces a pause of the same scope.
	Pause(ctx context.Context, s Scope, d time.Duration, reason string) error
	// Resume ends the pause of exactly this scope. There need not be one.
	Resume(ctx context.Context, s Scope) error
	// PauseList lists the pauses that stand.
	PauseList(ctx context.Context) ([]Pause, error)
	// PutWeight sets how many tasks lanes of a queue with this lane key give in a turn; below 1: 1.
	PutWeight(ctx context.Context, queue, lane string, weight int) error
	// LaneList pages through the lanes of a queue that have ready tasks, by name.
	LaneList(ctx context.Context, queue string, page PageRequest) (Page[LaneStatus], error)
}

// Schedules is the life of schedules.
type Schedules interface {
	// PutSchedule creates a schedule (Version 0) or replaces the one whose Version it names, else ErrChanged. The new version
	// forgets LastTick unless Rule and Zone are as before; if it is kept, a NextAt that is not after it gives way to the one that
	// stands: a tick has come since the caller looked. It returns what is stored.
	PutSchedule(ctx context.Context, s Schedule) (Schedule, error)
	// Schedule reads one.
	Schedule(ctx context.Context, name string) (Schedule, error)
	// ScheduleList pages through all, by name.
	ScheduleList(ctx context.Context, page PageRequest) (Page[Schedule], error)
	// DeleteSchedule removes one. There need not be one.
	DeleteSchedule(ctx context.Context, name string) error
	// DueSchedules lists up to limit that are not paused and whose NextAt has come, soonest first; wait tells when the next one comes.
	DueSchedules(ctx context.Context, limit int) (due []Schedule, wait time.Duration, err error)
	// Tick submits the task of one tick. ErrChanged if version or last tick have moved on or the schedule is paused; ErrInvalid
	// if the tick lies in the future or not after the last.
	Tick(ctx context.Context, req TickRequest) (TickResult, error)
}

// Reads looks and changes nothing.
type Reads interface {
	// Get reads a task with all that belongs to the record.
	Get(ctx context.Context, id ID) (Task, error)
	// List pages through tasks by creation, that is by id.
	List(ctx context.Context, f Filter, page PageRequest) (Page[Task], error)
	// Queues counts what waits, by queue.
	Queues(ctx context.Context) ([]QueueStatus, error)
	// Stats lists the minutes in [from, until), oldest first.
	Stats(ctx context.Context, from, until time.Time) ([]Minute, error)
}

// Watching is how waiting is cut short.
type Watching interface {
	// Watch calls fn with NoticeStart once it listens, and then for each notice about the queues, about followed tasks and about requests to tasks of the worker, until
	// ctx ends. It calls fn from one goroutine at a time; fn must not block and must not call the store.
	Watch(ctx context.Context, worker string, queues []string, fn func(Notice)) error
	// Follow asks that changes of a task be noticed on this handle; Unfollow takes it back. Calls are counted.
	Follow(id ID)
	Unfollow(id ID)
}

// Admin is what remains.
type Admin interface {
	// Info tells what this store is.
	Info() Info
	// Now reads the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Export calls fn for every record, as of one moment. fn must neither keep nor change what it is given.
	Export(ctx context.Context, fn func(Entry) error) error
	// Close lets go of what the handle holds. Workers that joined on it and did not leave are then as good as dead.
	Close() error
}

// Timing holds the times of the protocol that are the same for all engines. The zero value of a field is its default.
type Timing struct {
	Horizon      time.Duration // terminal records stay at least so long; 10 minutes
	GoneAfter    time.Duration // no beat for so long before a gone session counts; 1.5 s
	RecoverEvery time.Duration // one recovery pass per this, for the fleet; 0.5 s
	Aged         time.Duration // a head that waited so long is as high as any; 1 minute
	StuckGrace   time.Duration // past the deadline of an attempt before its task is taken; 1 minute
}

// WithDefaults fills what is zero.
func (t Timing) WithDefaults() Timing {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Horizon, 10 * time.Minute},
		{&t.GoneAfter, 1500 * time.Millisecond},
		{&t.RecoverEvery, 500 * time.Millisecond},
		{&t.Aged, time.Minute},
		{&t.StuckGrace, time.Minute},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return t
}
