package instore_test

import (
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/blobtest"
	"github.com/outlast-go/outlast/blob/instore"
	"github.com/outlast-go/outlast/store/memory"
)

// SQLite is held to the same suite in test/blobs, which may import engines.
func TestConformance(t *testing.T) {
	blobtest.Run(t, func(testing.TB) blobtest.Config {
		mem := memory.New(memory.Config{})
		return blobtest.Config{Large: 8 << 20, Open: func(t testing.TB) blob.Store { // memory holds it whole
			s, err := instore.New(mem.Process())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}}
	})
}
