package postgres_test

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Promote passes over a member that another transaction has locked, and goes on behind it. The one that was passed over is not forgotten: it
// is freed once it can be.
func TestAMemberThatWasLockedIsFreedLater(t *testing.T) {
	t.Parallel()
	s, name := room(t, store.Timing{})
	group := benchID()
	req := store.SubmitRequest{Groups: []store.NewGroup{{ID: group, Hold: true, Seal: true}}}
	var first store.ID
	for i := range 5 {
		id := store.MakeID(time.Now(), [16]byte{15: byte(i + 1)})
		if i == 0 {
			first = id
		}
		req.Specs = append(req.Specs, store.Spec{ID: id, Kind: "k", Queue: "q", Group: group, Line: int64(i + 1)})
	}
	if res, err := s.Submit(t.Context(), req); err != nil || res.Specs[0].Err != nil {
		t.Fatalf("Submit = %+v, %v", res, err)
	}
	if _, err := s.Release(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	release := lock(t, s, "select 1 from "+name+".task where id = $1 for update", first.String())
	if res, err := s.Promote(t.Context(), 100); err != nil || res.Freed != 4 {
		t.Errorf("Promote = %+v, %v; want the 4 that are not locked", res, err)
	}
	release()
	if res, err := s.Promote(t.Context(), 100); err != nil || res.Freed != 1 {
		t.Errorf("Promote = %+v, %v; want the one that was locked", res, err)
	}
	if got, err := s.Get(t.Context(), first); err != nil || got.State != store.Ready {
		t.Errorf("Get = %s, %v; want it ready", got.State, err)
	}
}
