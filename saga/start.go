package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Options are of one start. The zero value starts the saga at once.
type Options struct {
	// Key keeps a second start of the same saga out: its handle is that of the first, whatever became of it. It is held for as long as
	// KeyFor says: 0: as long as the record is kept; else that long after the start. A saga that fails lets go of its key.
	Key    string
	KeyFor time.Duration
	// Delay is how long the saga waits at least. Run has no use for it.
	Delay time.Duration
	// Lane is a tenant, an account, a customer: lanes take turns. Default: one lane for all.
	Lane string
	// Priority goes first if it is higher. Default 0.
	Priority int
	// Limit is the key of the limit that the saga's runs count against: see kernel.PutLimit. Default: none.
	Limit string
	// Labels are shown and searched for. Default: none.
	Labels map[string]string
	// Correlation ties together what belongs to one request; the tasks of steps have it as well. Default: that of the step in which the
	// saga is started, if any.
	Correlation string
	// ID is the task's. The same ID again has no effect. Default: a fresh one.
	ID kernel.ID
	// OnEnd is submitted when the saga ends, by whichever road. Default: nothing.
	OnEnd *kernel.Spec
}

// Serve says that this process runs the saga, and those of its steps whose queue it serves. It must be called before k.Run, once;
// otherwise it panics, as it does if the saga has secrets and the kernel seals nothing.
func (d *Def[In, Out]) Serve(k *kernel.Kernel) {
	g := d.g
	if g.secrets && !k.Seals() {
		panic(fmt.Sprintf("saga %s: %v", g.name, ErrUnsealed))
	}
	k.Handle(g.kind(), func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		e := newEngine(k, g, run)
		return e.conclude(e.runSaga(ctx))
	})
	k.Handle(g.stepKind(), g.serveStep(k))
	if g.secrets {
		k.Handle(g.vaultKind(), g.serveVault(k))
	}
}

// Start stores the saga and returns when it is durable: from then on it ends, whatever dies. All of it runs in workers; its input is
// validated there. On kernel.ErrInDoubt the handle is that of the saga that may have been stored: start it again with its ID.
func (d *Def[In, Out]) Start(ctx context.Context, k *kernel.Kernel, in In, opts Options) (*Handle[Out], error) {
	spec, safe, err := d.prepare(ctx, k, in, opts, false)
	if err != nil {
		return nil, fmt.Errorf("start saga %s: %w", d.g.name, err)
	}
	if err := safe.store(ctx, k, d.g, spec); err != nil {
		return nil, fmt.Errorf("start saga %s: %w", d.g.name, err)
	}
	stands, err := k.Submit(ctx, spec)
	return d.started(k, stands, err)
}

func (d *Def[In, Out]) started(k *kernel.Kernel, stands kernel.Submitted, err error) (*Handle[Out], error) {
	if err != nil {
		err = fmt.Errorf("start saga %s: %w", d.g.name, err)
	}
	if err != nil && !errors.Is(err, kernel.ErrInDoubt) {
		return nil, err
	}
	h := d.Handle(k, stands.ID)
	h.existed = stands.Existed
	return h, err
}

// Run runs the saga in this process, in the goroutine of the caller, up to where it must wait: a step that is Async, a signal, a sleep.
// From there workers go on. It is as safe as Start: if this process dies, a worker goes on as well. An input that breaks its rules is
// refused before anything is stored. If the saga ended here and not well, the error is its *Error; if ctx ends first, its
// cause: the saga goes on in a worker. The handle is there in both cases.
func (d *Def[In, Out]) Run(ctx context.Context, k *kernel.Kernel, in In, opts Options) (*Handle[Out], error) {
	if err := d.g.refuse(in); err != nil {
		return nil, err
	}
	spec, safe, err := d.prepare(ctx, k, in, opts, d.g.orphan)
	if err != nil {
		return nil, fmt.Errorf("run saga %s: %w", d.g.name, err)
	}
	if err := safe.store(ctx, k, d.g, spec); err != nil {
		return nil, fmt.Errorf("run saga %s: %w", d.g.name, err)
	}
	var e *engine
	here, err := k.RunHere(ctx, spec, func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		e = newEngine(k, d.g, run)
		e.here = true
		maps.Copy(e.vault, safe)
		return e.conclude(e.runSaga(ctx))
	})
	if !here.Ran {
		return d.started(k, here.Submitted, err)
	}
	h := d.Handle(k, here.ID)
	if err != nil || !here.Settled.Terminal() && here.Settled != "held" {
		if ctx.Err() != nil {
			return h, context.Cause(ctx)
		}
		return h, nil // it has gone elsewhere
	}
	h.ended = &e.result
	return h, e.result.err
}

// refuse says what is wrong with an input: all of it.
func (g *graph) refuse(in any) error {
	if err := g.validate(in); err != nil {
		return &Error{Saga: g.name, State: Failed, Message: err.Error(), Type: "invalid", Fields: fieldErrors(err), err: errors.Join(kernel.ErrInvalid, err)}
	}
	return nil
}

// validate asks all rules of an input.
func (g *graph) validate(in any) error {
	var errs []error
	if v, ok := in.(interface{ Validate() error }); ok {
		errs = append(errs, protect(v.Validate))
	}
	for _, rule := range g.rules {
		errs = append(errs, protect(func() error { return rule(in) }))
	}
	return errors.Join(errs...)
}

// strongbox is the secrets of an input.
type strongbox map[string]json.RawMessage

// prepare makes the task of a start. caller says that it is rolled back if its caller is gone.
func (d *Def[In, Out]) prepare(ctx context.Context, k *kernel.Kernel, in In, o Options, caller bool) (kernel.Spec, strongbox, error) {
	g := d.g
	if g.secrets && !k.Seals() {
		return kernel.Spec{}, nil, ErrUnsealed
	}
	data, secrets, err := encodeValue(in)
	if err != nil {
		return kernel.Spec{}, nil, fmt.Errorf("%w: the input %w", kernel.ErrInvalid, err)
	}
	if o.ID.IsZero() {
		o.ID = k.NewID()
	}
	spec := kernel.Spec{
		ID: o.ID, Kind: g.kind(), Queue: g.queue, Owned: true, Retry: engineRetry, Timeout: kernel.NoTimeout,
		Args:  toJSON(args{Format: recordFormat, Hash: g.hash, Shape: g.inShape, Vault: len(secrets) > 0, Caller: caller, In: data}),
		Delay: o.Delay, Lane: o.Lane, Limit: o.Limit, Priority: o.Priority, Labels: maps.Clone(o.Labels), Retention: g.keep, OnEnd: o.OnEnd,
		Correlation: cmp.Or(o.Correlation, From(ctx).Correlation()),
	}
	if o.Key != "" {
		spec.Unique = kernel.Unique{Key: o.Key, For: cmp.Or(o.KeyFor, -1)}
	}
	return spec, secrets, nil
}

// store puts the secrets of an input where they can be wiped. It comes before the saga: one that is never started is found and wiped by its handler.
func (s strongbox) store(ctx context.Context, k *kernel.Kernel, g *graph, of kernel.Spec) error {
	if len(s) == 0 {
		return nil
	}
	_, err := k.Submit(ctx, kernel.Spec{
		ID: vaultID(of.ID), Kind: g.vaultKind(), Queue: g.queue, Delay: vaultLooks + of.Delay, Retention: kernel.Forget,
		Args: toJSON(vault{Saga: of.ID, Secrets: s}),
	})
	return err
}

// runSaga runs a saga, or goes on with one.
func (e *engine) runSaga(ctx context.Context) (kernel.Outcome, error) {
	if err := json.Unmarshal(e.run.Task().Args, &e.args); err != nil || e.args.Format != recordFormat {
		return kernel.Outcome{}, &lacking{[]string{fmt.Sprintf("it is written in format %d", e.args.Format)}}
	}
	if err := e.restore(ctx); err != nil {
		return kernel.Outcome{}, err
	}
	if e.here {
		e.args.Vault = e.args.Vault && len(e.vault) == 0
	}
	err := e.openInput(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	e.args.Vault = e.args.Vault || e.here && e.g.secrets
	return e.drive(ctx)
}

// enter does what comes before the first step: the rules of the input, and the locks.
func (e *engine) enter(ctx context.Context) (*kernel.Outcome, error) {
	if e.life.Phase != forward {
		return nil, nil
	}
	if len(e.rec) == 0 && !e.here {
		if err := e.g.validate(e.root.in); err != nil {
			e.fail("", OutcomeFailed, kernel.Typed("invalid", err), fieldErrors(err))
			return nil, nil
		}
	}
	if e.orphaned() {
		e.suspectNext()
		e.fail("", OutcomeUnknown, ErrOrphaned, nil)
		return nil, nil
	}
	for len(e.life.Locked) < len(e.g.locks) {
		ok, err := e.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			break
		}
		if !e.here {
			out := e.park(lockNet)
			return &out, nil
		}
		if err := e.pause(ctx, e.run.Now().Add(lockLooks)); err != nil {
			return nil, err
		}
		if e.interrupted(ctx) {
			break
		}
	}
	return nil, nil
}

// How often a saga looks whether a lock has become free: one that waits in its caller, and one that is parked and will be woken.
const (
	lockLooks = 200 * time.Millisecond
	lockNet   = 2 * time.Second
)

// orphaned reports whether the caller that began the saga was gone before workers could go on. A worker that begins a saga which its
// caller could not run says so first, lest its own death be taken for the caller's.
func (e *engine) orphaned() bool {
	if !e.args.Caller || e.here || e.life.Adopted || e.life.Clean != 0 || e.pivoted() {
		return false
	}
	if e.run.Fence().Epoch > 1 {
		return true
	}
	e.life.Adopted, e.unsaved = true, true
	e.dirty[lifeEntry] = true
	return false
}
