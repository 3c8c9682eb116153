package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Row is one row of a batch.
type Row[In any] struct {
	// Line is its number: above 0, at most MaxLine, each once in its batch. Of a row that was read from a file it is the line of the file.
	Line  int64
	Input In
}

// MaxLine is the highest number that a row may have.
const MaxLine = 1<<40 - 1

// Message is what a row has to say to people: a number and a word for machines, and values for the text that they stand for.
type Message struct {
	ID    int      `json:"msgid,omitempty"`
	Code  string   `json:"errcode,omitempty"`
	Field string   `json:"field,omitempty"`
	Vals  []string `json:"vals,omitempty"`
}

// Result is what became of a row that was processed.
type Result[Out any] struct {
	Out      Out
	Messages []Message
	// Files has a line for each named output file: an empty text is an empty line, a missing name adds nothing. It needs Config.Files.
	Files map[string]string
	// Failed says that the row was looked at and is not good: it ends as failed, with this result, and is not tried again.
	Failed bool
}

// Processor is what a batch does. R is the resource that Init makes; without Init it is a type of your choice, and its zero value is given.
type Processor[R, In, Out any] struct {
	// Row processes one row. An error is a failed attempt, tried again as Config.Retry says; a panic is one as well. It is called by
	// many goroutines at a time.
	Row func(ctx context.Context, res R, row Row[In]) (Result[Out], error)
	// Done is called when all rows have ended, as a task of its own, with counts, status and files; an error lets it be tried again.
	// Default: nothing.
	Done func(ctx context.Context, res R, sum Summary) error
	// Init makes what the rows of an app share in a process. Default: nothing.
	Init *Resource[R]
}

// Config is what holds for every batch of an operation. The zero value works.
type Config struct {
	// Queue is where rows and closing tasks wait. Default "default". They are run by processes whose kernel.Config.Slots name it.
	Queue string
	// Priority goes first if it is higher. Default 0. Batches of the same priority take turns.
	Priority int
	// Retry says when a row is tried again. Default: 3 attempts, 1 s doubling, with jitter. Max 1: once.
	Retry kernel.Retry
	// Timeout of one attempt at a row. Default: the kernel's (30 minutes); negative: none.
	Timeout time.Duration
	// DoneRetry and DoneTimeout are those of the closing task. Default: the kernel's.
	DoneRetry   kernel.Retry
	DoneTimeout time.Duration
	// Limit is the key of the limit that rows count against: see kernel.PutLimit. Default: none.
	Limit string
	// Retention is how long rows, files and the batch are kept once it has ended. Default: the kernel's (24 h); negative: for ever.
	// Failed rows, and so their batch, are kept until they are retried or deleted.
	Retention time.Duration
	// Files says that rows may write lines of output files. Default: they may not, and closing a batch does not look for any.
	Files bool
	// FillTimeout aborts a batch that was left in the middle of Submit and on which nobody went on for so long. Default 1 h;
	// negative: never.
	FillTimeout time.Duration
	// FailUnserved fails a batch, as a configuration error, that no process has served for so long. Default: its rows wait, and its
	// Status says so. It needs a process that serves another operation of the same queue, or Tend.
	FailUnserved time.Duration
}

// Batch is an operation on rows. Make one with Define; it may be used from any goroutine.
type Batch[R, In, Out any] struct {
	name string
	face string // "batch", or "query"
	p    Processor[R, In, Out]
	cfg  Config
}

// Define gives an operation the name under which it is stored: "op", or "app/op" where several apps share a store. Upper case is
// written as lower. It panics on a programmer's mistake: a name of other than ASCII letters, digits and . _ - : /, no Row.
func Define[R, In, Out any](name string, p Processor[R, In, Out], cfg Config) *Batch[R, In, Out] {
	return define("batch", name, p, cfg)
}

func define[R, In, Out any](face, name string, p Processor[R, In, Out], cfg Config) *Batch[R, In, Out] {
	b := &Batch[R, In, Out]{name: strings.ToLower(name), face: face, p: p, cfg: cfg.withDefaults()}
	if p.Row == nil {
		panic(fmt.Sprintf("%s %q: Row is nil", face, name))
	}
	spec := b.rowSpec(kernel.ID{1}, 1, nil)
	spec.ID = kernel.ID{2}
	spec.Timeout = max(spec.Timeout, 0) // the kernel knows what a negative one means
	if err := spec.Validate(); name == "" || err != nil {
		panic(fmt.Sprintf("%s %q: %v", face, name, cmp.Or(err, fmt.Errorf("the name is empty"))))
	}
	return b
}

func (c Config) withDefaults() Config {
	c.Queue = cmp.Or(c.Queue, kernel.DefaultQueue)
	c.Retry = fillRetry(cmp.Or(c.Retry, kernel.Retry{Max: 3}))
	if c.DoneRetry != (kernel.Retry{}) {
		c.DoneRetry = fillRetry(c.DoneRetry)
	}
	c.FillTimeout = cmp.Or(c.FillTimeout, time.Hour)
	return c
}

// fillRetry fills in the parts that are missing of a policy.
func fillRetry(r kernel.Retry) kernel.Retry {
	r.Max = cmp.Or(r.Max, 3)
	r.Base = cmp.Or(r.Base, time.Second)
	r.Factor = cmp.Or(r.Factor, 2)
	r.Cap = cmp.Or(r.Cap, max(10*time.Minute, r.Base))
	return r
}

// Name returns the name of the operation, in lower case.
func (b *Batch[R, In, Out]) Name() string { return b.name }

// Kind returns the kind of the tasks of rows: "batch." and the name.
func (b *Batch[R, In, Out]) Kind() string { return b.face + "." + b.name }

// DoneKind returns the kind of the closing tasks: "batch-done." and the name.
func (b *Batch[R, In, Out]) DoneKind() string { return b.face + "-done." + b.name }

// Serve says that this process runs rows and closings of the operation. It must be called before k.Run, once; otherwise it panics.
func (b *Batch[R, In, Out]) Serve(k *kernel.Kernel) {
	k.Handle(b.Kind(), b.runRow)
	k.Handle(b.DoneKind(), b.runDone)
	Tend(k)
}

// groupName is the name of the groups of an operation: what tells them from other groups.
func (b *Batch[R, In, Out]) groupName() string { return b.face + ":" + b.name }

// rowArgs is what the task of a row carries.
type rowArgs struct {
	Context json.RawMessage `json:"context,omitempty"`
	In      json.RawMessage `json:"in"`
}

// rowResult is what the task of a row leaves.
type rowResult struct {
	Out      json.RawMessage   `json:"out"`
	Messages []Message         `json:"messages,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
}

// closeArgs is what the closing task of a batch carries.
type closeArgs struct {
	Batch   kernel.ID       `json:"batch"`
	Name    string          `json:"name"`
	Key     string          `json:"key,omitempty"`
	Files   bool            `json:"files,omitempty"`
	Context json.RawMessage `json:"context,omitempty"`
}

// rowSpec makes the task of a row.
func (b *Batch[R, In, Out]) rowSpec(batch kernel.ID, line int64, args []byte) kernel.Spec {
	return kernel.Spec{
		ID: rowID(batch, line), Kind: b.Kind(), Queue: b.cfg.Queue, Lane: batch.String(), Group: batch, Line: line, Args: args,
		Priority: b.cfg.Priority, Retry: b.cfg.Retry, Timeout: b.cfg.Timeout, Limit: b.cfg.Limit, Retention: b.cfg.Retention,
	}
}

// rowID makes the id of a row: it tells the batch and, in its last bytes, the line. So a line is there once, whoever submits it and how
// often; and rows lie beside each other, in their order, in every index.
func rowID(batch kernel.ID, line int64) kernel.ID {
	id := kernel.DeriveID("batch row", batch.String())
	for i := range 5 {
		id[15-i] = byte(line >> (8 * i))
	}
	return id
}
