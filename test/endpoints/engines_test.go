package endpoints_test

import (
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/sqlite"
)

// engines is every engine that the scenarios run on. open makes an empty store, and returns what opens further handles on it: each
// is as one process has it. Timing is the store's.
var engines = []struct {
	name string
	open func(t testing.TB, timing store.Timing) func() store.Store
}{
	{"memory", openMemory},
	{"sqlite", openSQLite},
}

func openMemory(_ testing.TB, timing store.Timing) func() store.Store {
	st := memory.New(memory.Config{Timing: timing})
	return func() store.Store { return st.Process() }
}

func openSQLite(t testing.TB, timing store.Timing) func() store.Store {
	path := filepath.Join(t.TempDir(), "tasks.db")
	return func() store.Store {
		st, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Timing: timing})
		if err != nil {
			t.Fatalf("open %s: %v", path, err)
		}
		t.Cleanup(func() { _ = st.Close() }) // a second Close has no effect
		return st
	}
}
