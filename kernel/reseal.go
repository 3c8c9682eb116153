package kernel

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"github.com/outlast-go/outlast/store"
)

const (
	resealPasses = 20 // of a walk over everything
	resealTries  = 10 // of one record that changes all the time
	resealLanes  = 8  // records at a time, so that their writes are gathered
)

// stale is what a sealer can tell whose keys change: whether it would seal a text otherwise today.
type stale interface{ Stale(sealed []byte) bool }

// ResealReport tells what a rotation did.
type ResealReport struct {
	Resealed int   // records that were sealed anew
	Left     int   // records that could not be: they do not open, or an outcome is under way
	Err      error // of the first of those
	Seen     int   // records that were looked at, of all walks together
}

// Reseal seals everything anew that is stored under an old key: tasks of all states, their checkpoints and messages, groups and
// schedules. Whatever else works on the store goes on meanwhile. It may be stopped at any moment, and begun anew: what is done
// is done, each record by itself, and no newer write is ever undone. It walks until it finds nothing that is old. Once Left is 0, and
// no process seals under the old key any more, that key opens nothing that is stored. A sealer that has no method Stale, as a
// Ring has, makes it one walk that seals all anew. Those who watch are told now and then how far it is, one call at a time.
func (k *Kernel) Reseal(ctx context.Context, watch ...func(ResealReport)) (ResealReport, error) {
	keeper, ok := k.store.(store.Resealer)
	if !ok {
		return ResealReport{}, fmt.Errorf("reseal: a store of the engine %s cannot: %w", k.store.Info().Engine, errors.ErrUnsupported)
	}
	if k.cfg.Sealer == nil {
		return ResealReport{}, fmt.Errorf("reseal: %w", ErrNoSealer)
	}
	r := &resealing{k: k, store: keeper}
	old, tells := k.cfg.Sealer.(stale)
	r.old = func(sealed []byte) bool { return !tells || old.Stale(sealed) }
	var sum ResealReport
	r.page = func(n int) {
		sum.Seen += n
		now := ResealReport{Resealed: sum.Resealed + r.Resealed, Left: r.Left, Err: r.Err, Seen: sum.Seen}
		for _, fn := range watch {
			fn(now)
		}
	}
	for range resealPasses {
		r.ResealReport, r.met = ResealReport{}, false
		// Schedules and groups come first: what they submit from then on is sealed anew, and the walk over the tasks meets the rest.
		err := errors.Join(r.schedules(ctx), r.groups(ctx), r.tasks(ctx))
		sum.Resealed, sum.Left, sum.Err = sum.Resealed+r.Resealed, r.Left, r.Err
		if err != nil {
			return sum, fmt.Errorf("reseal: %w", err)
		}
		if !r.met || !tells {
			break
		}
	}
	return sum, nil
}

// resealing is one walk.
type resealing struct {
	k     *Kernel
	store store.Resealer
	old   func(sealed []byte) bool
	page  func(n int) // so many records were looked at; nothing is under way

	mu sync.Mutex
	ResealReport
	met bool // something that was old, whoever sealed it anew
}

func (r *resealing) tasks(ctx context.Context) error {
	list := func(ctx context.Context, page store.PageRequest) (store.Page[Task], error) {
		page.Oldest, page.Payload = true, true
		return r.k.store.List(ctx, store.Filter{}, page)
	}
	return walk(ctx, r, list, func(tasks []Task) error { return r.each(ctx, tasks) })
}

func (r *resealing) groups(ctx context.Context) error {
	return walk(ctx, r, r.k.store.GroupList, func(list []Group) error {
		for _, g := range list {
			if err := r.group(ctx, g); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *resealing) schedules(ctx context.Context) error {
	return walk(ctx, r, r.k.store.ScheduleList, func(list []Schedule) error {
		for _, s := range list {
			if err := r.schedule(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// walk pages through all that a store lists.
func walk[T any](ctx context.Context, r *resealing, list func(context.Context, store.PageRequest) (store.Page[T], error), do func([]T) error) error {
	page := store.PageRequest{Limit: 200}
	for {
		var p store.Page[T]
		err := r.k.ask(ctx, func(ctx context.Context) (err error) {
			p, err = list(ctx, page)
			return err
		})
		if err != nil {
			return err
		}
		if err := do(p.Items); err != nil {
			return err
		}
		r.page(len(p.Items))
		if page.Cursor = p.Cursor; page.Cursor == "" {
			return nil
		}
	}
}

// each reseals tasks side by side: their writes go to the store together.
func (r *resealing) each(ctx context.Context, list []Task) error {
	crew := newCrew(r.k.env)
	var errs [resealLanes]error
	for lane := range resealLanes {
		crew.Go(func() {
			for i := lane; i < len(list) && errs[lane] == nil; i += resealLanes {
				errs[lane] = r.task(ctx, list[i])
			}
		})
	}
	crew.Wait(r.k.forever, -1)
	return errors.Join(errs[:]...)
}

// task reseals one. Only a store that is away is an error: whatever else is wrong with a task is wrong with it alone.
func (r *resealing) task(ctx context.Context, listed Task) error {
	t := &listed
	return r.record(ctx, func(ctx context.Context, again bool) (req store.ResealRequest, changed bool, err error) {
		if again {
			if t, err = r.k.record(ctx, t.ID); err != nil {
				return req, false, err
			}
		}
		req = store.ResealRequest{Task: t.ID, Version: t.Version}
		if t.Sealed.IsZero() && (t.OnEnd == nil || t.OnEnd.Sealed.IsZero()) {
			return req, false, nil
		}
		c := &resealed{resealing: r}
		c.spec(&t.Spec, &req)
		if !t.Sealed.IsZero() {
			req.Result = c.bytes(t.ID, "result", t.Result)
			if t.Error != nil && t.Error.Message == sealedText {
				req.Detail = c.bytes(t.ID, "error", t.Error.Detail)
			}
			req.Note = c.note(t)
			err = c.rest(ctx, t, &req)
		}
		return req, c.changed, errors.Join(err, c.err)
	})
}

func (r *resealing) group(ctx context.Context, g Group) error {
	return r.record(ctx, func(ctx context.Context, again bool) (req store.ResealRequest, changed bool, err error) {
		if again {
			if g, err = r.k.Group(ctx, g.ID); err != nil {
				return req, false, err
			}
		}
		c := &resealed{resealing: r}
		if req = (store.ResealRequest{Group: g.ID, Version: g.Version}); g.OnClose != nil {
			c.spec(g.OnClose, &req)
		}
		return req, c.changed, c.err
	})
}

func (r *resealing) schedule(ctx context.Context, s Schedule) error {
	return r.record(ctx, func(ctx context.Context, again bool) (req store.ResealRequest, changed bool, err error) {
		if again {
			err = r.k.ask(ctx, func(ctx context.Context) (err error) {
				s, err = r.k.store.Schedule(ctx, s.Name)
				return err
			})
			if err != nil {
				return req, false, err
			}
		}
		c := &resealed{resealing: r}
		req = store.ResealRequest{Schedule: s.Name, Version: s.Version}
		c.spec(&s.Task, &req)
		return req, c.changed, c.err
	})
}

// record reseals one record: read, seal, replace if nobody wrote meanwhile, else again. What cannot be opened or does not hold
// still is left, and told of; what is gone is done.
func (r *resealing) record(ctx context.Context, read func(ctx context.Context, again bool) (store.ResealRequest, bool, error)) error {
	var last error
	for try := range resealTries {
		req, changed, err := read(ctx, try > 0)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case errors.Is(err, store.ErrChanged):
			last = err
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrInDoubt), errors.Is(err, ErrClosed):
			return err
		case err != nil:
			r.leave(req, err)
			return nil
		case !changed:
			return nil
		}
		r.mu.Lock()
		r.met = true
		r.mu.Unlock()
		last = r.k.ask(ctx, func(ctx context.Context) error { return r.store.Reseal(ctx, req) })
		switch {
		case last == nil:
			r.mu.Lock()
			r.Resealed++
			r.mu.Unlock()
			return nil
		case errors.Is(last, ErrNotFound):
			return nil
		case errors.Is(last, store.ErrState):
			r.leave(req, last)
			return nil
		case !errors.Is(last, store.ErrChanged):
			return last
		}
	}
	r.leave(store.ResealRequest{}, last)
	return nil
}

// leave counts a record that could not be resealed.
func (r *resealing) leave(req store.ResealRequest, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Left++
	if r.Err == nil {
		r.Err = fmt.Errorf("%s%s%s: %w", req.Task, req.Group, req.Schedule, err)
	}
}

// resealed gathers what of one record is sealed anew.
type resealed struct {
	*resealing
	changed bool
	err     error
}

// bytes seals a text anew if it is old; otherwise it is nil.
func (c *resealed) bytes(id ID, field string, sealed []byte) []byte {
	if sealed == nil || c.err != nil || !c.old(sealed) {
		return nil
	}
	plain, err := c.k.unseal(id, field, sealed)
	if err == nil {
		sealed, err = c.k.seal(id, field, plain)
	}
	if err != nil {
		c.err = err
		return nil
	}
	c.changed = true
	return sealed
}

func (c *resealed) spec(s *Spec, req *store.ResealRequest) {
	if !s.Sealed.IsZero() {
		req.Args = c.bytes(s.Sealed, "args", s.Args)
	}
	if s.OnEnd != nil && !s.OnEnd.Sealed.IsZero() {
		req.OnEnd = c.bytes(s.OnEnd.Sealed, "args", s.OnEnd.Args)
	}
}

func (c *resealed) note(t *Task) string {
	sealed, err := base64.RawStdEncoding.DecodeString(t.Progress.Note)
	if err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("note: %w", err))
		return ""
	}
	if len(sealed) == 0 {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(c.bytes(t.ID, "note", sealed))
}

// rest seals the checkpoint and the inbox anew. They are read after the record: if they moved since, so did its version.
func (c *resealed) rest(ctx context.Context, t *Task, req *store.ResealRequest) error {
	if t.Stripped {
		return nil
	}
	var entries map[string][]byte
	var messages []Message
	err := c.k.ask(ctx, func(ctx context.Context) (err error) {
		if entries, err = c.k.store.Load(ctx, t.ID); err != nil {
			return err
		}
		if !t.State.Terminal() {
			messages, err = c.k.store.Messages(ctx, t.ID)
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: it was stripped or removed", store.ErrChanged)
	}
	if err != nil {
		return err
	}
	req.Entries, req.Messages = map[string][]byte{}, map[ID][]byte{}
	for name, value := range entries {
		if b := c.bytes(t.ID, "entry/"+name, value); b != nil {
			req.Entries[name] = b
		}
	}
	for _, m := range messages {
		if b := c.bytes(t.ID, "message/"+m.ID.String(), m.Body); b != nil {
			req.Messages[m.ID] = b
		}
	}
	return nil
}
