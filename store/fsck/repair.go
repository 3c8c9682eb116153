package fsck

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// ErrCannot says that a store cannot repair anything.
var ErrCannot = errors.New("this store derives nothing anew")

// Repair sets right what can be: each finding whose Repair names something, once. It returns how many things were otherwise than they should be.
// It may run beside everything else: what has changed since the check is derived as it is now.
func Repair(ctx context.Context, st store.Store, findings []Finding) (mended int, err error) {
	r, ok := st.(store.Repairer)
	if !ok {
		return 0, ErrCannot
	}
	seen := map[store.Repair]bool{{}: true}
	for _, f := range findings {
		if seen[f.Repair] {
			continue
		}
		seen[f.Repair] = true
		done, err := r.Repair(ctx, f.Repair)
		if err != nil {
			return mended, fmt.Errorf("repair %s %s: %w", f.Rule, f.ID, err)
		}
		if done {
			mended++
		}
	}
	return mended, nil
}
