package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// call makes one call of the store under a deadline of its own, so that no loop can hang in it.
func (k *Kernel) call(ctx context.Context, d time.Duration, fn func(context.Context) error) error {
	ctx, cancel := k.env.WithTimeout(ctx, d, errCallTimeout)
	defer cancel()
	return fn(ctx)
}

// persist repeats a call until the store has answered it. It gives up when ctx ends, or after limit if that is not negative;
// the error then is ErrInDoubt. fn is told whether it is repeated.
func (k *Kernel) persist(ctx context.Context, limit time.Duration, fn func(ctx context.Context, repeat bool) error) error {
	begin := k.env.Now()
	pause := k.env.NewSignal()
	wait := 10 * time.Millisecond
	for tries := 0; ; tries++ {
		err := k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error { return fn(ctx, tries > 0) })
		if err == nil || store.Answered(err) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ErrInDoubt, errors.Join(context.Cause(ctx), err))
		}
		if limit >= 0 && k.env.Now().Sub(begin) >= limit {
			return fmt.Errorf("%w: %w", ErrInDoubt, err)
		}
		k.away(err)
		pause.Wait(ctx, time.Duration(float64(wait)*(0.5+uniform(k.env))))
		wait = min(2*wait, time.Second)
	}
}

// ask is persist for what a user asked for: it ends with the user's context.
func (k *Kernel) ask(ctx context.Context, fn func(context.Context) error) error {
	if err := k.open(); err != nil {
		return err
	}
	return k.persist(ctx, -1, func(ctx context.Context, _ bool) error { return fn(ctx) })
}

// away logs once that the store does not answer, and once when it does again: not once per second.
func (k *Kernel) away(err error) {
	if k.storeAway.CompareAndSwap(false, true) {
		k.log.Warn("store does not answer; calls are repeated", "err", err)
	}
}

// back is called after a beat or a pass was answered.
func (k *Kernel) back() {
	if k.storeAway.CompareAndSwap(true, false) {
		k.log.Info("store answers again")
	}
}
