package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

func TestItRunsInABubble(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bubble.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Local: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		told := 0
		done := inBackground(t, func() { _ = s.Watch(ctx, "w", []string{"q"}, func(store.Notice) { told++ }) })
		if err := join(ctx, s, "w"); err != nil {
			t.Fatal(err)
		}
		spec := newSpec()
		spec.Delay = time.Hour
		if _, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
			t.Fatal(err)
		}
		res, err := s.Claim(ctx, claimOf("w", 1))
		if err != nil || len(res.Tasks) != 0 || res.Next != time.Hour {
			t.Errorf("Claim = %d tasks, next in %v, %v, want none for an hour", len(res.Tasks), res.Next, err)
		}
		<-time.After(res.Next)
		if res, err = s.Claim(ctx, claimOf("w", 1)); err != nil || len(res.Tasks) != 1 {
			t.Errorf("Claim an hour later = %d tasks, %v, want one", len(res.Tasks), err)
		}
		synctest.Wait()
		cancel()
		done()
		if told < 2 { // the start, and the work
			t.Error("Watch told nothing")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
