package sqlite_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/sqlite"
)

// A submit of many looks for all of them at once only where that tells the truth: what is stored, also what another handle stored, and what comes twice
// in one call has existed.
func TestASubmitOfManyFindsWhatIsStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "many.db")
	s, other := mustOpen(t, path), mustOpen(t, path)
	list := specs(60)
	submit := func(s *sqlite.Store, list []store.Spec, want func(i int) bool) {
		t.Helper()
		res, err := s.Submit(t.Context(), store.SubmitRequest{Specs: list})
		if err != nil {
			t.Fatal(err)
		}
		for i, sub := range res.Specs {
			if sub.Err != nil || sub.Existed != want(i) {
				t.Errorf("task %d: Existed = %v, %v, want %v", i, sub.Existed, sub.Err, want(i))
			}
		}
	}
	submit(s, list[20:40], func(int) bool { return false })
	submit(other, list[30:50], func(i int) bool { return i < 10 })
	twice := append(slices.Clone(list[50:]), list[50:]...)
	slices.Reverse(twice)
	submit(s, twice, func(i int) bool { return i >= 10 })
	submit(s, list, func(i int) bool { return i >= 20 })
	if findings, err := fsck.Check(t.Context(), s); err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}

// However tasks are written, alone or with others of their lane, they are the same.
func TestTasksThatComeTogetherAreAsThoseThatComeAlone(t *testing.T) {
	t.Parallel()
	begin := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	var stores [2]*sqlite.Store
	for i, name := range []string{"alone.db", "together.db"} {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), name), Clock: func() time.Time { return begin }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores[i] = s
	}
	list := specs(200)
	for i := range list {
		list[i].Priority, list[i].Line = i%5, int64(i)
		switch {
		case i < 100: // whole statements of those that are alike
		case i%7 == 0:
			list[i].Unique.Key = list[i].ID.String()
		case i%11 == 0:
			list[i].Delay = time.Minute
		case i%13 == 0:
			list[i].Parent = list[0].ID
		case i%17 == 0:
			list[i].StartBy = time.Hour
		case i < 150:
			list[i].Lane, list[i].Limit, list[i].Order = "l", "m", store.OrderBlock
		default:
			list[i].Limit = "n"
		}
	}
	for i := range list {
		if _, err := stores[0].Submit(t.Context(), store.SubmitRequest{Specs: list[i : i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stores[1].Submit(t.Context(), store.SubmitRequest{Specs: list}); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		alone, err := stores[0].Get(t.Context(), list[i].ID)
		together, err2 := stores[1].Get(t.Context(), list[i].ID)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(alone, together) {
			t.Errorf("task %d came alone as %+v, together as %+v", i, alone, together)
		}
	}
	for _, s := range stores {
		if list, err := s.Misplaced(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("tasks that do not stand where their records say = %v, %v, want none", list, err)
		}
		if findings, err := fsck.Check(t.Context(), s); err != nil || len(findings) > 0 {
			t.Errorf("fsck = %v, %v, want nothing", findings, err)
		}
	}
}
