package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

var _ store.Blobs = (*Store)(nil)

// PutChunk stores one chunk of a blob.
func (s *Store) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	if err := store.CheckChunk(key, number, data); err != nil {
		return err
	}
	return s.do(ctx, "put_chunk", func(o *object) {
		o.key("key").str(key)
		o.key("number").str(strconv.Itoa(number))
		o.key("data").str(string(data))
	})
}

// Chunk reads one.
func (s *Store) Chunk(ctx context.Context, key string, number int) ([]byte, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	c := s.client
	data, err := c.Do(ctx, c.B().Hget().Key(s.prefix+keyBlob+key).Field(strconv.Itoa(number)).Build()).AsBytes()
	switch {
	case rueidis.IsRedisNil(err):
		return nil, fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrNotFound)
	case err != nil:
		return nil, s.explain("chunk", err)
	}
	return data, nil
}

// DeleteBlob removes some chunks of a blob, the last ones first.
func (s *Store) DeleteBlob(ctx context.Context, key string) (bool, error) {
	r, err := s.run(ctx, "delete_blob", func(o *object) {
		o.key("key").str(key)
		o.key("limit").int(100)
	})
	return r.bool("more"), err
}

// BlobList pages through blobs.
func (s *Store) BlobList(ctx context.Context, page store.PageRequest) (store.Page[store.BlobInfo], error) {
	limit := pageLimit(page)
	r, err := s.run(ctx, "blobs", func(o *object) {
		o.key("after").str(page.Cursor)
		o.key("limit").int(int64(limit + 1))
	})
	if err != nil {
		return store.Page[store.BlobInfo]{}, err
	}
	var blobs []store.BlobInfo
	list := r.list("list")
	for i := 0; i+1 < len(list); i += 2 {
		blobs = append(blobs, store.BlobInfo{Key: text(list[i]), Age: time.Duration(whole(list[i+1])) * time.Microsecond})
	}
	return cutPage(blobs, limit, func(b store.BlobInfo) string { return b.Key }), nil
}
