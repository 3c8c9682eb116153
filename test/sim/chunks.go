package sim

import (
	"bytes"
	"context"
	"errors"

	"github.com/outlast-go/outlast/store"
)

var (
	_ store.Blobs = sender{}
	_ store.Blobs = (*witness)(nil)
)

var errNoBlobs = errors.New("the store keeps no blobs")

// PutChunk copies what a network would have copied: the caller fills its buffer anew.
func (s sender) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	b, ok := s.Store.(store.Blobs)
	if !ok {
		return errNoBlobs
	}
	return b.PutChunk(ctx, key, number, bytes.Clone(data))
}

// Chunk reads a chunk over the network.
func (s sender) Chunk(ctx context.Context, key string, number int) ([]byte, error) {
	b, ok := s.Store.(store.Blobs)
	if !ok {
		return nil, errNoBlobs
	}
	return b.Chunk(ctx, key, number)
}

// DeleteBlob removes chunks over the network.
func (s sender) DeleteBlob(ctx context.Context, key string) (bool, error) {
	b, ok := s.Store.(store.Blobs)
	if !ok {
		return false, errNoBlobs
	}
	return b.DeleteBlob(ctx, key)
}

// BlobList lists blobs over the network.
func (s sender) BlobList(ctx context.Context, page store.PageRequest) (store.Page[store.BlobInfo], error) {
	b, ok := s.Store.(store.Blobs)
	if !ok {
		return store.Page[store.BlobInfo]{}, errNoBlobs
	}
	return b.BlobList(ctx, page)
}

func (w *witness) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	b, ok := w.Store.(store.Blobs)
	if !ok {
		return errNoBlobs
	}
	return b.PutChunk(apply(ctx), key, number, data)
}

func (w *witness) Chunk(ctx context.Context, key string, number int) ([]byte, error) {
	b, ok := w.Store.(store.Blobs)
	if !ok {
		return nil, errNoBlobs
	}
	return b.Chunk(apply(ctx), key, number)
}

func (w *witness) DeleteBlob(ctx context.Context, key string) (bool, error) {
	b, ok := w.Store.(store.Blobs)
	if !ok {
		return false, errNoBlobs
	}
	return b.DeleteBlob(apply(ctx), key)
}

func (w *witness) BlobList(ctx context.Context, page store.PageRequest) (store.Page[store.BlobInfo], error) {
	b, ok := w.Store.(store.Blobs)
	if !ok {
		return store.Page[store.BlobInfo]{}, errNoBlobs
	}
	return b.BlobList(apply(ctx), page)
}
