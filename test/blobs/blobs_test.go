package blobs_test

import (
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/blobtest"
	"github.com/outlast-go/outlast/blob/instore"
	"github.com/outlast-go/outlast/store/sqlite"
)

func TestInStoreOnSQLite(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blobtest.Config {
		path := filepath.Join(t.TempDir(), "blobs.db")
		return blobtest.Config{Large: 128 << 20, Open: func(t testing.TB) blob.Store {
			db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			s, err := instore.New(db)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}}
	})
}
