package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/sqlite"
)

func TestAnOwnerMeetsWhatAnotherProcessHasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "two.db")
	owner, other := mustOpen(t, path), mustOpen(t, path)
	task := claimOne(t, owner)
	if _, err := other.Cancel(t.Context(), task.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	res, err := owner.Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{
		{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeRetry}},
	}})
	if err != nil || res.Items[0].State != store.Cancelled {
		t.Errorf("Complete after a Cancel by another = %+v, %v, want cancelled", res.Items, err)
	}
}

func TestAnOwnerMeetsWhatAUsersTransactionHasStaged(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "staged.db"))
	task := claimOne(t, s)
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	staged := store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte("staged")}}
	if err := errors.Join(tx.Stage(t.Context(), staged), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	res, err := s.Complete(t.Context(), store.CompleteRequest{Items: []store.Completion{
		{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeRetry}},
	}})
	if err != nil || res.Items[0].State != store.Done {
		t.Errorf("Complete of a staged run = %+v, %v, want done", res.Items, err)
	}
}

// What a step would have written, had there been room, is not taken for written.
func TestAStepThatCameToNothingIsForgotten(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nothing.db"))
	ctx := t.Context()
	task := claimOne(t, s)
	pages, err := s.Pages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Limit(ctx, pages+2); err != nil {
		t.Fatal(err)
	}
	_, err = s.Save(ctx, store.SaveRequest{Fence: task.Fence(), Seq: 5, Entries: map[string][]byte{"a": make([]byte, 1<<20)}})
	if !errors.Is(err, sqlite.ErrFull) {
		t.Fatalf("Save into a full file = %v, want ErrFull", err)
	}
	if err := s.Limit(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(ctx, store.SaveRequest{Fence: task.Fence(), Seq: 3, Entries: map[string][]byte{"a": []byte("b")}}); err != nil {
		t.Errorf("Save 3 after save 5 was refused = %v, want no error", err)
	}
	if findings, err := fsck.Check(ctx, s); err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}
