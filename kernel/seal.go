package kernel

import (
	"errors"
	"fmt"
)

// Sealer encrypts what is stored. about binds a sealed text to its place: it must be the same to open it.
type Sealer interface {
	Seal(about string, plain []byte) ([]byte, error)
	Open(about string, sealed []byte) ([]byte, error)
}

// errNoSealer says that a task is sealed and this process cannot open it.
var errNoSealer = errors.New("the task is sealed, and this process has no sealer: set Config.Sealer")

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

func (k *Kernel) seal(id ID, field string, plain []byte) ([]byte, error) {
	if k.cfg.Sealer == nil || plain == nil {
		return plain, nil
	}
	sealed, err := k.cfg.Sealer.Seal(about(id, field), plain)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", field, err)
	}
	return sealed, nil
}

func (k *Kernel) unseal(id ID, field string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	if k.cfg.Sealer == nil {
		return nil, errNoSealer
	}
	plain, err := k.cfg.Sealer.Open(about(id, field), sealed)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", field, err)
	}
	return plain, nil
}

// openTask opens what is sealed of a task. A task that is not sealed is left as it is.
func (k *Kernel) openTask(t Task) (Task, error) {
	if t.Sealed.IsZero() {
		return t, nil
	}
	args, err1 := k.unseal(t.Sealed, "args", t.Args)
	result, err2 := k.unseal(t.ID, "result", t.Result)
	t.Args, t.Result = args, result
	if t.Error != nil && t.Error.Detail != nil {
		e := *t.Error
		var err3 error
		e.Detail, err3 = k.unseal(t.ID, "error", e.Detail)
		t.Error, err2 = &e, errors.Join(err2, err3)
	}
	return t, errors.Join(err1, err2)
}

// sealOutcome seals what an outcome of a sealed task carries, and prepares what it submits.
func (k *Kernel) sealOutcome(t *Task, out Outcome) (Outcome, error) {
	var err error
	if !t.Sealed.IsZero() {
		if out.Result, err = k.seal(t.ID, "result", out.Result); err != nil {
			return out, err
		}
		if out.Entries, err = k.sealEntries(t.ID, out.Entries); err != nil {
			return out, err
		}
		if out.Error != nil {
			e := *out.Error
			if e.Detail, err = k.seal(t.ID, "error", e.Detail); err != nil {
				return out, err
			}
			out.Error = &e
		}
	}
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
	if k.cfg.Sealer == nil || len(entries) == 0 {
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
