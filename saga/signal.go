package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Signal is a value that comes to a saga from outside: an approval, a payment that has arrived. Both ends know its type.
type Signal[T any] struct {
	name  string
	check func(T) error
}

// NewSignal makes a signal. The name is stored with the sagas that wait for it.
func NewSignal[T any](name string) *Signal[T] { return &Signal[T]{name: name} }

// Validate refuses values where they are sent. It returns the signal.
func (s *Signal[T]) Validate(rule func(T) error) *Signal[T] {
	s.check = rule
	return s
}

// Wait is a step that waits for a signal, without holding a slot. A signal that came before is there; of several the first one
// wins. Its name is the signal's.
func Wait[T any](b Wiring, s *Signal[T]) *Node[T] {
	x := add[T](b, waitNode, s.name)
	x.n.signal = s.name
	return x
}

// answer is a signal on its way.
type answer struct {
	Nonce kernel.ID       `json:"nonce"`
	Value json.RawMessage `json:"value"`
}

// messageName is how signals are called in the inbox.
func messageName(signal string) string { return "signal/" + signal }

// Send sends the signal to a saga. It is kept until the saga comes to wait for it. Of several senders one is told nil; the others,
// and all who come when the saga has ended or is being rolled back, are told ErrNotWaiting.
func (s *Signal[T]) Send(ctx context.Context, k *kernel.Kernel, id kernel.ID, v T) error {
	if s.check != nil {
		if err := s.check(v); err != nil {
			return fmt.Errorf("signal %s: %w: %w", s.name, kernel.ErrInvalid, err)
		}
	}
	value, err := encode.JSON(v)
	if err != nil {
		return fmt.Errorf("signal %s: %w: the value %w", s.name, kernel.ErrInvalid, err)
	}
	if err := s.send(ctx, k, id, value); err != nil {
		return fmt.Errorf("signal %s to saga %s: %w", s.name, id, err)
	}
	return nil
}

func (s *Signal[T]) send(ctx context.Context, k *kernel.Kernel, id kernel.ID, value []byte) error {
	if over, err := answered(ctx, k, id, s.name); err != nil || over != nil {
		return cmpOver(over, err)
	}
	mine := answer{Nonce: k.NewID(), Value: value}
	// All senders use the same id: the store keeps the first.
	_, err := k.Send(ctx, kernel.Message{ID: kernel.DeriveID("signal", id.String(), s.name), Task: id, Name: messageName(s.name), Body: toJSON(mine)})
	if errors.Is(err, kernel.ErrState) {
		return ErrNotWaiting
	}
	if err != nil {
		return err
	}
	t, err := k.Get(ctx, id)
	if err != nil {
		return err
	}
	list, err := k.Messages(ctx, t)
	if err != nil {
		return err
	}
	for _, m := range list {
		var a answer
		if m.Name == messageName(s.name) && json.Unmarshal(m.Body, &a) == nil {
			return winner(a.Nonce, mine.Nonce)
		}
	}
	over, err := answered(ctx, k, id, s.name)
	if over != nil && over.winner == mine.Nonce {
		return nil
	}
	return cmpOver(over, err)
}

func winner(first, mine kernel.ID) error {
	if first != mine {
		return ErrNotWaiting
	}
	return nil
}

// verdict is why a signal is too late.
type verdict struct{ winner kernel.ID }

func cmpOver(v *verdict, err error) error {
	if err == nil && v != nil {
		return ErrNotWaiting
	}
	return err
}

// answered looks whether a saga can still take a signal.
func answered(ctx context.Context, k *kernel.Kernel, id kernel.ID, signal string) (*verdict, error) {
	t, err := k.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	entries, err := k.Load(ctx, t)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return nil, err
	}
	var l life
	_ = json.Unmarshal(entries[lifeEntry], &l) // one that was never saved is the zero life
	for name, data := range entries {
		var r record
		if name[strings.LastIndex(name, "/")+1:] == signal && json.Unmarshal(data, &r) == nil && !r.Winner.IsZero() {
			return &verdict{r.Winner}, nil
		}
	}
	if t.State.Terminal() || l.Phase != forward {
		return &verdict{}, nil
	}
	return nil, nil
}

// SendByKey is Send to the saga that was started under a key and has not let go of it.
func SendByKey[In, Out, T any](ctx context.Context, k *kernel.Kernel, def *Def[In, Out], key string, s *Signal[T], v T) error {
	id, err := def.ByKey(ctx, k, key)
	if err != nil {
		return err
	}
	return s.Send(ctx, k, id, v)
}

// readInbox reads the messages of the saga, and does what operators want.
func (e *engine) readInbox(ctx context.Context) error {
	list, err := e.run.Messages(ctx)
	if err != nil {
		return err
	}
	e.inbox = list
	for _, m := range list {
		if m.Name == freeMessage {
			e.consume = append(e.consume, m.ID)
		}
	}
	e.obey()
	return nil
}

// await begins waits and sleeps, and ends those whose time or signal has come. changed says that it did.
func (e *engine) await(ctx context.Context, v *view) (changed bool, err error) {
	if len(v.waits) == 0 {
		return false, nil
	}
	if e.inbox == nil && slices.ContainsFunc(v.waits, func(in inst) bool { return in.n.kind == waitNode }) {
		if err := e.readInbox(ctx); err != nil {
			return false, err
		}
		if e.life.Phase != forward {
			return true, nil
		}
	}
	for _, in := range v.waits {
		over, err := e.awaitOne(in)
		if err != nil {
			return false, err
		}
		changed = changed || over
		v.until(e.at(in.path()).NextAt)
	}
	return changed, nil
}

func (e *engine) awaitOne(in inst) (over bool, err error) {
	path, n := in.path(), in.n
	r := e.at(path)
	if r.State == begun {
		d := n.timeout
		if n.kind == sleepNode {
			if d, err = n.sleep(in.s); err != nil {
				return true, e.notBegun(in, err)
			}
			d = max(d, time.Nanosecond)
		}
		if d > 0 {
			r.NextAt = e.run.Now().Add(d).UTC()
		}
		r.State = waiting
		e.event(path, EventWaiting, 0, "")
	}
	for _, m := range e.inbox {
		var a answer
		if n.signal == "" || m.Name != messageName(n.signal) || json.Unmarshal(m.Body, &a) != nil {
			continue
		}
		r.Winner = a.Nonce
		e.consume = append(e.consume, m.ID)
		e.inbox = slices.DeleteFunc(e.inbox, func(o kernel.Message) bool { return o.ID == m.ID })
		value, err := n.decode(a.Value)
		if err != nil {
			return true, e.notBegun(in, fmt.Errorf("the signal does not decode: %w", err))
		}
		return true, e.acceptWait(in, value)
	}
	if r.NextAt.IsZero() || r.NextAt.After(e.run.Now()) {
		return false, nil
	}
	switch {
	case n.kind == sleepNode:
		return true, e.acceptWait(in, struct{}{})
	case n.hasFallback:
		return true, e.acceptWait(in, n.fallback)
	}
	return true, e.notBegun(in, kernel.Typed("timeout", fmt.Errorf("nobody has sent the signal %s in %v", n.signal, n.timeout)))
}

// acceptWait records what a wait has brought.
func (e *engine) acceptWait(in inst, v any) error {
	if err := e.keep(in, v); err != nil {
		return e.notBegun(in, err)
	}
	e.concluded(in, done)
	return nil
}
