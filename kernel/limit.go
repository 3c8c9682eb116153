package kernel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// limitEvery is how often a process looks whether the limits that it declares still stand.
const limitEvery = 10 * time.Second

// bound is a limit that this program declares.
type bound struct {
	limit Limit
	put   bool   // it has been declared to the store
	heard string // what stood when it was last told that it does not
}

// DeclareLimit says that a limit is part of this program: Run puts it into the store. Where programs disagree the one that declared
// last stands; where somebody has set the limit at run time (PutLimit), that stands against all programs, until it is removed. Who
// finds that another one stands than it declares logs so, and observes LimitDiffers: both sides hear of it. Declaring another limit
// for a key in the same program is ErrInvalid.
func (k *Kernel) DeclareLimit(l Limit) error {
	if err := l.Validate(); err != nil {
		return fmt.Errorf("declare limit: %w", err)
	}
	if l.Running == 0 && len(l.Rates) == 0 {
		return fmt.Errorf("declare limit: %w: limit %s bounds nothing; say how many may run, or start", store.ErrInvalid, l.Key)
	}
	l.Declared, l.Rates = true, slices.Clone(l.Rates)
	k.mu.Lock()
	defer k.mu.Unlock()
	if have := k.bounds[l.Key]; have != nil && !have.limit.Same(l) {
		return fmt.Errorf("declare limit: %w: limit %s is declared as %s, and again as %s", store.ErrInvalid, l.Key, inWords(have.limit), inWords(l))
	}
	if k.bounds[l.Key] == nil {
		k.bounds[l.Key] = &bound{limit: l}
	}
	k.limitNow.Notify()
	return nil
}

// limitLoop declares limits, and keeps an eye on them.
func (k *Kernel) limitLoop(ctx context.Context) {
	for ctx.Err() == nil {
		every := limitEvery
		k.mu.Lock()
		if len(k.bounds) == 0 {
			every = -1 // until one is declared
		}
		k.mu.Unlock()
		if !k.declareLimits(ctx) {
			every = time.Second
		}
		k.limitNow.Wait(ctx, every)
	}
}

// declareLimits puts those into the store that are missing or an older program's, and tells of those that another has set. It
// returns false if the store did not answer.
func (k *Kernel) declareLimits(ctx context.Context) bool {
	k.mu.Lock()
	keys := slices.Sorted(maps.Keys(k.bounds))
	k.mu.Unlock()
	if len(keys) == 0 {
		return true
	}
	var list []store.LimitStatus
	err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
		list, err = k.store.LimitList(ctx, keys...)
		return err
	})
	if err != nil {
		k.away(err)
		return false
	}
	stands := map[string]Limit{}
	for _, l := range list {
		stands[l.Key] = l.Limit
	}
	done := true
	for _, key := range keys {
		have, found := stands[key]
		done = k.declareLimit(ctx, key, have, found) && done
	}
	return done
}

func (k *Kernel) declareLimit(ctx context.Context, key string, have Limit, found bool) bool {
	k.mu.Lock()
	b := k.bounds[key]
	l, put, heard := b.limit, b.put, b.heard
	k.mu.Unlock()
	switch {
	case found && have.Same(l):
		heard = ""
	case found && (put || !have.Declared):
		if text := inWords(have); text != heard {
			heard = text
			k.limitDiffers(l, have, "the store's stands")
		}
	default: // nothing stands, or what an older program declared
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {
			_, err := k.store.PutLimit(ctx, l)
			return err
		})
		if err != nil {
			k.away(err)
			return false
		}
		if found {
			k.limitDiffers(l, have, "this program's stands")
		}
	}
	k.mu.Lock()
	b.put, b.heard = true, heard
	k.mu.Unlock()
	return true
}

func (k *Kernel) limitDiffers(l, have Limit, which string) {
	err := fmt.Errorf("limit %s: this program declares %s, and the store had %s: %s", l.Key, inWords(l), inWords(have), which)
	k.log.Warn("limits differ", "limit", l.Key, "err", err)
	k.observe(Event{Kind: LimitDiffers, Name: l.Key, Err: err})
}

// inWords says in words what a limit bounds.
func inWords(l Limit) string {
	var parts []string
	if l.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", l.Running))
	}
	for _, r := range l.Rates {
		text := fmt.Sprintf("%d per %v", r.N, r.Per)
		if r.Burst > 0 {
			text += fmt.Sprintf(" in bursts of %d", r.Burst)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "no bound"
	}
	return strings.Join(parts, ", ")
}

// PutLimit bounds the tasks of a limit key across the fleet at run time, and returns the limit that stood before. It stands against
// what programs declare; without Running and Rates it removes the limit, and they declare theirs again when they next look.
func (k *Kernel) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	if err := l.Validate(); err != nil {
		return store.Limit{}, fmt.Errorf("put limit: %w", err)
	}
	var before store.Limit
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		before, err = k.store.PutLimit(ctx, l)
		return err
	})
	return before, wrap("put limit "+l.Key, err)
}

// Limits lists limits and their use, by key: those of some keys, or all if none is named.
func (k *Kernel) Limits(ctx context.Context, keys ...string) ([]store.LimitStatus, error) {
	var list []store.LimitStatus
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		list, err = k.store.LimitList(ctx, keys...)
		return err
	})
	return list, wrap("list limits", err)
}

// PutWeight sets how many tasks the lanes of a queue with this lane key give in a turn; below 1 is 1.
func (k *Kernel) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	return wrap("put weight", k.ask(ctx, func(ctx context.Context) error { return k.store.PutWeight(ctx, queue, lane, weight) }))
}

// Lanes pages through the lanes of a queue that have ready tasks, by name: how many wait, since when, and for what (Blocked: paused,
// limit, order; empty: for a free slot).
func (k *Kernel) Lanes(ctx context.Context, queue string, page PageRequest) (store.Page[store.LaneStatus], error) {
	var p store.Page[store.LaneStatus]
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		p, err = k.store.LaneList(ctx, queue, page)
		return err
	})
	return p, wrap("list lanes of queue "+queue, err)
}
