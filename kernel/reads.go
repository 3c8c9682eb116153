package kernel

import (
	"context"
	"time"
)

// Now reads the store's clock: it also tells whether the store answers.
func (k *Kernel) Now(ctx context.Context) (now time.Time, err error) {
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		now, err = k.store.Now(ctx)
		return err
	})
	return now, wrap("read the clock", err)
}
