package history_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// follow lets an outcome count under whatever fence the task runs.
func (l *liar) follow(ctx context.Context, f *store.Fence) {
	if l.bug != "unfenced" && l.bug != "checked-early" {
		return
	}
	t, err := l.Store.Get(ctx, f.ID)
	if l.bug == "checked-early" {
		if err != nil || t.Fence() != *f {
			return
		}
		<-time.After(5 * time.Millisecond)
		t, err = l.Store.Get(ctx, f.ID)
	}
	if err == nil && t.State == store.Running {
		*f = t.Fence()
	}
}

func (l *liar) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	if l.bug != "abort-lost" {
		return l.Store.Abort(ctx, id, reason)
	}
	g, err := l.Group(ctx, id)
	g.Aborting = store.ReasonAborted
	return g, err
}

func (l *liar) Delete(ctx context.Context, id store.ID) error {
	if t, err := l.Store.Get(ctx, id); l.bug == "delete-lost" && err == nil && t.State.Terminal() {
		return nil
	}
	return l.Store.Delete(ctx, id)
}

func (l *liar) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	if l.bug == "save-lost" && l.sometimes() {
		req.Entries = nil
	}
	asked, err := l.Store.Save(ctx, req)
	if l.bug == "late-save" && errors.Is(err, store.ErrFenced) {
		return asked, nil
	}
	return asked, err
}

func (l *liar) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	if l.bug != "cancel-lost" {
		return l.Store.Cancel(ctx, id, reason)
	}
	t, err := l.Store.Get(ctx, id)
	if err != nil || t.State == store.Running || t.State.Terminal() {
		return t.State, err
	}
	return store.Cancelled, nil
}

func (l *liar) Retry(ctx context.Context, id store.ID) error {
	err := l.Store.Retry(ctx, id)
	if l.bug != "retry-of-done" || !errors.Is(err, store.ErrState) {
		return err
	}
	if t, _ := l.Store.Get(ctx, id); t.State == store.Done {
		return nil
	}
	return err
}

func (l *liar) Send(ctx context.Context, m store.Message) error {
	if t, err := l.Store.Get(ctx, m.Task); l.bug == "message-lost" && err == nil && !t.State.Terminal() && l.sometimes() {
		return nil
	}
	return l.Store.Send(ctx, m)
}

func (l *liar) Messages(ctx context.Context, id store.ID) ([]store.Message, error) {
	list, err := l.Store.Messages(ctx, id)
	if l.bug == "message-twice" && len(list) > 1 {
		list = append(list, list[0])
	}
	return list, err
}

func (l *liar) Get(ctx context.Context, id store.ID) (store.Task, error) {
	t, err := l.Store.Get(ctx, id)
	if err != nil || l.bug != "stale-read" {
		return t, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := l.reads[id]
	l.reads[id] = t
	if ok {
		return before, nil
	}
	return t, nil
}

func (l *liar) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	res, err := l.Store.Beat(ctx, req)
	if l.bug == "dead-beats" && errors.Is(err, store.ErrDead) {
		return res, nil
	}
	return res, err
}

func (l *liar) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	res, err := l.Store.Recover(ctx, req)
	if l.bug == "recovered-twice" && len(res.Tasks) > 0 {
		res.Tasks = append(slices.Clone(res.Tasks), res.Tasks[0])
	}
	return res, err
}
