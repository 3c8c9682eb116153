package kernel

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Remote is a worker whose process is elsewhere: it has no handle on the store, and this kernel speaks for it. So may any other kernel on the
// same store: nothing of it is kept here. No evidence is taken for it; it dies by silence alone.
type Remote struct {
	k  *Kernel
	id string
}

// RemoteInfo is how a worker elsewhere joins. Its zero value works.
type RemoteInfo struct {
	// Name begins its id. Default "remote".
	Name string
	// Version of its program, for people. Default: empty.
	Version string
	// Queues it serves, with their slots, and Kinds it runs: for people. Default: none.
	Queues map[string]int
	Kinds  []string
	// Beat and DeadAfter are as in Config. Default 5 s and 30 s.
	Beat, DeadAfter time.Duration
}

// remoteMark begins the ids of workers elsewhere. No name has it, so nobody elsewhere can speak for a process that has a handle.
const remoteMark = "~"

// JoinRemote creates a worker elsewhere.
func (k *Kernel) JoinRemote(ctx context.Context, info RemoteInfo) (*Remote, error) {
	if info.Name == "" {
		info.Name = "remote"
	}
	if info.Beat == 0 {
		info.Beat = 5 * time.Second
	}
	if info.DeadAfter == 0 {
		info.DeadAfter = max(30*time.Second, 5*info.Beat)
	}
	if err := info.validate(); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	req := store.JoinRequest{Remote: true, Beat: info.Beat, DeadAfter: info.DeadAfter, Info: store.WorkerInfo{
		Host: info.Name, Version: info.Version, Slots: info.Queues, Kinds: info.Kinds,
	}}
	err := k.ask(ctx, func(ctx context.Context) error {
		// Each try is another incarnation: one whose answer was lost holds nothing, and dies in its time.
		random := k.env.Random()
		req.ID = remoteMark + info.Name + ":" + hex.EncodeToString(random[:])
		return k.store.Join(ctx, req)
	})
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	k.log.Info("worker joined", "worker", req.ID)
	k.observe(Event{Kind: WorkerJoined, Worker: req.ID})
	return &Remote{k: k, id: req.ID}, nil
}

func (i *RemoteInfo) validate() error {
	if err := errors.Join(store.CheckName("the name", i.Name), store.CheckKey("the version", i.Version), checkServed(i.Queues, i.Kinds)); err != nil {
		return err
	}
	if i.Beat < 100*time.Millisecond || i.DeadAfter > 24*time.Hour || i.Beat > i.DeadAfter/5 {
		return fmt.Errorf("%w: a beat of %v with dead-after %v; beat every 100ms at most, five times in dead-after at least, which may be 24h", store.ErrInvalid, i.Beat, i.DeadAfter)
	}
	return nil
}

func checkServed(queues map[string]int, kinds []string) error {
	if len(queues) > 1000 || len(kinds) > 1000 {
		return fmt.Errorf("%w: more than 1,000 queues or kinds", store.ErrInvalid)
	}
	for queue, slots := range queues {
		if err := store.CheckName("queue", queue); err != nil {
			return err
		}
		if slots < 1 || slots > 1000 {
			return fmt.Errorf("%w: %d slots of queue %s; ask for 1 to 1,000", store.ErrInvalid, slots, queue)
		}
	}
	for _, kind := range kinds {
		if err := store.CheckName("kind", kind); err != nil {
			return err
		}
	}
	return nil
}

// Remote returns a worker elsewhere by its id. Whether there is one is seen by its first use: ErrDead. An id that no worker elsewhere
// can have is ErrNotFound.
func (k *Kernel) Remote(id string) (*Remote, error) {
	if !strings.HasPrefix(id, remoteMark) {
		return nil, fmt.Errorf("worker %.80q: %w", id, ErrNotFound)
	}
	return &Remote{k: k, id: id}, nil
}

// ID returns the worker's id.
func (r *Remote) ID() string { return r.id }

// RemoteBeat is what a beat is answered.
type RemoteBeat struct {
	Every time.Duration    // beat so often
	Asked []store.HeldTask // tasks it holds that were asked to end
}

// Beat keeps the worker alive. ErrDead: it was silent for too long, or has left; it must give up what it runs and join anew.
func (r *Remote) Beat(ctx context.Context, load store.Load) (RemoteBeat, error) {
	var res store.BeatResult
	err := r.k.ask(ctx, func(ctx context.Context) (err error) {
		res, err = r.k.store.Beat(ctx, store.BeatRequest{Worker: r.id, Load: load})
		return err
	})
	return RemoteBeat{Every: res.Every, Asked: res.Asked}, wrap("beat of worker "+r.id, err)
}

// Leave ends the worker, and puts back what it holds without a crash. It may be repeated.
func (r *Remote) Leave(ctx context.Context) error {
	more := true
	for more {
		err := r.k.ask(ctx, func(ctx context.Context) (err error) {
			more, err = r.k.store.Leave(ctx, r.id)
			return err
		})
		if err != nil {
			return fmt.Errorf("leave of worker %s: %w", r.id, err)
		}
	}
	r.k.log.Info("worker left", "worker", r.id)
	r.k.observe(Event{Kind: WorkerLeft, Worker: r.id})
	return nil
}

// remoteTurns keeps where the turns of claims from elsewhere stand, by queue: without it every claim would begin at the same lane.
type remoteTurns struct {
	mu      sync.Mutex
	cursors map[string]string
}

// slots makes the request of some queues, by name.
func (t *remoteTurns) slots(queues map[string]int) []store.QueueSlots {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]store.QueueSlots, 0, len(queues))
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		list = append(list, store.QueueSlots{Queue: queue, Slots: queues[queue], Cursor: t.cursors[queue]})
	}
	return list
}

func (t *remoteTurns) keep(cursors map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cursors == nil || len(t.cursors) > 10_000 {
		t.cursors = map[string]string{} // names come from elsewhere, and must not fill the memory
	}
	maps.Copy(t.cursors, cursors)
}
