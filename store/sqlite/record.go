package sqlite

import (
	"encoding/json"
	"slices"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// task is a record and where it stands.
type task struct {
	store.Task
	seq     int64    // 0: not stored yet
	stored  int64    // the version that is stored
	stood   standing // and where it stands there
	lane    int64    // of a ready task
	stage   stage    // of a member of a group
	corrupt bool     // its body cannot be read

	entries  bool // it has, or had, checkpoint entries
	messages bool // it has, or had, messages
	marked   bool // nothing of its group keeps it from expiring
	keeps    bool // groups wait for its end

	created bool // in this step
	dirty   bool
	changed bool // its spec, too: it was stripped
	removed bool
}

// stage is what is still to be done with a member of a group.
type stage int64

const (
	stageNone   stage = iota
	stageLiving       // not ended
	stageAsked        // not ended, and asked to by an abort
	stageEnded        // not yet given an expiry
)

// states are as they are stored. The index task_failed knows the number of failed.
var states = []store.State{
	"", store.Scheduled, store.Ready, store.Running, store.Parked, store.Held, store.Done, store.Failed, store.Cancelled,
}

func stateNumber(s store.State) int { return slices.Index(states, s) }

func stateOf(n int) store.State {
	if n < 0 || n >= len(states) {
		return ""
	}
	return states[n]
}

// readTask reads a row of "task.columns". One that cannot be decoded is corrupt: what the columns tell still stands.
func readTask(r *sqlite.Stmt) *task {
	t := &task{seq: r.ColumnInt64(0), lane: r.ColumnInt64(6), stage: stage(r.ColumnInt64(7))}
	blobs := getBuffer(r.ColumnLen(15) + r.ColumnLen(16))
	defer putBuffer(blobs) // what is decoded shares nothing with it
	spec := &decoder{b: blobInto(r, 16, blobs)}
	if spec.int() == format {
		t.Spec = spec.spec()
	}
	id := idOf(r, 1)
	if spec.bad || t.ID != id {
		t.corrupt = true
		t.Spec = store.Spec{
			ID: id, Queue: r.ColumnText(8), Kind: r.ColumnText(9), Limit: r.ColumnText(10),
			Unique: store.Unique{Key: r.ColumnText(11)}, Parent: idOf(r, 12), Group: idOf(r, 13),
		}
	}
	body := &decoder{b: blobInto(r, 15, blobs)}
	known := body.int() == format
	if known {
		t.decode(body)
	}
	t.corrupt = t.corrupt || body.bad || !known
	t.State = stateOf(r.ColumnInt(2))
	t.Version, t.stored, t.Epoch = r.ColumnInt64(3), r.ColumnInt64(3), r.ColumnInt64(4)
	t.CreatedAt = instant(r.ColumnInt64(5))
	t.Worker = r.ColumnText(14)
	if t.corrupt && t.State == store.Held && !r.ColumnIsNull(24) {
		t.Reason = store.ReasonGroup // its group counts it among those that wait
	}
	t.stood = t.standing()
	if t.corrupt {
		t.stood.rest.stage = -1 // where it stands cannot be told: the next write says it anew
	}
	return t
}

// buffers are for blobs on their way out of the file.
var buffers sync.Pool

func getBuffer(size int) *[]byte {
	b, ok := buffers.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	*b = slices.Grow((*b)[:0], size)
	return b
}

func putBuffer(b *[]byte) {
	*b = room(*b)
	buffers.Put(b)
}

// blobInto reads a column behind what is in a buffer, which has room for it.
func blobInto(r *sqlite.Stmt, col int, b *[]byte) []byte {
	from := len(*b)
	*b = (*b)[:from+r.ColumnLen(col)]
	r.ColumnBytes(col, (*b)[from:])
	return (*b)[from:]
}

// encode writes what of a task changes and has no column of its own, or one that only tells where it stands. It uses the room of
// into. A record that could not be read stays so until the task is ended for it: written anew it would look whole, and empty.
func (t *task) encode(into []byte) []byte {
	if t.corrupt {
		return []byte{0}
	}
	e := &encoder{b: into[:0]}
	e.int(format)
	e.text(t.Reason)
	e.int(int64(t.Round))
	e.int(t.Wakes)
	e.flags(t.Suspect, t.Solo, t.Told, t.Stripped, t.Charged, t.entries, t.messages, t.marked, t.keeps, t.Alone)
	e.int(t.Saves)
	e.text(t.Asked)
	e.id(t.Nonce)
	e.int(t.Settled.Epoch)
	e.id(t.Settled.Nonce)
	e.text(string(t.Settled.Kind))
	e.int(int64(t.Attempts))
	e.int(int64(t.Crashes))
	e.int(int64(t.CrashRun))
	e.time(t.DueAt)
	e.time(t.ReadyAt)
	e.time(t.StartedAt)
	e.time(t.DeadlineAt)
	e.time(t.StartByAt)
	e.time(t.EndedAt)
	e.time(t.UpdatedAt)
	e.time(t.ExpireAt)
	e.int(t.Progress.Done)
	e.int(t.Progress.Total)
	e.text(t.Progress.Note)
	e.time(t.Progress.At)
	e.bytes(t.Result)
	if e.optional(t.Error != nil) {
		e.err(*t.Error)
	}
	e.bytes(encodeOutcome(t.Staged))
	e.int(int64(len(t.History)))
	for _, h := range t.History {
		e.time(h.At)
		e.text(string(h.Kind))
		e.int(h.Epoch)
		e.text(h.Worker)
		e.text(h.Text)
	}
	return e.b
}

func (t *task) decode(d *decoder) {
	t.Reason = d.text()
	t.Round = int(d.int())
	t.Wakes = d.int()
	d.flags(&t.Suspect, &t.Solo, &t.Told, &t.Stripped, &t.Charged, &t.entries, &t.messages, &t.marked, &t.keeps, &t.Alone)
	t.Saves = d.int()
	t.Asked = d.text()
	t.Nonce = d.id()
	t.Settled.Epoch = d.int()
	t.Settled.Nonce = d.id()
	t.Settled.Kind = store.OutcomeKind(d.text())
	t.Attempts = int(d.int())
	t.Crashes = int(d.int())
	t.CrashRun = int(d.int())
	t.DueAt = d.time()
	t.ReadyAt = d.time()
	t.StartedAt = d.time()
	t.DeadlineAt = d.time()
	t.StartByAt = d.time()
	t.EndedAt = d.time()
	t.UpdatedAt = d.time()
	t.ExpireAt = d.time()
	t.Progress.Done = d.int()
	t.Progress.Total = d.int()
	t.Progress.Note = d.text()
	t.Progress.At = d.time()
	t.Result = d.bytes()
	if d.optional() {
		e := d.err()
		t.Error = &e
	}
	t.Staged = decodeOutcome(d)
	switch n := d.int(); {
	case n < 0 || n > int64(len(d.b)):
		d.fail()
	case n > 0:
		t.History = make([]store.Event, n)
	}
	for i := range t.History {
		t.History[i] = store.Event{At: d.time(), Kind: store.EventKind(d.text()), Epoch: d.int(), Worker: d.text(), Text: d.text()}
	}
}

// A staged outcome is rare, and large: it is kept as JSON.
func encodeOutcome(out *store.Outcome) []byte {
	if out == nil {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // it is made of strings, numbers and bytes
	}
	return b
}

func decodeOutcome(d *decoder) *store.Outcome {
	b := d.bytes()
	if len(b) == 0 {
		return nil
	}
	var out store.Outcome
	if err := json.Unmarshal(b, &out); err != nil {
		d.fail()
		return nil
	}
	return &out
}
