package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// A cursor that no list gave is refused or finds a part of what there is: never a panic, never something that is not in the list.
func FuzzCursor(f *testing.F) {
	s := memory.New(memory.Config{})
	group := store.NewGroup{ID: store.DeriveID("group")}
	var specs []store.Spec
	for i := range 5 {
		spec := store.Spec{ID: store.MakeID(time.Unix(int64(i), 0), [16]byte{byte(i)}), Kind: "k", Queue: "q"}
		if i > 2 {
			spec.Group, spec.Line = group.ID, int64(i)
		}
		specs = append(specs, spec)
	}
	if _, err := s.Submit(f.Context(), store.SubmitRequest{Groups: []store.NewGroup{group}, Specs: specs}); err != nil {
		f.Fatal(err)
	}
	f.Add("", false, 1)
	f.Add(specs[1].ID.String(), true, 2)
	f.Add("00000000000000000003 "+specs[3].ID.String(), false, 0)
	f.Add("-9223372036854775808 ", true, -1)
	f.Fuzz(func(t *testing.T, cursor string, oldest bool, limit int) {
		page := store.PageRequest{Cursor: cursor, Oldest: oldest, Limit: limit % 10}
		for filter, most := range map[*store.Filter]int{{}: 5, {Group: group.ID}: 2, {Queue: "none"}: 0} {
			got, err := s.List(t.Context(), *filter, page)
			if err != nil && !errors.Is(err, store.ErrInvalid) || len(got.Items) > most {
				t.Errorf("List(%+v, %+v) = %d tasks, %v; there are %d", *filter, page, len(got.Items), err, most)
			}
		}
		if got, err := s.GroupList(t.Context(), page); err != nil && !errors.Is(err, store.ErrInvalid) || len(got.Items) > 1 {
			t.Errorf("GroupList(%+v) = %d groups, %v", page, len(got.Items), err)
		}
	})
}
