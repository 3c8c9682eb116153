package call

import (
	"context"
	"io"

	"github.com/outlast-go/outlast/kernel"
)

// keeper is where bodies go that are too large for a record: the blobs of the kernel, which are sealed, and swept once their task is gone.
type keeper struct {
	k    *kernel.Kernel
	over int64 // bytes
}

// keeperOf returns the keeper of a kernel, nil if it has none.
func keeperOf(k *kernel.Kernel) *keeper {
	if k == nil || k.BlobThreshold() < 0 {
		return nil
	}
	return &keeper{k: k, over: int64(k.BlobThreshold())}
}

// put keeps what it reads.
func (k *keeper) put(ctx context.Context, id kernel.ID, r io.Reader) (*kernel.Ref, error) {
	ref, err := k.k.PutBlob(ctx, id, r)
	if err != nil {
		return nil, err
	}
	return &ref, nil
}
