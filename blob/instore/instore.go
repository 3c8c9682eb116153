// Package instore keeps blobs in the store of the tasks itself, in chunks: for those who have a database and nothing else. It suits
// payloads of some megabytes; more belongs into a folder or a bucket. A put that never ended is listed as any blob, and goes
// with the sweep.
package instore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/store"
)

// Store keeps blobs in another store. It is made by New.
type Store struct{ chunks store.Blobs }

var _ blob.Store = (*Store)(nil)

// New makes a store of blobs of a store that keeps chunks. The error says that it does not.
func New(st store.Store) (*Store, error) {
	chunks, ok := st.(store.Blobs)
	if !ok {
		return nil, fmt.Errorf("%w: a store of the engine %s keeps no blobs; use another blob store", blob.ErrInvalid, st.Info().Engine)
	}
	return &Store{chunks: chunks}, nil
}

// Put writes chunk after chunk. The last one is shorter than the others, and may be empty: it tells a whole blob from a part.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	err := s.put(ctx, key, r)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // half a blob is nobody's
		defer cancel()
		_ = s.Delete(ctx, key) // the sweep finds what stays
	}
	return err
}

func (s *Store) put(ctx context.Context, key string, r io.Reader) error {
	chunk := make([]byte, store.ChunkLimit)
	for number := 0; ; number++ {
		n, err := fill(r, chunk)
		if err != nil && err != io.EOF { //nolint:errorlint // the bare word is the end; wrapped, it is somebody's error
			return err
		}
		if err := s.chunks.PutChunk(ctx, key, number, chunk[:n]); err != nil {
			return fmt.Errorf("chunk %d of blob %s: %w", number, key, err)
		}
		if n < len(chunk) {
			return nil
		}
	}
}

// fill reads until the chunk is full or the source has ended or broken off.
func fill(r io.Reader, chunk []byte) (n int, err error) {
	for n < len(chunk) && err == nil {
		var m int
		m, err = r.Read(chunk[n:])
		n += m
	}
	if n == len(chunk) {
		return n, nil
	}
	return n, err
}

// Get reads the first chunk, and the others when it is read from.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := blob.CheckKey(key); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, s: s, key: key}
	if r.next(); r.err != nil && r.err != io.EOF { //nolint:errorlint // see put
		return nil, r.err
	}
	return r, nil
}

type reader struct {
	ctx    context.Context //nolint:containedctx // a reader has no other way to hear of it
	s      *Store
	key    string
	number int
	rest   []byte
	err    error // what comes after rest
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads a chunk. One that is missing after others was deleted meanwhile: what was read is not all.
func (r *reader) next() {
	chunk, err := r.s.chunks.Chunk(r.ctx, r.key, r.number)
	switch {
	case errors.Is(err, store.ErrNotFound):
		r.err = fmt.Errorf("%w: %w", blob.ErrNotFound, err)
	case err != nil:
		r.err = err
	case len(chunk) < store.ChunkLimit:
		r.err = io.EOF
	}
	r.rest = chunk
	r.number++
}

func (r *reader) Close() error {
	r.rest, r.err = nil, io.ErrClosedPipe
	return nil
}

// Delete removes the chunks, some at a time.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	for {
		more, err := s.chunks.DeleteBlob(ctx, key)
		if err != nil {
			return fmt.Errorf("delete blob %s: %w", key, err)
		}
		if !more {
			return nil
		}
	}
}

// List pages through what is stored, whole or not.
func (s *Store) List(ctx context.Context, cursor string, limit int) (page blob.Page, err error) {
	list, err := s.chunks.BlobList(ctx, store.PageRequest{Cursor: cursor, Limit: limit})
	if err != nil {
		return page, fmt.Errorf("list blobs: %w", err)
	}
	for _, b := range list.Items {
		if blob.CheckKey(b.Key) == nil {
			page.Items = append(page.Items, blob.Info{Key: b.Key, Age: b.Age})
		}
	}
	page.Cursor = list.Cursor
	return page, nil
}

// Tidy has nothing to do: List tells of what is not whole, too.
func (s *Store) Tidy(context.Context, time.Duration) (int, error) { return 0, nil }
