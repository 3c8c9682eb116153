package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

// Errors that the scripts write into records.
var (
	corruptError = packError(&store.Error{Message: "the record cannot be read", Type: store.ReasonCorrupt})
	crashedError = packError(&store.Error{Message: "its worker died while it ran", Type: store.ReasonCrashed})
	brokenError  = packError(&store.Error{Message: "a task before it in its lane failed", Type: store.ReasonOrder})
	stuckError   = packError(&store.Error{Message: "it did not end in its time, and its owner did not say why", Type: store.ReasonStuck})
)

// Claim takes ready tasks.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	r, given, err := s.runGiven(ctx, "claim", func(o *object) {
		packClaimFields(o, &req)
		o.key("broken").str(brokenError)
	})
	if err != nil {
		return store.ClaimResult{}, err
	}
	return readClaim(r, given)
}

func readClaim(r record, given []string) (res store.ClaimResult, err error) {
	res.Tasks, err = readGiven(r, given)
	res.Cursors = map[string]string{}
	for queue, cursor := range r.map_("cursors") {
		res.Cursors[queue] = text(cursor)
	}
	for queue, left := range r.map_("lefts") {
		res.Cursors[queue] = store.Turn{Lane: res.Cursors[queue], Left: int(whole(left))}.String()
	}
	res.Again = r.bool("again")
	res.Next = span(r["next"])
	return res, err
}
