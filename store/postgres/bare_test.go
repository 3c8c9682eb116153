package postgres_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// Runs that are done go to the server by columns in the order of ids: each is answered in its own place, whatever became of the others.
func TestRunsThatAreDoneAreAnsweredInTheirPlaces(t *testing.T) {
	t.Parallel()
	s, _ := room(t, store.Timing{})
	joinAs(t, s, "w")
	specs := benchSpecs(6)
	specs[1].Limit = "l" // takes another road
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: specs}); err != nil {
		t.Fatal(err)
	}
	claim := func() *store.ClaimRequest {
		return &store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 6}}}
	}
	got, err := s.Claim(t.Context(), *claim())
	if err != nil || len(got.Tasks) != 6 {
		t.Fatalf("Claim = %d tasks, %v, want 6", len(got.Tasks), err)
	}
	var items []store.Completion
	for i := range got.Tasks {
		items = append(items, store.Completion{Fence: got.Tasks[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte{byte(i)}}})
	}
	slices.SortFunc(items, func(a, b store.Completion) int { return -slices.Compare(a.Fence.ID[:], b.Fence.ID[:]) })
	items[0].Fence.Epoch++ // nobody's
	if _, err := s.Complete(t.Context(), store.CompleteRequest{Items: items[1:2]}); err != nil {
		t.Fatal(err)
	}
	res, err := s.Complete(t.Context(), store.CompleteRequest{Items: items, Claim: claim()})
	if err != nil || res.ClaimErr != nil || len(res.Claim.Tasks) != 0 {
		t.Fatalf("Complete = %+v, %v", res, err)
	}
	for i, c := range res.Items {
		task, err := s.Get(t.Context(), items[i].Fence.ID)
		switch {
		case err != nil:
			t.Fatal(err)
		case i == 0:
			if !errors.Is(c.Err, store.ErrFenced) || task.State != store.Running {
				t.Errorf("under a wrong fence: %+v, %s, want ErrFenced, running", c, task.State)
			}
		case c.Err != nil || c.State != store.Done || c.Repeated != (i == 1):
			t.Errorf("item %d: %+v, want done, repeated only if it is 1", i, c)
		case task.State != store.Done || !slices.Equal(task.Result, items[i].Outcome.Result) || task.History[len(task.History)-1].Kind != "ended":
			t.Errorf("item %d is stored as %s, result %v, history %v", i, task.State, task.Result, task.History)
		}
	}
}
