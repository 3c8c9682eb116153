package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// A file of the schema before is brought to the present one, and a request to a running task from before is still told.
func TestAFileOfTheSchemaBeforeIsMigrated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "old.db")
	s := mustOpen(t, path)
	ctx := t.Context()
	spec := newSpec()
	if err := join(ctx, s, "w"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{spec, newSpec()}}); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Claim(ctx, claimOf("w", 2)); err != nil || len(res.Tasks) != 2 {
		t.Fatalf("Claim = %d tasks, %v", len(res.Tasks), err)
	}
	if _, err := s.Cancel(ctx, spec.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"drop index lane_urgent", "drop index lane_suspect", "drop table broken", "drop index task_asked", "alter table task drop column asked", "pragma user_version = 2"} {
		foreign(t, path, query)
	}
	if schema := mustOpen(t, path).Info().Schema; schema != 5 {
		t.Errorf("Schema = %d, want 5", schema)
	}
	for range 2 {
		res, err := s.Beat(ctx, store.BeatRequest{Worker: "w"})
		if err != nil || len(res.Asked) != 1 || res.Asked[0].Fence.ID != spec.ID || res.Asked[0].Asked != "enough" {
			t.Errorf("Beat = %+v, %v; want the one that was asked", res.Asked, err)
		}
	}
}
