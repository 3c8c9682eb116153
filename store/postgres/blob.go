package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

// PutChunk stores one chunk of a blob.
func (s *Store) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	if err := store.CheckChunk(key, number, data); err != nil {
		return err
	}
	if data == nil {
		data = []byte{}
	}
	stands := false
	err := s.read(ctx, func(ctx context.Context, c querier) error {
		return patiently(ctx, func() error { return c.QueryRow(ctx, s.q.get("chunk_put"), key, number, data).Scan(&stands) })
	})
	if err == nil && !stands {
		return fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrDuplicate)
	}
	return err
}

// Chunk reads one.
func (s *Store) Chunk(ctx context.Context, key string, number int) (data []byte, err error) {
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		return c.QueryRow(ctx, s.q.get("chunk_get"), key, number).Scan(&data)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrNotFound)
	}
	return data, err
}

// DeleteBlob removes some chunks of a blob, the last ones first.
func (s *Store) DeleteBlob(ctx context.Context, key string) (more bool, err error) {
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		return patiently(ctx, func() error { return c.QueryRow(ctx, s.q.get("blob_delete"), key).Scan(&more) })
	})
	return more, err
}

// BlobList pages through blobs.
func (s *Store) BlobList(ctx context.Context, page store.PageRequest) (res store.Page[store.BlobInfo], err error) {
	limit := pageLimit(page)
	err = s.rows(ctx, "blob_page", func(r pgx.Rows) error {
		var b store.BlobInfo
		var age int64
		err := r.Scan(&b.Key, &age)
		b.Age = time.Duration(age)
		res.Items = append(res.Items, b)
		return err
	}, page.Cursor, limit+1)
	if len(res.Items) > limit {
		res.Items = res.Items[:limit]
		res.Cursor = res.Items[limit-1].Key
	}
	return res, err
}
