package call

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// Item is one request of StartMany.
type Item struct {
	Request Request
	Options Options
}

// Started is what became of one item of StartMany: what Start would have returned.
type Started struct {
	Handle *Handle
	Err    error
}

// Bounds of one call of the store in StartMany.
const (
	chunkItems = 500
	chunkBytes = 4 << 20
)

// StartMany starts requests, many in one call of the store. One that cannot be started does not stop the others: what became of each stands
// in its place, and the error says how many were not started, and why the first was not.
func (c *Call) StartMany(ctx context.Context, k *kernel.Kernel, items []Item) ([]Started, error) {
	all := make([]Started, len(items))
	var chunk batch
	for i, item := range items {
		if c.client.cfg.Inline {
			all[i].Handle, all[i].Err = c.inline(ctx, item.Request, item.Options)
			continue
		}
		spec, clean, err := c.spec(ctx, k, item.Request, item.Options)
		if err == nil {
			if err = c.client.putLimit(ctx, k, spec.Lane); err != nil {
				clean(ctx)
			}
		}
		if err != nil {
			all[i].Err = fmt.Errorf("start call %s: %w", c.name, err)
		} else {
			chunk.add(i, spec, clean)
		}
		if len(chunk.specs) >= chunkItems || chunk.bytes >= chunkBytes {
			c.flush(ctx, k, &chunk, all)
		}
	}
	c.flush(ctx, k, &chunk, all)
	return all, c.summary(all)
}

// batch is what goes to the store in one call.
type batch struct {
	at    []int // places of the specs among the items
	specs []kernel.Spec
	clean []func(context.Context)
	bytes int
}

func (b *batch) add(i int, s kernel.Spec, clean func(context.Context)) {
	b.at, b.specs, b.clean, b.bytes = append(b.at, i), append(b.specs, s), append(b.clean, clean), b.bytes+len(s.Args)
}

// flush submits a batch, puts each answer in its place and empties the batch.
func (c *Call) flush(ctx context.Context, k *kernel.Kernel, b *batch, all []Started) {
	if len(b.specs) == 0 {
		return
	}
	answers, err := k.SubmitMany(ctx, b.specs)
	for n, i := range b.at {
		stands, failed := kernel.Submitted{ID: b.specs[n].ID}, err
		if len(answers) > 0 {
			stands = answers[n]
		}
		if failed == nil {
			failed = stands.Err
		}
		all[i] = c.started(ctx, k, kernelAnswer{spec: b.specs[n], stands: stands, err: failed, clean: b.clean[n]})
	}
	*b = batch{}
}

// kernelAnswer is what the kernel said to one request.
type kernelAnswer struct {
	spec   kernel.Spec
	stands kernel.Submitted
	err    error
	clean  func(context.Context)
}

// started makes of the kernel's answer what Start returns.
func (c *Call) started(ctx context.Context, k *kernel.Kernel, a kernelAnswer) Started {
	h := &Handle{k: k, call: c, id: a.stands.ID, existed: a.stands.Existed}
	err := a.err
	if err != nil {
		err = fmt.Errorf("start call %s: %w", c.name, err)
	}
	switch {
	case errors.Is(err, kernel.ErrInDoubt), err == nil && a.stands.ID == a.spec.ID:
		return Started{h, err}
	case err == nil || errors.Is(err, kernel.ErrDuplicate):
		a.clean(ctx) // another request stands: the body of this one is nobody's
		return Started{h, err}
	}
	a.clean(ctx)
	return Started{nil, err}
}

func (c *Call) summary(all []Started) error {
	failed, first := 0, -1
	for i, s := range all {
		if s.Err != nil {
			failed++
			if first < 0 {
				first = i
			}
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d calls %s were not started; the first is item %d: %w", failed, len(all), c.name, first, all[first].Err)
}
