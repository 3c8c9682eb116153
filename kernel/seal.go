package kernel

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
)

// Sealer encrypts what is stored: a seal.Ring, or the user's own. about binds a sealed text to its place: it must be the same to
// open it. An error of Open may be seal.ErrUnknownKey (another process may be able to) or seal.ErrForged (nobody is); after any
// other the run is tried again as after an error of the handler's own.
//
// A task is sealed as a whole or not at all, as the process that submits it decides: args, results, checkpoint entries,
// messages, notes of progress, and the texts and details of errors. What the store itself works with is not: ids, kinds,
// queues, keys, labels, reasons, the names of entries and messages.
type Sealer = seal.Sealer

// sealedText stands where a text of a sealed task would be.
const sealedText = "(sealed)"

// keyWait is how long a task waits that this process has no key for: another one may.
const keyWait = 10 * time.Second

// ErrNoSealer says that a task is sealed and this process cannot open it: Config.Sealer is not set.
var ErrNoSealer = errors.New("the task is sealed, and this process has no sealer: set Config.Sealer")

var errNotSealed = errors.New("not sealed")

func about(id ID, field string) string { return id.String() + "/" + field }

// sealArgs seals the args of a task under an id that is known when it is submitted.
func (k *Kernel) sealArgs(s Spec, id ID) (Spec, error) {
	if k.cfg.Sealer == nil || !s.Sealed.IsZero() {
		return s, nil
	}
	sealed, err := k.seal(id, "args", s.Args)
	if err != nil {
		return s, err
	}
	s.Args, s.Sealed = sealed, id
	return s, nil
}

// seal seals what belongs to a sealed task. What is not there stays so.
func (k *Kernel) seal(id ID, field string, plain []byte) ([]byte, error) {
	switch {
	case plain == nil:
		return nil, nil
	case k.cfg.Sealer == nil:
		return nil, fmt.Errorf("%w: %w", errNotSealed, ErrNoSealer)
	}
	sealed, err := k.cfg.Sealer.Seal(about(id, field), plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", field, errNotSealed, err)
	}
	return sealed, nil
}

func (k *Kernel) unseal(id ID, field string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	if k.cfg.Sealer == nil {
		return nil, ErrNoSealer
	}
	plain, err := k.cfg.Sealer.Open(about(id, field), sealed)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", field, err)
	}
	return plain, nil
}

// openTask opens what is sealed of a task, and fetches what is not in the record. Like all that a run goes through it takes a pointer:
// a record is large, and thousands of runs may wait at the same time, each on a stack that has once held what it was called with.
func (k *Kernel) openTask(ctx context.Context, t *Task) error {
	if err := k.unsealTask(t); err != nil {
		return err
	}
	return k.fetchTask(ctx, t)
}

// unsealTask opens what is sealed of a task. A task that is not sealed is left as it is.
func (k *Kernel) unsealTask(t *Task) error {
	if t.Sealed.IsZero() {
		return nil
	}
	if k.cfg.Sealer == nil {
		veil(t)
		return ErrNoSealer
	}
	args, err1 := k.unseal(t.Sealed, "args", t.Args)
	result, err2 := k.unseal(t.ID, "result", t.Result)
	note, err3 := k.openNote(t)
	e, err4 := k.openError(t)
	t.Args, t.Result, t.Progress.Note, t.Error = args, result, note, e
	return errors.Join(err1, err2, err3, err4)
}

// OnEndArgs returns the args of the task that follows, or will follow, the ending of t, opened. Without one it is nil.
func (k *Kernel) OnEndArgs(t Task) ([]byte, error) {
	if t.OnEnd == nil || t.OnEnd.Sealed.IsZero() {
		return argsOf(t.OnEnd), nil
	}
	return k.unseal(t.OnEnd.Sealed, "args", t.OnEnd.Args)
}

func argsOf(s *Spec) []byte {
	if s == nil {
		return nil
	}
	return s.Args
}

// veil takes sealed texts out of a record that is shown unopened.
func veil(t *Task) {
	if !t.Sealed.IsZero() && t.Progress.Note != "" {
		t.Progress.Note = sealedText
	}
}

// sealNote seals the note of a run's progress. A note that cannot be sealed is not worth an outcome: it is left out.
func (k *Kernel) sealNote(t *Task, p *Progress) *Progress {
	if p == nil || t.Sealed.IsZero() || p.Note == "" {
		return p
	}
	hidden := *p
	sealed, err := k.seal(t.ID, "note", []byte(p.Note))
	hidden.Note = base64.RawStdEncoding.EncodeToString(sealed)
	if err != nil {
		hidden.Note = ""
	}
	return &hidden
}

func (k *Kernel) openNote(t *Task) (string, error) {
	if t.Progress.Note == "" {
		return "", nil
	}
	sealed, err := base64.RawStdEncoding.DecodeString(t.Progress.Note)
	if err != nil {
		return sealedText, fmt.Errorf("open note: %w: %w", seal.ErrForged, err)
	}
	note, err := k.unseal(t.ID, "note", sealed)
	if err != nil {
		return sealedText, err
	}
	return string(note), nil
}

// sealError hides what an error says: its text may repeat what the task is about. Its type stays.
func (k *Kernel) sealError(t *Task, e *store.Error) (*store.Error, error) {
	if e == nil || t.Sealed.IsZero() {
		return e, nil
	}
	plain := append(binary.AppendUvarint(nil, uint64(len(e.Message))), e.Message...)
	detail, err := k.seal(t.ID, "error", append(plain, e.Detail...))
	return &store.Error{Message: sealedText, Type: e.Type, Detail: detail}, err
}

// openError opens what sealError hid. What the store itself says of a sealed task, of a crash for one, is not sealed.
func (k *Kernel) openError(t *Task) (*store.Error, error) {
	if t.Error == nil || t.Error.Message != sealedText || t.Error.Detail == nil {
		return t.Error, nil
	}
	plain, err := k.unseal(t.ID, "error", t.Error.Detail)
	if err != nil {
		return t.Error, err
	}
	size, n := binary.Uvarint(plain)
	if n <= 0 || size > uint64(len(plain)-n) {
		return t.Error, fmt.Errorf("open error: %w", seal.ErrForged)
	}
	e := &store.Error{Message: string(plain[n : n+int(size)]), Type: t.Error.Type}
	if rest := plain[n+int(size):]; len(rest) > 0 {
		e.Detail = rest
	}
	return e, nil
}

// sealOutcome seals what an outcome of a sealed task carries, and prepares what it submits.
func (k *Kernel) sealOutcome(r *Run, out Outcome) (Outcome, error) {
	var err error
	if t := &r.task; !t.Sealed.IsZero() {
		if out.Result, err = k.seal(t.ID, "result", out.Result); err != nil {
			return out, err
		}
		if out.Entries, err = k.sealEntries(t.ID, out.Entries); err != nil {
			return out, err
		}
		if !r.shut { // else the error is the kernel's own, and says why nothing can be sealed
			if out.Error, err = k.sealError(t, out.Error); err != nil {
				return out, err
			}
		}
		out.Progress = k.sealNote(t, out.Progress)
	}
	if len(out.Groups) == 0 && len(out.Follow) == 0 {
		return out, nil
	}
	return k.prepareFollow(out)
}

// prepareFollow prepares the groups and tasks that an outcome submits.
func (k *Kernel) prepareFollow(out Outcome) (_ Outcome, err error) {
	groups, follow := make([]NewGroup, len(out.Groups)), make([]Spec, len(out.Follow))
	for i, g := range out.Groups {
		if groups[i], err = k.prepareGroup(g); err != nil {
			return out, fmt.Errorf("group of the outcome: %w", err)
		}
	}
	for i, s := range out.Follow {
		if follow[i], err = k.prepare(s); err != nil {
			return out, fmt.Errorf("follow-up: %w", err)
		}
	}
	out.Groups, out.Follow = groups, follow
	return out, nil
}

func (k *Kernel) sealEntries(id ID, entries map[string][]byte) (map[string][]byte, error) {
	if len(entries) == 0 {
		return entries, nil
	}
	sealed := make(map[string][]byte, len(entries))
	for name, value := range entries {
		b, err := k.seal(id, "entry/"+name, value)
		if err != nil {
			return nil, err
		}
		sealed[name] = b
	}
	return sealed, nil
}

// openEntries opens entries of a task's checkpoint. Those of a task that is not sealed are left as they are.
func (k *Kernel) openEntries(t Task, entries map[string][]byte) (map[string][]byte, error) {
	if t.Sealed.IsZero() {
		return entries, nil
	}
	for name, sealed := range entries {
		plain, err := k.unseal(t.ID, "entry/"+name, sealed)
		if err != nil {
			return nil, err
		}
		entries[name] = plain
	}
	return entries, nil
}

// unopened decides on a run whose task could not be opened. Where another process may have the key, or the store of its blobs, the task
// waits for it, at no cost; a seal that is broken or a blob that is gone fails it for good; anything else is a failed attempt.
func (r *Run) unopened(err error) (Outcome, error) {
	r.shut = true
	if errors.Is(err, errBlob) {
		err = judgeBlob(err)
	} else {
		err = Typed("seal", err)
	}
	switch {
	case errors.Is(err, ErrNoSealer), errors.Is(err, seal.ErrUnknownKey), errors.Is(err, blob.ErrUnknownStore):
		return Outcome{Kind: store.OutcomeSnooze, Delay: r.k.jitter(keyWait), Error: describe(err)}, nil
	case errors.Is(err, seal.ErrForged):
		return Outcome{}, Permanent(err)
	}
	return Outcome{}, err
}

// refused is the outcome of a run whose own one cannot be written. A sealer or a store of blobs that fails may work again: that
// costs an attempt.
func (r *Run) refused(err error) Outcome {
	out := Outcome{Kind: store.OutcomeFail, Reason: "invalid", Error: describe(Typed("invalid", err))}
	switch {
	case errors.Is(err, errNotSealed):
		out = r.failed(Typed("seal", err))
		r.shut = true // the error is the sealer's, and cannot be sealed
	case errors.Is(err, errBlob):
		out = r.failed(Typed("blob", err))
	}
	if r.shut {
		return out
	}
	hidden, err := r.k.sealError(&r.task, out.Error)
	if err != nil {
		hidden = &store.Error{Message: sealedText, Type: out.Error.Type}
	}
	out.Error = hidden
	return out
}
