package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// tendKind is the kind of the tasks that look after batches: that none is left half submitted, or unserved if it must not be.
const tendKind = "batch-tend"

// tendArgs is what such a task carries.
type tendArgs struct {
	Batch        kernel.ID     `json:"batch"`
	Queue        string        `json:"queue"`
	Kind         string        `json:"kind"`
	FillTimeout  time.Duration `json:"fill_timeout"`
	FailUnserved time.Duration `json:"fail_unserved"`
}

// Tend says that this process looks after batches, whoever serves them: it aborts what was left half submitted, and fails what nobody
// serves where Config.FailUnserved says so. Serve says it as well; calling it twice has no effect.
func Tend(k *kernel.Kernel) {
	if !k.Handles(tendKind) {
		k.Handle(tendKind, runTend)
	}
}

// watch stores the task that looks after the batch, before the batch: if its submit is cut off, somebody knows. A batch that is stored in one
// call needs none, unless it must not be left unserved.
func (w *writer[R, In, Out]) watch(ctx context.Context, last bool) error {
	cfg := w.b.cfg
	if (last || cfg.FillTimeout < 0) && cfg.FailUnserved <= 0 {
		return nil
	}
	a := tendArgs{Batch: w.group.ID, Queue: cfg.Queue, Kind: w.b.Kind(), FillTimeout: cfg.FillTimeout, FailUnserved: cfg.FailUnserved}
	args, err := encode.JSON(a)
	if err != nil {
		return err
	}
	_, err = w.k.Submit(ctx, kernel.Spec{
		ID: kernel.DeriveID("batch tend", w.group.ID.String()), Kind: tendKind, Queue: cfg.Queue, Args: args, Delay: a.wait(),
		Retry: kernel.Retry{Max: 1 << 20, Base: time.Second, Factor: 2, Cap: time.Minute}, Retention: kernel.Forget,
	})
	return err
}

// wait is how long there is nothing to look at.
func (a *tendArgs) wait() time.Duration {
	switch {
	case a.FailUnserved <= 0:
		return a.FillTimeout
	case a.FillTimeout < 0:
		return a.look()
	}
	return min(a.look(), a.FillTimeout)
}

// look is how often it is looked whether somebody serves the batch.
func (a *tendArgs) look() time.Duration { return max(a.FailUnserved/4, time.Second) }

// entryUnserved is the entry that keeps since when nobody has served a batch.
const entryUnserved = "unserved"

// runTend looks at a batch.
func runTend(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	var a tendArgs
	if err := json.Unmarshal(kr.Task().Args, &a); err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", err))
	}
	k := kr.Kernel()
	g, err := k.Group(ctx, a.Batch)
	if errors.Is(err, kernel.ErrNotFound) {
		return kernel.Outcome{}, nil // its submit came to nothing
	}
	if err != nil {
		return kernel.Outcome{}, err
	}
	switch idle := kr.Now().Sub(g.UpdatedAt); {
	case g.State == kernel.GroupClosed || g.Aborting != "":
		return kernel.Outcome{}, nil
	case g.State == kernel.GroupFilling && a.FillTimeout > 0 && idle >= a.FillTimeout:
		kr.Logger().Warn("a batch was left half submitted; it is aborted", "batch", g.ID.String(), "rows", g.Total)
		_, err := k.Abort(ctx, g.ID, reasonAbandoned)
		return kernel.Outcome{}, err
	case g.State == kernel.GroupFilling && a.FillTimeout > 0:
		return kernel.Snooze(max(min(a.wait(), a.FillTimeout-idle), time.Second)), nil
	case a.FailUnserved <= 0 && g.State != kernel.GroupFilling:
		return kernel.Outcome{}, nil // it is submitted, and that is all there was to see to
	case g.State != kernel.GroupOpen:
		return kernel.Snooze(a.wait()), nil
	}
	return a.serve(ctx, kr)
}

// serve fails the batch if nobody has served it for too long.
func (a *tendArgs) serve(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	k := kr.Kernel()
	is, err := served(ctx, k, a.Queue, a.Kind)
	if err != nil {
		return kernel.Outcome{}, err
	}
	entries, err := kr.Load(ctx, entryUnserved)
	if err != nil {
		return kernel.Outcome{}, err
	}
	var since time.Time
	if data := entries[entryUnserved]; data != nil {
		if err := json.Unmarshal(data, &since); err != nil {
			return kernel.Outcome{}, kernel.Permanent(err)
		}
	}
	out := kernel.Snooze(a.look())
	switch now := kr.Now(); {
	case is:
		out.Entries = map[string][]byte{entryUnserved: nil}
	case since.IsZero():
		data, err := encode.JSON(now)
		if err != nil {
			return kernel.Outcome{}, err
		}
		out.Entries = map[string][]byte{entryUnserved: data}
	case now.Sub(since) >= a.FailUnserved:
		kr.Logger().Error("no process serves a batch; it fails", "batch", a.Batch.String(), "rows", a.Kind)
		if _, err := k.Abort(ctx, a.Batch, reasonUnserved); err != nil {
			return kernel.Outcome{}, fmt.Errorf("fail a batch that nobody serves: %w", err)
		}
		return kernel.Outcome{}, nil
	}
	return out, nil
}
