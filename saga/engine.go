package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// engine runs one task: a saga, an element of a map, or a step that was given to a task of its own. It is the single writer of
// the task's checkpoint: the fence sees to that.
type engine struct {
	k    *kernel.Kernel
	g    *graph
	run  *kernel.Run
	here bool // in the caller's process, which waits for it

	id      kernel.ID // of the saga
	keys    string    // begins the keys of its steps
	base    *graph    // whose kinds the tasks of steps have
	chain   []string  // the maps that lead from base to g
	alone   *alone    // the step that this task is about; nil: it is a saga
	args    args
	root    *scope
	life    *life
	rec     map[string]*record
	vault   map[string]json.RawMessage // secrets by id
	dirty   map[string]bool            // entries to be written with the next save or outcome
	wiped   []string                   // secret entries that are on record
	consume []kernel.ID
	seq     int64
	unclean bool // the run before this one did not end by itself: the next step may have begun
	unsaved bool // a step with effects has completed since the last save
	inbox   []kernel.Message
	result  ending

	// While steps run side by side, mu guards rec against those that take arguments.
	sideBySide bool
	mu         sync.Mutex
}

// ending is how the run left the saga, for a caller in this process.
type ending struct {
	state State
	value any
	err   error
}

func newEngine(k *kernel.Kernel, g *graph, run *kernel.Run) *engine {
	e := &engine{
		k: k, g: g, base: g, run: run, id: run.ID(), keys: run.ID().String(), life: &life{Hash: g.hash},
		rec: map[string]*record{}, vault: map[string]json.RawMessage{}, dirty: map[string]bool{},
	}
	e.root = &scope{e: e, g: g}
	return e
}

// restore reads what earlier runs have saved. A task that was never claimed before has saved nothing.
func (e *engine) restore(ctx context.Context) error {
	epoch := e.run.Fence().Epoch
	if epoch == 1 {
		return nil
	}
	entries, err := e.run.Load(ctx)
	if err != nil {
		return err
	}
	if err := e.take(entries); err != nil {
		return err
	}
	e.unclean = e.life.Clean != epoch-1
	return nil
}

// take decodes entries of a checkpoint. The values of steps are decoded when they are asked for.
func (e *engine) take(entries map[string][]byte) error {
	for name, data := range entries {
		var err error
		if path, ok := strings.CutPrefix(name, stepEntry); ok {
			r := &record{}
			err = json.Unmarshal(data, r)
			e.rec[path] = r
			e.seen(r.Events)
		} else if id, ok := strings.CutPrefix(name, secretEntry); ok {
			e.vault[id] = data
			e.wiped = append(e.wiped, name)
		} else if name == lifeEntry {
			err = json.Unmarshal(data, e.life)
			e.seen(e.life.Events)
		}
		if err != nil {
			return &lacking{[]string{fmt.Sprintf("the entry %s does not decode: %v", name, err)}}
		}
	}
	return nil
}

func (e *engine) seen(events []Event) {
	for _, ev := range events {
		e.seq = max(e.seq, ev.Seq)
	}
}

// at returns the record of a step, a new one if there is none.
func (e *engine) at(path string) *record {
	r := e.rec[path]
	if r == nil {
		r = &record{}
		e.rec[path] = r
	}
	return r
}

// event adds a line to the timeline of a step, or of the saga if path is empty.
func (e *engine) event(path, kind string, attempt int, text string) {
	e.seq++
	ev := Event{Seq: e.seq, At: e.run.Now().UTC(), Step: path, Kind: kind, Attempt: attempt, Text: clip(text, 256)}
	if path == "" {
		e.life.Events = append(e.life.Events, ev)
		e.dirty[lifeEntry] = true
		return
	}
	r := e.at(path)
	if len(r.Events) == mostEvents {
		r.Events = slices.Delete(r.Events, mostEvents/2, mostEvents/2+1) // one that is tried for ever
	}
	r.Events = append(r.Events, ev)
	e.dirty[stepEntry+path] = true
}

// Bounds of what is told of one step.
const (
	mostEvents = 64
	recordRoom = 32 << 10
)

// entries are what has changed since the last save.
func (e *engine) entries() map[string][]byte {
	all := make(map[string][]byte, len(e.dirty))
	for name := range e.dirty {
		switch path, isStep := strings.CutPrefix(name, stepEntry); {
		case isStep:
			all[name] = toJSON(e.rec[path])
		case name == lifeEntry:
			e.life.Hash = e.g.hash
			all[name] = toJSON(e.life)
		default:
			all[name] = e.vault[strings.TrimPrefix(name, secretEntry)]
			e.wiped = append(e.wiped, name)
		}
	}
	return all
}

// save makes what has changed durable. It is detached from the run's context: what was done must be known, also when the saga
// was asked to end meanwhile.
func (e *engine) save(ctx context.Context) error {
	if len(e.dirty) == 0 && len(e.consume) == 0 {
		return nil
	}
	err := e.run.Save(context.WithoutCancel(ctx), e.entries(), e.consume...)
	if err != nil {
		return err
	}
	e.dirty, e.consume, e.unsaved = map[string]bool{}, nil, false
	return nil
}

// with lets an outcome write what has changed.
func (e *engine) with(out kernel.Outcome) kernel.Outcome {
	out.Entries, out.Consume = e.entries(), e.consume
	e.dirty, e.consume = map[string]bool{}, nil
	return out
}

// park is the outcome of a run that has nothing to do for now. The mark that it ended by itself is what tells the next run that no
// step was under way.
func (e *engine) park(d time.Duration) kernel.Outcome {
	e.life.Clean = e.run.Fence().Epoch
	e.dirty[lifeEntry] = true
	out := e.run.Park(d)
	if d < 0 {
		out.Delay = 0
	}
	return e.with(out)
}

// again is the outcome of a run that wants to be run again, by whomever.
func (e *engine) again(d time.Duration) kernel.Outcome {
	e.life.Clean = e.run.Fence().Epoch
	e.dirty[lifeEntry] = true
	return e.with(kernel.Snooze(d))
}

// keep records a value as the result of a step. The error says that it can never be stored.
func (e *engine) keep(in inst, v any) error {
	data, err := e.encode(in.n.name, v)
	if err != nil {
		return err
	}
	r := e.at(in.path())
	r.Result, r.Shape, r.value, r.decoded = data, in.n.shape, v, true
	return nil
}

// encode writes a value as JSON, its secrets into entries of their own.
func (e *engine) encode(what string, v any) ([]byte, error) {
	data, secrets, err := encodeValue(v)
	if err != nil {
		return nil, Permanent(fmt.Errorf("the result of %s %w", what, err))
	}
	// What is told of a step stands beside its result, and grows.
	if most := e.run.MaxPayload(); most >= 0 && len(data) > most-min(most/4, recordRoom) {
		return nil, Permanent(fmt.Errorf("%w: the result of %s has %d bytes; that is more than kernel.Config.MaxPayload leaves room for: store the data elsewhere and return a reference",
			kernel.ErrInvalid, what, len(data)))
	}
	for id, s := range secrets {
		e.vault[id] = s
		e.dirty[secretEntry+id] = true
	}
	return data, nil
}

// resolve puts the secrets into a decoded value.
func (e *engine) resolve(v any) error {
	return secretsOf(v, func(s secretRef) error { return s.resolve(e.vault[s.secretID()]) })
}

// missing says which recorded steps the definition does not have, or has with another shape.
func (e *engine) missing() []string {
	var list []string
	if _, known := e.g.migrations[e.args.Shape]; !known && e.args.Shape != e.g.inShape {
		list = append(list, "the input has another shape")
	}
	for _, path := range slices.Sorted(maps.Keys(e.rec)) {
		r := e.rec[path]
		in, err := e.find(path)
		known := err == nil && (r.Shape == in.n.shape || in.n.migrations[r.Shape].decode != nil)
		switch {
		case err != nil:
			list = append(list, err.Error())
		case r.Shape != "" && !known:
			list = append(list, fmt.Sprintf("the result of step %s has another shape", path))
		case r.State == done && r.Back == notBack && len(r.Items) == 0 && in.n.fans():
			list = append(list, fmt.Sprintf("step %s is a map of tasks here", path))
		}
	}
	return list
}

// lacking says that this process cannot go on with a saga, and another one may.
type lacking struct{ what []string }

func (l *lacking) Error() string { return "needs another definition: " + strings.Join(l.what, "; ") }

// hold lets a saga wait for a process that has its definition. It is looked at again, ever more seldom; nothing of it is changed.
func (e *engine) hold(l *lacking) kernel.Outcome {
	now := e.run.Now()
	if e.life.Since == 0 {
		e.life.Since = now.UnixMilli()
	}
	waited := now.Sub(time.UnixMilli(e.life.Since))
	held := *e.life
	held.Lacks, held.Clean = l.what, e.run.Fence().Epoch
	if e.unclean {
		held.Clean = 0
	}
	out := kernel.Snooze(min(max(waited, 250*time.Millisecond), time.Minute))
	out.Entries = map[string][]byte{lifeEntry: toJSON(&held)}
	return out
}

// found is called when the definition is there again.
func (e *engine) found() {
	if e.life.Since != 0 {
		e.life.Since, e.life.Lacks = 0, nil
		e.dirty[lifeEntry] = true
	}
}

// lost reports whether an error means that the run itself is over: it must neither fail nor roll back anything.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, kernel.ErrFenced) || errors.Is(err, kernel.ErrInDoubt) || errors.Is(err, kernel.ErrClosed) ||
		ctx.Err() != nil && !errors.Is(context.Cause(ctx), kernel.ErrAsked)
}
