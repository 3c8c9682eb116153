package history_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/test/history"
)

// liar is a store with one bug, which all its handles share.
type liar struct {
	store.Store
	*memo
	bug string
}

// memo is what a bug needs to remember.
type memo struct {
	mu    sync.Mutex
	tasks []store.Task // that were claimed
	reads map[store.ID]store.Task
	asked int
}

// sometimes is true at every third call.
func (m *memo) sometimes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	return m.asked%3 == 0
}

// bugs are those that histories must find, each with what goes wrong in it.
var bugs = map[string]string{
	"late-accepted":   "an outcome whose fence is lost is answered as if it counted",
	"unfenced":        "an outcome whose fence is lost is applied to the run of another",
	"checked-early":   "the fence of an outcome is looked at in one step, and the outcome applied in the next",
	"abort-lost":      "the abort of a group is answered and not done",
	"delete-lost":     "a delete is answered and not done",
	"done-twice":      "a repeat of an outcome is answered as if it were the first",
	"given-twice":     "a task that one worker has is given to another as well",
	"nonce-twice":     "a claim sent again tells what runs under another one",
	"key-forgotten":   "a submit does not see that its unique key is held",
	"wrong-holder":    "a submit is told that it was stored, though the holder of its key stands",
	"replaced-runs":   "a task that was replaced is not ended",
	"order-forgotten": "a lane gives its tasks in no order",
	"block-forgotten": "a lane that must stop after a failure goes on",
	"save-lost":       "a save is answered and not written",
	"late-save":       "a save whose fence is lost is answered as if it counted",
	"cancel-lost":     "a cancel is answered and not done",
	"wake-lost":       "a park does not see the wakes since its claim",
	"message-lost":    "a message is answered and not stored",
	"message-twice":   "a message that was used comes again",
	"stale-read":      "a reader is told what was before",
	"submit-lost":     "a submit is answered and not stored",
	"retry-of-done":   "a retry of a task that is done is answered as if it counted",
	"recovered-twice": "Recover tells of a task that it did not put back",
	"dead-beats":      "a worker that is dead is told that it lives",
	"claim-hides":     "a claim keeps a task from whom it gave it to",
}

// TestHistoriesFindEachPlantedBug shows that the judgement can fail.
func TestHistoriesFindEachPlantedBug(t *testing.T) {
	t.Parallel()
	for bug, what := range bugs {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			first := memory.New(memory.Config{Timing: history.Timing()})
			shared := &memo{reads: map[store.ID]store.Task{}}
			report, err := history.Run(t.Context(), history.Config{
				Engine: bug, Seed: 1, Seconds: 60, Rounds: 60, Pictures: t.TempDir(), Loose: bug == "order-forgotten",
				Open: func(context.Context) (store.Store, error) { return &liar{first.Process(), shared, bug}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if report.Violations == 0 {
				t.Errorf("%d histories of %d calls did not show that %s", report.Partitions, report.Operations, what)
			}
			for _, path := range report.Pictures {
				if info, err := os.Stat(path); err != nil || info.Size() == 0 {
					t.Errorf("the picture of what was found: %v", err)
				}
			}
			t.Logf("found after %d rounds of %d calls", report.Rounds, report.Operations)
		})
	}
}

func (l *liar) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	req.Specs = slices.Clone(req.Specs)
	spec := &req.Specs[0]
	switch {
	case l.bug == "key-forgotten" && l.sometimes():
		spec.Unique = store.Unique{}
	case l.bug == "replaced-runs" && spec.Unique.OnConflict == store.Replace:
		spec.Unique.OnConflict = store.Latest
	case l.bug == "order-forgotten" && spec.Order == store.OrderSkip:
		spec.Order = store.Unordered
	case l.bug == "block-forgotten" && spec.Order == store.OrderBlock:
		spec.Order = store.OrderSkip
	case l.bug == "submit-lost" && l.sometimes():
		return store.SubmitResult{Specs: []store.Submitted{{ID: spec.ID, State: store.Ready}}}, nil
	}
	res, err := l.Store.Submit(ctx, req)
	if err == nil && l.bug == "wrong-holder" && res.Specs[0].Existed && res.Specs[0].ID != spec.ID {
		res.Specs[0] = store.Submitted{ID: spec.ID, State: store.Ready}
	}
	return res, err
}

func (l *liar) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	if l.bug == "nonce-twice" && req.Repeat {
		req.Nonce = l.anyNonce(req.Nonce)
	}
	res, err := l.Store.Claim(ctx, req)
	if err != nil {
		return res, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bug == "given-twice" && len(res.Tasks) == 0 && !req.Repeat {
		for _, t := range l.tasks {
			if t.Queue == req.Queues[0].Queue {
				t.Nonce, t.Worker = req.Nonce, req.Worker
				res.Tasks = append(res.Tasks, t)
				break
			}
		}
	}
	l.tasks = append(slices.Clone(res.Tasks), l.tasks...)
	if l.bug == "claim-hides" && len(l.tasks)%4 == 0 {
		res.Tasks = nil
	}
	return res, err
}

// anyNonce is the nonce of the last claim of another.
func (l *liar) anyNonce(not store.ID) store.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tasks {
		if t.Nonce != not {
			return t.Nonce
		}
	}
	return not
}

func (l *liar) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	if out := &req.Items[0].Outcome; l.bug == "wake-lost" && out.Kind == store.OutcomePark {
		if t, err := l.Store.Get(ctx, req.Items[0].Fence.ID); err == nil {
			out.Wakes = t.Wakes
		}
	}
	l.follow(ctx, &req.Items[0].Fence)
	res, err := l.Store.Complete(ctx, req)
	if err != nil {
		return res, err
	}
	switch item := &res.Items[0]; {
	case l.bug == "late-accepted" && errors.Is(item.Err, store.ErrFenced):
		*item = store.Completed{State: item.State}
	case l.bug == "done-twice" && item.Repeated:
		item.Repeated = false
	}
	return res, err
}
