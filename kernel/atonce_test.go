package kernel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

// overheard is a store that notes who claims how.
type overheard struct {
	store.Store
	atOnce, claims int
	lose           int // answers of submits
}

func (o *overheard) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	if req.Claim != nil && !req.Claim.Repeat {
		o.atOnce++
	}
	res, err := o.Store.Submit(ctx, req)
	if o.lose > 0 {
		o.lose--
		return store.SubmitResult{}, errAway
	}
	return res, err
}

func (o *overheard) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	if req.Suspects == 0 {
		o.claims++
	}
	return o.Store.Claim(ctx, req)
}

func TestAnIdleWorkerTakesWhatItSubmits(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			st := &overheard{Store: memory.New(memory.Config{})}
			runs := 0
			k, _ := kerneltest.StartOn(t, st, kernel.Config{}, map[string]kernel.Handler{
				"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) { runs++; return kernel.Done(nil), nil },
			})
			pass(10 * time.Second)
			st.claims, st.lose = 0, lost
			got, err := k.Submit(t.Context(), kernel.Spec{Kind: "x"})
			if err != nil || lost == 0 && (got.State != store.Ready || got.Existed) {
				t.Errorf("Submit = %+v, %v; want a new one that is ready", got, err)
			}
			synctest.Wait()
			if st.atOnce != 1 || st.claims != 0 {
				t.Errorf("after %d lost answers: %d submits claimed, and %d claims came; want one call", lost, st.atOnce, st.claims)
			}
			pass(time.Minute)
			if task := kerneltest.Wait(t, k, got.ID, store.Done); runs != 1 || task.Epoch != 1 {
				t.Errorf("after %d lost answers: %d runs, epoch %d; want one run", lost, runs, task.Epoch)
			}
			if id := submit(t, k, kernel.Spec{Kind: "x"}); kerneltest.Wait(t, k, id, store.Done).Epoch != 1 {
				t.Errorf("the next one was claimed more than once")
			}
		})
	}
}

func TestWhatOthersMayHaveAsWellIsNotTakenBySubmit(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(t *testing.T, k *kernel.Kernel){
		"another kind":  func(t *testing.T, k *kernel.Kernel) { submit(t, k, kernel.Spec{Kind: "y"}) },
		"another queue": func(t *testing.T, k *kernel.Kernel) { submit(t, k, kernel.Spec{Kind: "x", Queue: "far"}) },
		"later":         func(t *testing.T, k *kernel.Kernel) { submit(t, k, kernel.Spec{Kind: "x", Delay: time.Second}) },
		"at a time": func(t *testing.T, k *kernel.Kernel) {
			submit(t, k, kernel.Spec{Kind: "x", DueAt: time.Now().Add(time.Hour)})
		},
		"two": func(t *testing.T, k *kernel.Kernel) {
			if _, err := k.SubmitMany(t.Context(), []kernel.Spec{{Kind: "x"}, {Kind: "x"}}); err != nil {
				t.Fatal(err)
			}
		},
		"a member": func(t *testing.T, k *kernel.Kernel) {
			if _, _, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Seal: true}, []kernel.Spec{{Kind: "x"}}); err != nil {
				t.Fatal(err)
			}
		},
		"quiet": func(t *testing.T, k *kernel.Kernel) { k.Quiet(); submit(t, k, kernel.Spec{Kind: "x"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := &overheard{Store: memory.New(memory.Config{})}
				k, _ := kerneltest.StartOn(t, st, kernel.Config{}, map[string]kernel.Handler{"x": doneWith("")})
				pass(10 * time.Second)
				act(t, k)
				if synctest.Wait(); st.atOnce != 0 {
					t.Errorf("the submit claimed")
				}
			})
		})
	}
}

// One that is busy leaves the next to whoever is idle.
func TestABusyWorkerDoesNotTakeWhatItSubmits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &overheard{Store: memory.New(memory.Config{})}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, map[string]kernel.Handler{
			"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				pass(time.Second)
				return kernel.Done(nil), nil
			},
		})
		pass(10 * time.Second)
		submit(t, k, kernel.Spec{Kind: "x"})
		submit(t, k, kernel.Spec{Kind: "x"})
		if kerneltest.Drain(t, k); st.atOnce != 1 {
			t.Errorf("%d submits claimed, want the first alone", st.atOnce)
		}
	})
}

// Under a known id may stand a task of a kind that this process does not handle: it goes back.
func TestAKnownIDOfAnotherKindIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &overheard{Store: memory.New(memory.Config{})}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, map[string]kernel.Handler{"x": doneWith("")})
		pass(10 * time.Second)
		id := submit(t, k, kernel.Spec{Kind: "y"})
		pass(10 * time.Second)
		if got, err := k.Submit(t.Context(), kernel.Spec{ID: id, Kind: "x"}); err != nil || !got.Existed {
			t.Fatalf("Submit = %+v, %v; want one that existed", got, err)
		}
		pass(time.Second)
		if task, err := st.Get(t.Context(), id); err != nil || task.State != store.Ready || task.Kind != "y" || st.atOnce != 1 {
			t.Errorf("the task is %s of kind %q, %v, after %d claims; want it ready for who handles it", task.State, task.Kind, err, st.atOnce)
		}
	})
}

// A worker that was declared dead learns it from the submit; the task is stored, and runs under the next incarnation.
func TestASubmitOfADeadWorkerIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(memory.Config{})
		cut := false
		st := storetest.Wrap(inner, func(_ context.Context, op string, do func() error) error {
			if cut && op == "Beat" {
				return errAway
			}
			return do()
		})
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, map[string]kernel.Handler{"x": doneWith("")})
		pass(10 * time.Second)
		workers, err := k.Workers(t.Context())
		if err != nil || len(workers) != 1 {
			t.Fatalf("Workers = %v, %v; want one", workers, err)
		}
		cut = true
		if _, err := inner.Leave(t.Context(), workers[0].ID); err != nil {
			t.Fatal(err)
		}
		id := submit(t, k, kernel.Spec{Kind: "x"})
		cut = false
		if task := kerneltest.Wait(t, k, id, store.Done); task.Epoch != 1 {
			t.Errorf("epoch %d, want 1", task.Epoch)
		}
	})
}
