package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Spec makes the task of a start without submitting it: for kernel.PutSchedule, kernel.SubmitGroup, as another's OnEnd, or
// to be submitted later. The error is kernel.ErrInvalid and names what cannot be stored.
func (j *Job[In, Out]) Spec(in In, opts Options) (kernel.Spec, error) {
	args, err := encode.JSON(in)
	if err != nil {
		return kernel.Spec{}, fmt.Errorf("job %s: %w: the input %w", j.name, kernel.ErrInvalid, err)
	}
	spec := j.spec(args, opts)
	if err := check(spec); err != nil {
		return kernel.Spec{}, fmt.Errorf("job %s: %w", j.name, err)
	}
	return spec, nil
}

// Start stores the job and returns when it is durable: from then on it ends, whatever dies. On kernel.ErrDuplicate the handle is
// that of the job that stands; on kernel.ErrInDoubt that of the job that may: start it again with its ID. On any other error
// nothing was stored and the handle is nil.
func (j *Job[In, Out]) Start(ctx context.Context, k *kernel.Kernel, in In, opts Options) (*Handle[Out], error) {
	spec, err := j.Spec(in, inherit(ctx, opts))
	if err != nil {
		return nil, fmt.Errorf("start %w", err)
	}
	stands, err := k.Submit(ctx, spec)
	started := j.started(k, stands, err)
	return started.Handle, started.Err
}

// Started is what became of one input of StartMany: what Start would have returned.
type Started[Out any] struct {
	Handle *Handle[Out]
	Err    error
}

// Bounds of one call of the store in StartMany.
const (
	chunkItems = 500
	chunkBytes = 4 << 20
)

// StartMany starts the job once for each input, many in one call of the store. Options are given once for all, or one for
// each input, or not at all; a Key or an ID is of one input alone. An input that cannot be started does not stop the others: what
// became of each stands in its place, and the error says how many were not started, and why the first was not. In an
// ordered lane they run in the order of the inputs.
func (j *Job[In, Out]) StartMany(ctx context.Context, k *kernel.Kernel, inputs []In, opts ...Options) ([]Started[Out], error) {
	each, err := spread(len(inputs), opts)
	if err != nil {
		return nil, fmt.Errorf("start jobs %s: %w", j.name, err)
	}
	all := make([]Started[Out], len(inputs))
	ids := makeIDs(k, len(inputs))
	var c chunk
	var lost error // the store is out of reach, or ctx has ended: no further chunk is tried
	for i, in := range inputs {
		spec, err := j.Spec(in, inherit(ctx, each(i)))
		if err != nil {
			all[i].Err = fmt.Errorf("start %w", err)
		} else {
			if spec.ID.IsZero() {
				spec.ID = ids[i]
			}
			c.add(i, spec)
		}
		if c.full() || i == len(inputs)-1 {
			lost = j.flush(ctx, k, &c, all, lost)
			c = chunk{}
		}
	}
	return all, summary(j.name, all)
}

// chunk is what goes to the store in one call.
type chunk struct {
	at    []int // places of the specs among the inputs
	specs []kernel.Spec
	bytes int
}

func (c *chunk) add(i int, s kernel.Spec) {
	c.at, c.specs, c.bytes = append(c.at, i), append(c.specs, s), c.bytes+len(s.Args)
}

func (c *chunk) halves() (left, right *chunk) {
	n := len(c.specs) / 2
	return &chunk{at: c.at[:n], specs: c.specs[:n]}, &chunk{at: c.at[n:], specs: c.specs[n:]}
}

func (c *chunk) full() bool { return len(c.specs) >= chunkItems || c.bytes >= chunkBytes }

// flush submits a chunk and puts each answer in its place. It returns why no further chunk is to be tried.
func (j *Job[In, Out]) flush(ctx context.Context, k *kernel.Kernel, c *chunk, all []Started[Out], lost error) error {
	if len(c.specs) == 0 {
		return lost
	}
	if lost != nil {
		for _, i := range c.at {
			all[i].Err = fmt.Errorf("start job %s: not tried: %w", j.name, lost)
		}
		return lost
	}
	answers, err := k.SubmitMany(ctx, c.specs)
	invalid := errors.Is(err, kernel.ErrInvalid)
	if invalid && len(c.specs) > 1 {
		// The kernel refused the call as a whole for one of its items, before anything was stored: narrow it down.
		left, right := c.halves()
		return j.flush(ctx, k, right, all, j.flush(ctx, k, left, all, nil))
	}
	for n, i := range c.at {
		stands := kernel.Submitted{}
		if len(answers) > 0 {
			stands = answers[n]
		}
		all[i] = j.started(k, stands, cmp.Or(err, stands.Err))
	}
	if invalid {
		return nil
	}
	return err
}

// started makes of the kernel's answer what Start returns.
func (j *Job[In, Out]) started(k *kernel.Kernel, stands kernel.Submitted, err error) Started[Out] {
	var s Started[Out]
	if err != nil {
		s.Err = fmt.Errorf("start job %s: %w", j.name, err)
	}
	if err == nil || errors.Is(err, kernel.ErrDuplicate) || errors.Is(err, kernel.ErrInDoubt) {
		s.Handle = j.Handle(k, stands.ID)
		s.Handle.existed, s.Handle.before = stands.Existed, stands.Replaced
	}
	return s
}

// spread tells which Options each of n inputs has.
func spread(n int, opts []Options) (func(i int) Options, error) {
	switch {
	case len(opts) == 0:
		return func(int) Options { return Options{} }, nil
	case len(opts) == n:
		return func(i int) Options { return opts[i] }, nil
	case len(opts) > 1:
		return nil, fmt.Errorf("%w: %d Options for %d inputs; give one for all, or one for each", kernel.ErrInvalid, len(opts), n)
	case opts[0].Key != "" || !opts[0].ID.IsZero():
		return nil, fmt.Errorf("%w: one Key or ID for %d inputs would keep all but the first out; give each input its own Options", kernel.ErrInvalid, n)
	}
	return func(int) Options { return opts[0] }, nil
}

// makeIDs makes ids that sort as they are listed: an ordered lane goes by them, and those of one millisecond are in no order.
func makeIDs(k *kernel.Kernel, n int) []kernel.ID {
	ids := make([]kernel.ID, n)
	for i := range ids {
		ids[i] = k.NewID()
	}
	slices.SortFunc(ids, func(a, b kernel.ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func summary[Out any](name string, all []Started[Out]) error {
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
	return fmt.Errorf("%d of %d jobs %s were not started; the first is input %d: %w", failed, len(all), name, first, all[first].Err)
}

// inherit fills in what a start takes from the run in which it happens.
func inherit(ctx context.Context, opts Options) Options {
	if opts.Correlation == "" {
		opts.Correlation = From(ctx).Task().Correlation
	}
	return opts
}
