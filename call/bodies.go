package call

import (
	"context"
	"io"
)

// Bodies keeps bodies that are too large for the store. What Put has returned for must be found by Get, from every process, until
// it is removed; who removes what no task refers to any more is the keeper's affair.
type Bodies interface {
	// Put keeps what it reads under a name that begins with the task's id, and returns how to find it again. On an error, also of
	// the reader, nothing is kept.
	Put(ctx context.Context, name string, r io.Reader) (ref string, err error)
	// Get opens what Put has kept.
	Get(ctx context.Context, ref string) (io.ReadCloser, error)
	// Remove lets go of it. It need not be there.
	Remove(ctx context.Context, ref string) error
}
