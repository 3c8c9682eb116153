package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/outlast-go/outlast/store"
)

// PutChunk stores one chunk of a blob.
func (s *Store) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	if err := store.CheckChunk(key, number, data); err != nil {
		return err
	}
	return s.write(ctx, func(s *step) error {
		there, same := false, false
		s.query("chunk_get", func(r *sqlite.Stmt) { there, same = true, bytes.Equal(blobOf(r, 0), data) }, key, number)
		if there && !same {
			return fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrDuplicate)
		}
		if !there {
			s.do("chunk_insert", key, number, append([]byte{}, data...))
			s.do("blob_put", key, s.now)
		}
		return nil
	})
}

// Chunk reads one.
func (s *Store) Chunk(ctx context.Context, key string, number int) (data []byte, err error) {
	err = s.read(ctx, func(v *view) error {
		found := false
		err := v.each("chunk_get", func(r *sqlite.Stmt) { found, data = true, blobOf(r, 0) }, key, number)
		if err == nil && !found {
			return fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrNotFound)
		}
		return err
	})
	return data, err
}

// DeleteBlob removes some chunks of a blob, the last ones first.
func (s *Store) DeleteBlob(ctx context.Context, key string) (bool, error) {
	return write(ctx, s, func(s *step) (bool, error) {
		s.do("chunk_delete", key, chunk)
		if s.number("chunk_left", key) != 0 {
			return true, nil
		}
		s.do("blob_delete", key)
		return false, nil
	})
}

// BlobList pages through blobs.
func (s *Store) BlobList(ctx context.Context, page store.PageRequest) (res store.Page[store.BlobInfo], err error) {
	err = s.read(ctx, func(v *view) error {
		cut := newCut[store.BlobInfo](page)
		err := v.each("blob_page", func(r *sqlite.Stmt) {
			key := r.ColumnText(0)
			cut.add(store.BlobInfo{Key: key, Age: v.now.Sub(instant(r.ColumnInt64(1)))}, key)
		}, page.Cursor, cut.limit+1)
		res = cut.page
		return err
	})
	return res, err
}
