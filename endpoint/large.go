package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/outlast-go/outlast/kernel"
)

// keeper puts what is too large for a record into blobs of its task, which is not stored yet: a process that dies in between leaves a
// blob without a task, and that is removed in time.
type keeper struct {
	k    *kernel.Kernel
	id   kernel.ID
	refs []kernel.Ref
}

// piece is a part of a request: here, or elsewhere.
type piece struct {
	data []byte
	at   *kernel.Ref
	size int64
}

// errKeep marks that it was not the client's reader that failed.
var errKeep = errors.New("blob not kept")

// keep reads to the end. What is larger than a record may be is streamed to a blob, if there is a place for blobs.
func (b *keeper) keep(ctx context.Context, r io.Reader) (piece, error) {
	most := b.k.BlobThreshold()
	if most < 0 {
		data, err := io.ReadAll(r)
		return piece{data: data, size: int64(len(data))}, err
	}
	first, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil || len(first) <= most {
		return piece{data: first, size: int64(len(first))}, err
	}
	return b.put(ctx, io.MultiReader(bytes.NewReader(first), r))
}

// large puts what was read already into a blob, if it is too large for a record.
func (b *keeper) large(ctx context.Context, data []byte) (piece, error) {
	if most := b.k.BlobThreshold(); most < 0 || len(data) <= most {
		return piece{data: data, size: int64(len(data))}, nil
	}
	p, err := b.put(ctx, bytes.NewReader(data))
	p.data = data
	return p, err
}

func (b *keeper) put(ctx context.Context, r io.Reader) (piece, error) {
	t := &tee{r: r}
	ref, err := b.k.PutBlob(ctx, b.id, t)
	switch {
	case t.err != nil:
		return piece{}, t.err
	case err != nil:
		return piece{}, fmt.Errorf("%w: %w", errKeep, err)
	}
	b.refs = append(b.refs, ref)
	return piece{at: &ref, size: ref.Size}, nil
}

// drop removes what was kept for a task that was not stored.
func (b *keeper) drop(ctx context.Context) {
	for _, ref := range b.refs {
		_ = b.k.DropBlob(ctx, ref) // what stays is removed in time
	}
	b.refs = nil
}

// tee remembers why reading ended.
type tee struct {
	r   io.Reader
	err error
}

// Read reads on.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}

// fetch reads what of a request lies elsewhere. A blob that is gone fails the task for good.
func (s *stored) fetch(ctx context.Context, run *kernel.Run) (err error) {
	if s.JSONAt != nil {
		if s.JSON, err = fetch(ctx, run, *s.JSONAt); err != nil {
			return err
		}
	}
	if s.RawAt != nil {
		if s.Raw, err = fetch(ctx, run, *s.RawAt); err != nil {
			return err
		}
	}
	for i := range s.Files {
		if f := &s.Files[i]; f.At != nil {
			if f.Data, err = fetch(ctx, run, *f.At); err != nil {
				return err
			}
		}
	}
	return nil
}

func fetch(ctx context.Context, run *kernel.Run, ref kernel.Ref) ([]byte, error) {
	if ref.Task() != run.Key() {
		return nil, kernel.Permanent(kernel.Typed("decode", errors.New("the stored request names a blob of another task")))
	}
	r, err := run.Kernel().OpenBlob(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	defer func() { _ = r.Close() }() // it was only read
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return data, nil
}
