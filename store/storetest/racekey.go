package storetest

import (
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func raceUnique(t *testing.T, w *world) {
	specs := w.specs(50, unique(store.Keep, 0))
	var stored atomic.Int64
	stands := make([]store.ID, len(specs))
	together(len(specs), func(i int) {
		res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: specs[i : i+1]})
		if err != nil || res.Specs[0].Err != nil {
			t.Errorf("Submit = %v, %v, want no error", err, res.Specs)
			return
		}
		if !res.Specs[0].Existed {
			stored.Add(1)
		}
		stands[i] = res.Specs[0].ID
	})
	all := w.list(store.Filter{})
	if stored.Load() != 1 || len(all) != 1 {
		t.Fatalf("%d were told that theirs was stored, %d are, want 1 and 1", stored.Load(), len(all))
	}
	for _, id := range stands {
		if id != all[0].ID {
			t.Errorf("a submitter was told that %v stands, want %v", id, all[0].ID)
		}
	}
}

// Nobody is told that a task stands which has ended and let go of the key: the newcomer's work would never be done.
func raceKey(t *testing.T, w *world) {
	k := w.join()
	for n := range w.scaled(200) {
		policy := []store.Conflict{store.Keep, store.Latest, store.Replace}[n%3]
		holder := k.start(unique(store.Keep, 0))
		newcomer := w.spec(unique(policy, 0))
		var told store.Submitted
		together(2, func(i int) {
			if i == 0 {
				res, err := k.st.Complete(w.ctx(), store.CompleteRequest{
					Items: []store.Completion{{Fence: holder.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}}},
				})
				if err != nil || res.Items[0].Err != nil {
					t.Errorf("Complete = %v, %v, want no error", err, res.Items)
				}
				return
			}
			res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Specs: []store.Spec{newcomer}})
			if err != nil || res.Specs[0].Err != nil {
				t.Errorf("Submit = %v, %v, want no error", err, res.Specs)
				return
			}
			told = res.Specs[0]
		})
		switch stands := k.claim(9); {
		case told.ID == holder.ID && (told.State.Terminal() || !told.Existed || len(stands) != 0):
			t.Errorf("policy %q: told that the holder stands, %q, and %d tasks are there", policy, told.State, len(stands))
		case told.ID == newcomer.ID && (told.Existed || len(stands) != 1):
			t.Errorf("policy %q: told that the newcomer stands, existed %v, and %d tasks are there", policy, told.Existed, len(stands))
		default:
			for _, task := range stands {
				k.done(task)
			}
		}
	}
}
