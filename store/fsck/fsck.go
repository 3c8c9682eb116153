// Package fsck reads the whole content of a store and tells what in it cannot be: every invariant of package store that the
// records alone can show, for any engine. It changes nothing, and it raises no false alarm that it can avoid: where the
// contract lets a record be removed, its absence counts only while nothing could have removed it. What is not in an Export
// (lanes, checkpoints, pauses) and what takes two looks (an epoch that shrank) is left to storetest.
//
//	driver    a task that has not ended waits for one thing: a claim, DueAt, a wake, whoever Reason names, or its owner
//	owner     a task has a worker, a nonce and an epoch if it runs; one that waits has no owner and nothing staged
//	orphan    the worker of a running task is on record, alive or dead
//	worker    a worker has DeadAt if and only if it has a Death
//	terminal  EndedAt is set if and only if the task has ended, and then it has no owner and nothing staged
//	asked     a task that waits and is not Owned was not asked to end: asking would have ended it
//	group     members have a group; its counts fit them; it is closed if and only if it was opened and no member lives
//	held      reason group is for members; those of a group that is not open yet are held, unless an Owned one was asked to end
//	slots     a limit has as many slots taken as tasks of its key run
//	keys      a unique key is held once, by a task that has it and may hold it; whoever must hold its key does
//	order     of an ordered line (queue, kind, lane, limit) at most one task runs
//	onend     an ended task is followed by its OnEnd task until that may have been pruned
//	close     a closed group is followed by its OnClose task until that may have been pruned
//	suspects  a task that has not ended is a suspect if and only if its crashes say so; Solo is a suspect
//	expiry    ExpireAt is for done and cancelled alone, not too early, not while the OnEnd task may run, not before the keeper has ended, and not missing
//	stripped  done and cancelled without Retention are stripped when they get their expiry, nothing else is, and no payload is left
//	inbox     a message belongs to a task that exists and has not ended
//	history   at most HistoryLimit events are kept
//	fence     the last outcome belongs to an earlier claim than the one under way, and never to one that is still to come
//	count     attempts and crashes are not negative, and no more crashed since the last sign of progress than in all
//	time      a task did not end before it was created
package fsck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Finding is one thing that cannot be.
type Finding struct {
	Rule string // a word of the package comment
	ID   string // of the task, group, worker or message; the key of a limit or of a unique key
	Text string // what is wrong, in plain words
	// Repair sets it right, as store.Repairer says; the zero value: it is of no derived thing, and nothing sets it right but knowing what
	// happened.
	Repair store.Repair
}

// String writes the finding on one line.
func (f Finding) String() string { return f.Rule + ": " + f.ID + ": " + f.Text }

// Check reads all of st once and returns what it found, by Rule, then ID, then Text. An error means that st could not be read
// to the end: then there are no findings.
func Check(ctx context.Context, st store.Store) ([]Finding, error) {
	return new(Checker).Check(ctx, st)
}

// Checker checks again and again, and keeps its buffers in between. The zero value works. It serves one goroutine at a time.
type Checker struct {
	// Deleted tells whether somebody has deleted this task: a missing OnEnd or OnClose task is then no finding. Nil: nobody has.
	Deleted func(store.ID) bool

	horizon  time.Duration
	now      time.Time // read after the records: what was kept until then is kept in them
	findings []Finding

	tasks    map[store.ID]brief
	uniques  []unique
	keys     []store.Key
	holders  map[keyName]int // how often
	owners   []owner
	workers  map[string]struct{}
	running  map[string]int // by limit key
	limits   []limit
	lines    map[line]runners
	messages []message
	groups   []group
	groupAt  map[store.ID]int
	follows  []follow
	derived  map[source]store.ID // outlives a check: deriving an id costs more than all else about a task
}

// tries is how often a store is read before it counts as out of reach: a connection that was cut while nobody used it shows only at its next
// use, and engines leave it to their callers to repeat.
const tries = 3

// Check is as the function Check. The findings are the caller's.
func (c *Checker) Check(ctx context.Context, st store.Store) ([]Finding, error) {
	c.horizon = st.Info().Timing.WithDefaults().Horizon
	var err error
	for range tries {
		c.reset()
		if err = c.read(ctx, st); err == nil || store.Answered(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("check the store: %w", err)
	}
	c.checkOwners()
	c.checkSlots()
	c.checkLines()
	c.checkKeys()
	c.checkInbox()
	c.checkGroups()
	c.checkFollows()
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text))
	})
	return c.findings, nil
}

// read takes in all records, from the first.
func (c *Checker) read(ctx context.Context, st store.Store) error {
	err := st.Export(ctx, func(e store.Entry) error {
		c.take(e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if c.now, err = st.Now(ctx); err != nil {
		return fmt.Errorf("read its clock: %w", err)
	}
	return nil
}

// reset empties what the last check has left.
func (c *Checker) reset() {
	c.findings = nil // the last caller has them
	c.uniques, c.keys, c.owners, c.limits = c.uniques[:0], c.keys[:0], c.owners[:0], c.limits[:0]
	c.messages, c.groups, c.follows = c.messages[:0], c.groups[:0], c.follows[:0]
	if c.tasks == nil {
		c.tasks, c.groupAt, c.derived = map[store.ID]brief{}, map[store.ID]int{}, map[source]store.ID{}
		c.holders, c.lines = map[keyName]int{}, map[line]runners{}
		c.workers, c.running = map[string]struct{}{}, map[string]int{}
		return
	}
	clear(c.tasks)
	clear(c.groupAt)
	clear(c.holders)
	clear(c.lines)
	clear(c.workers)
	clear(c.running)
}

// take judges a record by itself and keeps what the rest is compared with. The record is only lent.
func (c *Checker) take(e store.Entry) {
	switch {
	case e.Task != nil:
		c.takeTask(e.Task)
	case e.Group != nil:
		c.takeGroup(e.Group)
	case e.Worker != nil:
		c.takeWorker(e.Worker)
	case e.Limit != nil:
		c.limits = append(c.limits, limit{e.Limit.Key, e.Limit.InUse})
	case e.Key != nil:
		c.keys = append(c.keys, *e.Key)
	case e.Message != nil:
		c.messages = append(c.messages, message{e.Message.ID, e.Message.Task})
	}
}

// report adds a finding. The text is a format only where it has arguments.
func (c *Checker) report(rule, id, text string, args ...any) {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	c.findings = append(c.findings, Finding{Rule: rule, ID: id, Text: text})
}

// mend says what sets the last finding right.
func (c *Checker) mend(r store.Repair) { c.findings[len(c.findings)-1].Repair = r }
