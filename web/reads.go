package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// fresh is how long what was read is shown to all who look: a hundred open pages cost the store what one does.
const fresh = time.Second

// reads are the questions that every page asks, answered once for all who look.
type reads struct {
	k *kernel.Kernel

	mu   sync.Mutex
	kept map[string]*answer
}

type answer struct {
	mu    sync.Mutex
	until time.Time
	value any
}

// keptMost bounds how many answers are kept.
const keptMost = 256

// once answers from what was read a moment ago, or reads it; one reader asks, the others wait for its answer. An error is not kept.
func once[T any](ctx context.Context, r *reads, name string, keep time.Duration, read func(context.Context) (T, error)) (T, error) {
	r.mu.Lock()
	a := r.kept[name]
	if a == nil {
		if len(r.kept) >= keptMost || r.kept == nil {
			r.kept = map[string]*answer{}
		}
		a = &answer{}
		r.kept[name] = a
	}
	r.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, ok := a.value.(T); ok && time.Now().Before(a.until) {
		return v, nil
	}
	v, err := read(ctx)
	if err != nil {
		return v, err
	}
	a.value, a.until = v, time.Now().Add(keep)
	return v, nil
}

// forget makes the next page read everything anew: somebody has done something.
func (r *reads) forget() {
	r.mu.Lock()
	r.kept = nil
	r.mu.Unlock()
}

// ahead asks for several things at once. What they answer is kept, and found by whoever asks for it then; so is an error, by asking again.
func ahead(ctx context.Context, reads ...func(context.Context) error) {
	var asking sync.WaitGroup
	for _, read := range reads {
		asking.Go(func() { _ = read(ctx) }) // who needs the answer is told the error
	}
	asking.Wait()
}

// asks makes a read one that ahead takes.
func asks[T any](read func(context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := read(ctx)
		return err
	}
}

// lately asks for the statistics of the last n minutes.
func (q *request) lately(n int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := q.minutes(ctx, n)
		return err
	}
}

func (q *request) queues(ctx context.Context) ([]kernel.QueueStatus, error) {
	return once(ctx, &q.h.reads, "queues", fresh, q.h.k.Queues)
}

func (q *request) workers(ctx context.Context) ([]kernel.Worker, error) {
	return once(ctx, &q.h.reads, "workers", fresh, q.h.k.Workers)
}

func (q *request) pauses(ctx context.Context) ([]kernel.Pause, error) {
	return once(ctx, &q.h.reads, "pauses", fresh, q.h.k.Pauses)
}

func (q *request) limits(ctx context.Context) ([]kernel.LimitStatus, error) {
	return once(ctx, &q.h.reads, "limits", fresh, func(ctx context.Context) ([]kernel.LimitStatus, error) { return q.h.k.Limits(ctx) })
}

// minutes reads the statistics of the last n minutes, the present one included.
func (q *request) minutes(ctx context.Context, n int) ([]kernel.Minute, error) {
	until := q.now.Truncate(time.Minute).Add(time.Minute)
	keep := fresh
	if n > 60 {
		keep = 15 * time.Second // many rows, and the present minute is a small part of them
	}
	return once(ctx, &q.h.reads, fmt.Sprintf("minutes/%d/%d", n, until.Unix()), keep, func(ctx context.Context) ([]kernel.Minute, error) {
		return q.h.k.Stats(ctx, until.Add(-time.Duration(n)*time.Minute), until)
	})
}
