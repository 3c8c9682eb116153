package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

func TestACorruptMemberStopsNotItsGroup(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "corrupt.db"))
	ctx := t.Context()
	group := newID()
	members := specs(3)
	for i := range members {
		members[i].Group = group
	}
	req := store.SubmitRequest{Groups: []store.NewGroup{{ID: group, Retention: time.Hour}}, Specs: members}
	if _, err := s.Submit(ctx, req); err != nil {
		t.Fatal(err)
	}
	if err := s.Corrupt(ctx, members[1].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seal(ctx, group); err != nil {
		t.Fatal(err)
	}
	if res, err := s.Promote(ctx, 0); err != nil || res.Freed != 3 {
		t.Fatalf("Promote = %+v, %v, want three freed", res, err)
	}
	if err := join(ctx, s, "w"); err != nil {
		t.Fatal(err)
	}
	res, err := s.Claim(ctx, claimOf("w", 3))
	if err != nil || len(res.Tasks) != 2 {
		t.Fatalf("Claim = %d tasks, %v, want the two that can be read", len(res.Tasks), err)
	}
	got, err := s.Get(ctx, members[1].ID)
	if err != nil || got.State != store.Failed || got.Reason != store.ReasonCorrupt {
		t.Errorf("the corrupt one is %s, %q, %v, want failed as corrupt", got.State, got.Reason, err)
	}
	if findings, err := fsck.Check(ctx, s); err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}
