package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// chunks is a blob.
type chunks struct {
	key    string
	data   map[int][]byte
	lastAt time.Time
}

// PutChunk stores one chunk of a blob.
func (s *Store) PutChunk(ctx context.Context, key string, number int, data []byte) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := store.CheckChunk(key, number, data); err != nil {
		return err
	}
	b := s.d.blobs[key]
	if b == nil {
		b = &chunks{key: key, data: map[int][]byte{}}
	}
	if have, ok := b.data[number]; ok {
		if !bytes.Equal(have, data) {
			return fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrDuplicate)
		}
		return nil
	}
	b.data[number] = append([]byte{}, data...)
	b.lastAt = s.d.now
	s.d.blobs[key] = b
	return nil
}

// Chunk reads one.
func (s *Store) Chunk(ctx context.Context, key string, number int) ([]byte, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if b := s.d.blobs[key]; b != nil {
		if data, ok := b.data[number]; ok {
			return data, nil
		}
	}
	return nil, fmt.Errorf("chunk %d of blob %s: %w", number, key, store.ErrNotFound)
}

// DeleteBlob removes some chunks of a blob, the last ones first.
func (s *Store) DeleteBlob(ctx context.Context, key string) (bool, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	b := s.d.blobs[key]
	if b == nil {
		return false, nil
	}
	numbers := slices.Sorted(maps.Keys(b.data))
	for _, n := range numbers[max(len(numbers)-100, 0):] {
		delete(b.data, n)
	}
	if len(b.data) > 0 {
		return true, nil
	}
	delete(s.d.blobs, key)
	return false, nil
}

// BlobList pages through blobs.
func (s *Store) BlobList(ctx context.Context, page store.PageRequest) (store.Page[store.BlobInfo], error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return store.Page[store.BlobInfo]{}, err
	}
	defer leave()
	list := slices.Collect(maps.Values(s.d.blobs))
	show := func(b *chunks) store.BlobInfo { return store.BlobInfo{Key: b.key, Age: s.d.now.Sub(b.lastAt)} }
	return cut(list, page, func(b *chunks) string { return b.key }, show), nil
}
