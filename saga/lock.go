package saga

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// lock is a name that a saga holds: a task that waits for ever under a unique key, with the saga's id as its fingerprint.
type lock struct {
	Name string    `json:"name"`
	Task kernel.ID `json:"task"`
}

const (
	lockKind  = "saga.lock"
	lockQueue = "saga.lock" // served by nobody
	farAway   = 100 * 365 * 24 * time.Hour
)

// acquire takes the locks of the saga, in the order they were declared. ok says that all are held.
func (e *engine) acquire(ctx context.Context) (ok bool, err error) {
	for i := len(e.life.Locked); i < len(e.g.locks); i++ {
		name := e.g.locks[i](e.root.in)
		if name == "" {
			e.life.Locked = append(e.life.Locked, lock{})
			continue
		}
		got, err := e.tryLock(ctx, name)
		if err == nil && got.Fingerprint != e.id.String() {
			e.lineUp(ctx, got.ID)
			got, err = e.tryLock(ctx, name) // it may have become free before the holder could hear of this one
		}
		if err != nil {
			return false, err
		}
		if got.Fingerprint != e.id.String() {
			if err := e.breakLock(ctx, got); err != nil {
				return false, err
			}
			e.life.Waits = name
			e.dirty[lifeEntry] = true
			return false, nil
		}
		e.life.Locked, e.life.Waits = append(e.life.Locked, lock{name, got.ID}), ""
		e.dirty[lifeEntry] = true
	}
	return true, nil
}

func (e *engine) tryLock(ctx context.Context, name string) (kernel.Submitted, error) {
	return e.k.Submit(ctx, kernel.Spec{
		ID: kernel.DeriveID("lock", e.id.String(), name), Kind: lockKind, Queue: lockQueue, Delay: farAway, Retention: kernel.Forget,
		Unique: kernel.Unique{Key: name}, Fingerprint: e.id.String(),
	})
}

// Who waits for a lock is known to whoever holds it, by a message to the lock, and is woken by a message when it is let go. Both are
// hints: who waits looks now and then all the same.
const (
	waiterMessage = "lock/waiter"
	freeMessage   = "lock/free"
)

// lineUp lets the holder of a lock know that this saga waits for it.
func (e *engine) lineUp(ctx context.Context, held kernel.ID) {
	_, err := e.k.Send(ctx, kernel.Message{ID: kernel.DeriveID("waiter", held.String(), e.id.String()), Task: held, Name: waiterMessage, Body: toJSON(e.run.ID())})
	if err != nil {
		e.run.Logger().Debug("the holder of a lock does not hear of a saga that waits", "task", e.run.ID().String(), "err", err)
	}
}

// waiters are the sagas that wait for a lock. Whom it does not hear of looks by itself.
func (e *engine) waiters(ctx context.Context, held kernel.ID) []kernel.ID {
	t, err := e.k.Get(ctx, held)
	if err != nil {
		return nil
	}
	list, err := e.k.Messages(ctx, t)
	if err != nil {
		return nil
	}
	var ids []kernel.ID
	for _, m := range list {
		var id kernel.ID
		if m.Name == waiterMessage && json.Unmarshal(m.Body, &id) == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// free lets go of a lock, and wakes those who wait for it.
func (e *engine) free(ctx context.Context, held kernel.ID) error {
	waiting := e.waiters(ctx, held)
	if _, err := e.k.Cancel(ctx, held, "its saga has ended"); err != nil && !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	for _, id := range waiting {
		if _, err := e.k.Send(ctx, kernel.Message{Task: id, Name: freeMessage}); err != nil {
			e.run.Logger().Debug("a saga that waits for a lock was not woken", "task", id.String(), "err", err)
		}
	}
	return nil
}

// breakLock takes a lock away from a saga that has ended without letting go: its process died in between.
func (e *engine) breakLock(ctx context.Context, held kernel.Submitted) error {
	var holder kernel.ID
	if holder.UnmarshalText([]byte(held.Fingerprint)) != nil {
		return nil
	}
	t, err := e.k.Get(ctx, holder)
	if err != nil && !errors.Is(err, kernel.ErrNotFound) || err == nil && !t.State.Terminal() {
		return err
	}
	_, err = e.k.Cancel(ctx, held.ID, "its saga has ended")
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	return err
}

// letGo gives back the locks and wipes the secrets that are kept elsewhere, of the input and in the tasks of steps, just before the saga ends: nothing of it is done after that.
func (e *engine) letGo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	for _, r := range e.rec {
		if r.Ran.IsZero() {
			continue
		}
		// What its task has on record must be on ours before it is gone.
		if err := e.save(ctx); err != nil {
			return err
		}
		if err := e.k.Delete(ctx, r.Ran); err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	if e.args.Vault {
		if _, err := e.k.Cancel(ctx, vaultID(e.id), "its saga has ended"); err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return err
		}
	}
	for _, l := range e.life.Locked {
		if l.Task.IsZero() {
			continue
		}
		if err := e.free(ctx, l.Task); err != nil {
			return err
		}
	}
	return nil
}

// LockFence names the hold of a lock: no other hold of it has the same. A resource that notes it can tell one holder from the next.
// Outside a saga, and of a lock that the saga does not hold, it is empty.
func (s *Step) LockFence(name string) string {
	if s == nil {
		return ""
	}
	for _, l := range s.e.life.Locked {
		if l.Name == name {
			return l.Task.String()
		}
	}
	return ""
}

// wipe takes the secrets out of the checkpoint with the outcome that ends the saga.
func (e *engine) wipe(out kernel.Outcome) kernel.Outcome {
	for _, name := range e.wiped {
		if out.Entries == nil {
			out.Entries = map[string][]byte{}
		}
		out.Entries[name] = nil
	}
	return out
}

// vault is what keeps the secrets of an input: a task that waits, so that they can be wiped when the saga has ended.
type vault struct {
	Saga    kernel.ID                  `json:"saga"`
	Secrets map[string]json.RawMessage `json:"secrets"`
}

func vaultID(saga kernel.ID) kernel.ID { return kernel.DeriveID("vault", saga.String()) }

func (g *graph) vaultKind() string { return g.kind() + "/vault" }

// vaultLooks is how often a vault looks whether its saga is still there.
const vaultLooks = time.Hour

func (e *engine) openVault(ctx context.Context) error {
	t, err := e.k.Get(ctx, vaultID(e.id))
	if errors.Is(err, kernel.ErrNotFound) || err == nil && t.State.Terminal() {
		return nil // wiped: the saga was about to end
	}
	if err != nil {
		return err
	}
	var v vault
	if err := json.Unmarshal(t.Args, &v); err != nil {
		return &lacking{[]string{"the secrets of the input do not decode"}}
	}
	for id, s := range v.Secrets {
		e.vault[id] = s
	}
	return nil
}

// serveVault ends a vault whose saga has ended, or was never stored: nobody wiped it.
func (g *graph) serveVault(k *kernel.Kernel) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		var v vault
		if err := json.Unmarshal(run.Task().Args, &v); err != nil {
			return kernel.Outcome{}, kernel.Permanent(err)
		}
		t, err := k.Get(ctx, v.Saga)
		if errors.Is(err, kernel.ErrNotFound) || err == nil && t.State.Terminal() {
			return kernel.Outcome{}, nil
		}
		return kernel.Snooze(vaultLooks), err
	}
}
