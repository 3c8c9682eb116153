package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/outlast-go/outlast/store"
)

// Save writes entries of the task's checkpoint; only those that are named change, a nil value removes one. When it returns
// nil they are durable: a later run, after whatever crash, finds them by Load. ErrFenced says that the task belongs to another,
// and ends the run's context. Messages that are consumed here are not seen again.
func (r *Run) Save(ctx context.Context, entries map[string][]byte, consume ...ID) error {
	for name, value := range entries {
		if err := store.CheckKey("entry", name); err != nil {
			return err
		}
		if err := r.k.fits("entry "+name, r.task.Kind, value); err != nil {
			return err
		}
	}
	sealed := entries
	if !r.task.Sealed.IsZero() {
		var err error
		if sealed, err = r.k.sealEntries(r.task.ID, entries); err != nil {
			return err
		}
	}
	answer, err := r.saver().do(ctx, save{entries: sealed, consume: consume})
	return wrap("save", errors.Join(err, answer))
}

// saver gathers the saves of the run.
func (r *Run) saver() *gather[save, error] {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if r.saving == nil {
		r.saving = &gather[save, error]{env: r.k.env, crew: r.k.crew, limit: 64, flush: r.flushSaves}
	}
	return r.saving
}

// save is what one call of Save wants to be written.
type save struct {
	entries map[string][]byte
	consume []ID
}

// flushSaves writes what was gathered. The saves of a run go one after the other, numbered, so that one that was stuck on its way
// cannot undo a later one.
func (r *Run) flushSaves(items []save) []error {
	req := store.SaveRequest{Fence: r.fence, Seq: r.nextSave(), Entries: map[string][]byte{}}
	for _, s := range items {
		maps.Copy(req.Entries, s.entries)
		req.Consume = append(req.Consume, s.consume...)
	}
	asked, err := r.save(r.k.life, req)
	switch {
	case errors.Is(err, store.ErrFenced):
		r.cancel(ErrFenced)
	case err == nil && asked != "" && asked != r.task.Asked:
		r.k.mu.Lock()
		r.ask(asked)
		r.k.mu.Unlock()
	}
	answers := make([]error, len(items))
	for i := range answers {
		answers[i] = err
	}
	return answers
}

func (r *Run) nextSave() int64 {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	r.saves++
	return r.saves
}

func (r *Run) save(ctx context.Context, req store.SaveRequest) (asked string, err error) {
	err = r.k.persist(ctx, -1, func(ctx context.Context, _ bool) (err error) {
		asked, err = r.k.store.Save(ctx, req)
		return err
	})
	return asked, err
}

// Load reads entries of the task's checkpoint, all of them if none is named. What is not there is missing in the answer.
func (r *Run) Load(ctx context.Context, names ...string) (map[string][]byte, error) {
	var entries map[string][]byte
	err := r.k.persist(ctx, -1, func(ctx context.Context, _ bool) (err error) {
		entries, err = r.k.store.Load(ctx, r.task.ID, names...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	entries, err = r.k.openEntries(r.task, entries)
	return entries, wrap("load", err)
}

// Messages lists what came into the task's inbox and was not consumed, in the order it came. Consume a message with the Save or the
// Outcome that records its use: then it is used once, whatever crashes.
func (r *Run) Messages(ctx context.Context) ([]Message, error) {
	var list []Message
	err := r.k.persist(ctx, -1, func(ctx context.Context, _ bool) (err error) {
		list, err = r.k.store.Messages(ctx, r.task.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	if err := r.k.openMessages(r.task, list); err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	return list, nil
}

// openMessages opens the bodies of messages to a sealed task, in place.
func (k *Kernel) openMessages(t Task, list []Message) (err error) {
	if t.Sealed.IsZero() {
		return nil
	}
	for i, m := range list {
		if list[i].Body, err = k.unseal(t.ID, "message/"+m.ID.String(), m.Body); err != nil {
			return err
		}
	}
	return nil
}

// Progress tells how far the run is. It costs nothing and never fails: what was told last is written with the next beat, or
// with the outcome.
func (r *Run) Progress(done, total int64, note string) {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	r.progress = &Progress{Done: done, Total: total, Note: clip(note, store.KeyLimit)}
}

// saveProgress writes what runs have told since the last beat. What was not answered is left to the next beat.
func (k *Kernel) saveProgress(ctx context.Context) {
	k.mu.Lock()
	var runs []*Run
	var told []*Progress
	for _, r := range k.sortedRuns() {
		if r.progress != nil && !r.settling {
			runs, told = append(runs, r), append(told, r.progress)
			r.progress = nil
		}
	}
	k.mu.Unlock()
	for i, r := range runs {
		req := store.SaveRequest{Fence: r.fence, Progress: k.sealNote(&r.task, told[i])}
		err := k.call(ctx, k.cfg.Beat, func(ctx context.Context) error {
			_, err := k.store.Save(ctx, req)
			return err
		})
		if err != nil && !store.Answered(err) {
			k.untold(runs[i:], told[i:])
			return // the store is away: the beat has more need of the time
		}
	}
}

// untold takes back what could not be written, where nothing newer was told meanwhile.
func (k *Kernel) untold(runs []*Run, told []*Progress) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, r := range runs {
		if r.progress == nil {
			r.progress = told[i]
		}
	}
}
