package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// GroupState says where a group stands.
type GroupState = store.GroupState

// The states of a group.
const (
	GroupFilling = store.GroupFilling // members come; none runs
	GroupHeld    = store.GroupHeld    // sealed, waits for Release; members may come
	GroupOpen    = store.GroupOpen
	GroupClosed  = store.GroupClosed
)

// CloseID returns the id that the closing task of a group has, or will have, in the group's present generation.
func CloseID(g Group) ID { return store.CloseID(g.ID, g.Generation) }

// Groups pages through groups, newest id first. What is sealed of their closing tasks stays so.
func (k *Kernel) Groups(ctx context.Context, page PageRequest) (store.Page[Group], error) {
	var p store.Page[Group]
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.GroupList(ctx, page)
		return err
	})
	return p, wrap("list groups", err)
}

// CloseArgs returns the args of the task that follows the closing of a group, opened. Without one it is nil.
func (k *Kernel) CloseArgs(g Group) ([]byte, error) {
	if g.OnClose == nil || g.OnClose.Sealed.IsZero() {
		return argsOf(g.OnClose), nil
	}
	return k.unseal(g.OnClose.Sealed, "args", g.OnClose.Args)
}

// Members pages through the members of a group by Line, then id; with states only through those that are in one of them. With
// Payload, what is sealed is opened and what is in blobs is fetched; a member for which that fails is there as it is stored, and
// the error tells of the first one.
func (k *Kernel) Members(ctx context.Context, group ID, states []TaskState, page PageRequest) (store.Page[Task], error) {
	var p store.Page[Task]
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.List(ctx, Filter{Group: group, States: states}, page)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("list members of group %s: %w", group, err)
	}
	var first error
	for i := range p.Items {
		t := &p.Items[i]
		if !page.Payload {
			veil(t)
			continue
		}
		if err := k.openTask(ctx, t); err != nil && first == nil {
			first = fmt.Errorf("member %d of group %s (task %s): %w", t.Line, group, t.ID, err)
		}
	}
	return p, first
}

// Handles reports whether this process runs the tasks of a kind.
func (k *Kernel) Handles(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.handlers[kind] != nil
}

// OnStop has fn called once, when Run has ended or, if there is no Run that goes on, by Close: after the last run of a handler has
// returned, or was left behind as ErrStuck. The last that was handed over is called first. On a closed kernel it is called at once.
func (k *Kernel) OnStop(fn func()) {
	k.mu.Lock()
	if !k.closed {
		k.onStop = append(k.onStop, fn)
		k.mu.Unlock()
		return
	}
	k.mu.Unlock()
	fn()
}

// stopped calls what waits for the end. A panic of one does not keep the others from it.
func (k *Kernel) stopped() {
	k.mu.Lock()
	fns := k.onStop
	k.onStop = nil
	k.mu.Unlock()
	for _, fn := range slices.Backward(fns) {
		if err := contain(fn); err != nil {
			k.log.Error("a function of OnStop has panicked", "err", err)
		}
	}
}

func contain(fn func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			passExit(p)
			err = errors.New(fmt.Sprint(p))
		}
	}()
	fn()
	return nil
}

// KeepsBlobs reports whether this process has a place for blobs: Config.Blobs names one.
func (k *Kernel) KeepsBlobs() bool { return !k.blobs.Empty() }
