package store

import (
	"fmt"
	"time"
)

// ChunkLimit is how large a chunk of a blob may be, in bytes.
const ChunkLimit = 256 << 10

// BlobInfo tells of a blob that is stored.
type BlobInfo struct {
	Key string
	Age time.Duration // since its last chunk was put, on the store's clock
}

// CheckChunk says what of a chunk can never be stored.
func CheckChunk(key string, number int, data []byte) error {
	if err := CheckName("blob key", key); err != nil {
		return err
	}
	if number < 0 || number > 1<<30 {
		return invalid("chunk", fmt.Sprintf("has the number %d; numbers begin at 0", number))
	}
	if len(data) > ChunkLimit {
		return invalid("chunk", fmt.Sprintf("has %d bytes; at most %d are allowed", len(data), ChunkLimit))
	}
	return nil
}
