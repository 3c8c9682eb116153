package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// Roles that not every engine offers. What is wrapped has all of them; where the store beneath has not, they fail.
var (
	_ store.Resealer = wrapped{}
	_ store.Blobs    = wrapped{}
)

func role[T any](w wrapped) (T, error) {
	r, ok := w.Store.(T)
	if !ok {
		return r, fmt.Errorf("%T: %w", w.Store, errors.ErrUnsupported)
	}
	return r, nil
}

func (w wrapped) Reseal(ctx context.Context, req store.ResealRequest) error {
	r, err := role[store.Resealer](w)
	if err != nil {
		return err
	}
	return w.around(ctx, "Reseal", func() error { return r.Reseal(ctx, req) })
}

func (w wrapped) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	b, err := role[store.Blobs](w)
	if err != nil {
		return err
	}
	return w.around(ctx, "PutChunk", func() error { return b.PutChunk(ctx, key, number, data) })
}

func (w wrapped) Chunk(ctx context.Context, key string, number int) ([]byte, error) {
	b, err := role[store.Blobs](w)
	if err != nil {
		return nil, err
	}
	return through(ctx, w, "Chunk", func() ([]byte, error) { return b.Chunk(ctx, key, number) })
}

func (w wrapped) DeleteBlob(ctx context.Context, key string) (bool, error) {
	b, err := role[store.Blobs](w)
	if err != nil {
		return false, err
	}
	return through(ctx, w, "DeleteBlob", func() (bool, error) { return b.DeleteBlob(ctx, key) })
}

func (w wrapped) BlobList(ctx context.Context, page store.PageRequest) (store.Page[store.BlobInfo], error) {
	b, err := role[store.Blobs](w)
	if err != nil {
		return store.Page[store.BlobInfo]{}, err
	}
	return through(ctx, w, "BlobList", func() (store.Page[store.BlobInfo], error) { return b.BlobList(ctx, page) })
}

// resealCommand reseals what a task has, mostly at the version that it is at.
func resealCommand(c *chaos) {
	id, late, text := c.anyTask(), c.rarely(4), fmt.Sprint("resealed ", c.int(0, 9))
	c.do(fmt.Sprintf("Reseal %v, late %v", id, late), func(d *side) error {
		r, ok := d.st.(store.Resealer)
		if !ok || !c.reseals {
			return nil
		}
		t, err := d.st.Get(c.ctx(), id)
		if err != nil {
			return err
		}
		req := store.ResealRequest{Task: id, Version: t.Version}
		if late {
			req.Version--
		}
		if t.Args != nil {
			req.Args = []byte(text)
		}
		if t.OnEnd != nil && t.OnEnd.Args != nil {
			req.OnEnd = []byte(text)
		}
		if t.Result != nil {
			req.Result = []byte(text)
		}
		return r.Reseal(c.ctx(), req)
	})
}
