package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Passes do not queue: a crowd of new workers would make one after the other, and a death would be found only behind all of them.
func TestAPassBesideAnotherIsGated(t *testing.T) {
	t.Parallel()
	s, name := room(t, store.Timing{})
	joinAs(t, s, "w")
	release := lock(t, s, "select pg_advisory_xact_lock(hashtextextended($1, 8))", name)
	pass := func() store.RecoverResult {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		res, err := s.Recover(ctx, store.RecoverRequest{Worker: "w", Force: true})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := pass(); !res.Gated {
		t.Errorf("Recover beside another = %+v, want it gated", res)
	}
	release()
	if res := pass(); res.Gated {
		t.Errorf("Recover alone = %+v, want a pass", res)
	}
}
